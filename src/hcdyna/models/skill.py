"""Can the model predict rewards? If it can't, planning makes them up.

The model is tested on every real step before it learns from it. Where rewards depend on what can't
be predicted (chance, or what is not observed), planning with guesses is far worse than replay.
"""

from typing import NamedTuple

import jax.numpy as jnp

from hcdyna.types import Array, Outcome, Transition

FORGETTING = 1e-3
"""Weight of the latest step, once there were more steps than its inverse."""


class Skill(NamedTuple):
    """Errors of predicted rewards on new steps."""

    seen: Array
    """steps so far"""
    error: Array
    """their mean square error, recent steps first"""


def init() -> Skill:
    """Not tested yet."""
    return Skill(jnp.zeros((), jnp.int32), jnp.zeros(()))


def update(skill: Skill, guess: Outcome, step: Transition) -> Skill:
    """Include one more step, of which this was the guess."""
    seen = skill.seen + 1
    weight = jnp.maximum(FORGETTING, 1.0 / seen.astype(jnp.float32))
    error = jnp.square(guess.reward - step.reward)
    return Skill(seen, skill.error + weight * (error - skill.error))


def is_enough(skill: Skill, limit: Array | float, unit: Array) -> Array:
    """Whether the root mean square error is at most `limit` times `unit`."""
    return jnp.sqrt(skill.error) <= limit * unit
