"""The scale of observations: measured once, and then a part of the run and of policy files."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from hcdyna.gymnasium.theirs.environment import Hosted
from hcdyna.gymnasium.theirs.worlds import Worlds
from hcdyna.settings.fields import LARGEST

RANDOM_STEPS = 1_000
"""For the scale of variables without bounds."""


class ObservationScale(NamedTuple):
    """scaled = (obs − centre) / width, both [d]"""

    centre: np.ndarray
    width: np.ndarray

    def __call__(self, obs: np.ndarray) -> np.ndarray:
        centre, width = np.asarray(self.centre, np.float64), np.asarray(self.width, np.float64)
        return np.clip((obs - centre) / width, -LARGEST, LARGEST).astype(np.float32)


def known_scale(found: Any) -> ObservationScale | None:
    """The scale in a state [2, d] or in a file; None where none was kept, or not measured yet."""
    if len(found) == 0 or np.isnan(found).any():
        return None
    return ObservationScale(*np.asarray(found))


def scale_of(hosted: Hosted) -> ObservationScale:
    """By the bounds, or by random steps where there are none; in float32, as it is kept."""
    worlds = Worlds(replace(hosted, processes="off"), 1, read=np.array)
    low, high = (np.asarray(x, np.float64) for x in (worlds.space.low, worlds.space.high))
    bounded = (np.abs(low) < 1e6) & (np.abs(high) < 1e6)
    low, high = np.where(bounded, low, 0.0), np.where(bounded, high, 0.0)
    rows = [worlds.reset(0, seed=0)]
    worlds.actions.seed(0)
    for _ in range(RANDOM_STEPS):
        found = worlds.take([worlds.actions.sample()])
        rows.append(found.obs[0])
        if found.terminated[0] or found.truncated[0]:
            rows.append(worlds.reset(0))
    worlds.close()
    seen = np.asarray(rows, np.float64)
    centre = np.where(bounded, (low + high) / 2, seen.mean(axis=0))
    width = np.where(bounded, (high - low) / 2, 2 * seen.std(axis=0))
    width = np.where(width > 1e-6, width, 1.0)
    return ObservationScale(centre.astype(np.float32), width.astype(np.float32))
