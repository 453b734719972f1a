"""An environment on the host as its agent sees it: what it learns of its bounds on the way."""

from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from hcdyna.gymnasium.theirs.ends import Terminal
from hcdyna.gymnasium.theirs.environment import Hosted
from hcdyna.types import Environment


def as_seen(hosted: Hosted, seen: Any, scale: Any) -> Environment:
    """The environment with Π where the agent has been, if the Box has no bounds; `seen` and `scale`
    are those of its `AgentLife`."""
    env = hosted.build()
    spec: Any = env.spec  # bounds may be traced here
    finite = np.isfinite(spec.low) & np.isfinite(spec.high) & (not hosted.scaling)
    low, high = (
        jnp.where(finite, given, mine)
        for given, mine in zip((spec.low, spec.high), seen, strict=True)
    )
    known = spec._replace(low=low, high=high)
    given: Any = env.project
    box = replace(given, low=low, high=high)
    return env._replace(spec=known, project=box, terminal=unscaled(env.terminal, scale))


def unscaled(terminal: Terminal | None, scale: Any) -> Terminal | None:
    """The same function for scaled observations; a scale is centre and width [2, d], or ()."""
    if terminal is None or len(scale) == 0:
        return terminal
    centre, width = scale
    return lambda obs: terminal(obs * width + centre)
