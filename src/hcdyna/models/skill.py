"""Can the model predict rewards and ends? If it can't, planning makes them up.

The model is tested on every real step before it learns from it. Where rewards or ends depend on
what can't be predicted (chance, or what is not observed), planning with guesses is far worse than
replay: of the rewards that were paid it takes the nearest one for certain, and of ends, which it
learns from balanced examples, it sees one at every second step.
"""

from typing import NamedTuple

import jax.numpy as jnp

from hcdyna.types import Array, Outcome, Transition

JUDGE = 0x4A5544
"""Sets the random numbers apart with which a model judges itself."""
FORGETTING = 1e-3
"""Weight of the latest step, once there were more steps than its inverse."""
MOST_IMAGINED = 0.1
"""Share of the steps that go on which a model may take for ends."""


class Skill(NamedTuple):
    """Errors on new steps."""

    seen: Array
    """steps so far"""
    error: Array
    """mean square error of predicted rewards, recent steps first"""
    imagined: Array
    """share of the steps that were taken for an end and were none, recent steps first"""


def init() -> Skill:
    """Not tested yet."""
    return Skill(jnp.zeros((), jnp.int32), jnp.zeros(()), jnp.zeros(()))


def update(skill: Skill, guess: Outcome, step: Transition) -> Skill:
    """Include one more step, of which this was the guess."""
    seen = skill.seen + 1
    error = jnp.square(guess.reward - step.reward)
    imagined = (guess.terminated & (step.discount != 0.0)).astype(jnp.float32)
    weight = jnp.maximum(FORGETTING, 1.0 / seen.astype(jnp.float32))
    return Skill(
        seen,
        skill.error + weight * (error - skill.error),
        skill.imagined + weight * (imagined - skill.imagined),
    )


def is_enough(skill: Skill, limit: Array | float, unit: Array) -> Array:
    """Whether the root mean square error of rewards is at most `limit` times `unit`, and few ends
    are imagined."""
    return (jnp.sqrt(skill.error) <= limit * unit) & (skill.imagined <= MOST_IMAGINED)
