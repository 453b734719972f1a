"""How far planned states are from the visited ones, and whether planned rows are real steps."""

import math
from typing import Any

import numpy as np
from scipy.spatial import KDTree

from hcdyna.types import Transition

NEAREST_OF, ASKED_FOR = 20_000, 512
"""Visited states that distances are measured to, and planned states that they are measured from."""


def way_to_visited(states: Any, visited: Transition) -> float:
    """Mean distance of `states` to the nearest visited one, in real steps; both are measured with
    variables in units of their standard deviation. Of discrete states, the share not visited."""
    if states.ndim == 1:
        return float(np.mean(~np.isin(states, visited.obs)))
    rng = np.random.default_rng(0)
    scale = np.std(visited.obs, axis=0, dtype=np.float64)
    scale = np.where(scale > 0, scale, 1.0)
    step = np.linalg.norm((visited.next_obs - visited.obs) / scale, axis=1).mean()
    to = rng.permutation(len(visited.obs))[:NEAREST_OF]
    asked = states[rng.permutation(len(states))[:ASKED_FOR]] / scale
    if not step or not np.isfinite(asked).all():
        return math.nan
    return float(KDTree(visited.obs[to] / scale).query(asked)[0].mean() / step)


def all_among(rows: Transition, visited: Transition) -> bool:
    """Whether all `rows` are visited steps, with the same outcomes."""

    def keys(steps: Transition) -> set[bytes]:
        columns = [np.asarray(x, np.float32).reshape(len(steps.reward), -1) for x in steps]
        return {row.tobytes() for row in np.concatenate(columns, axis=1)}

    return keys(rows) <= keys(visited)
