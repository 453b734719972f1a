"""As good as it gets: what a new state is taken to be worth (R-max; Brafman & Tennenholtz, 2002).

Where every step costs and no end has been seen, a model says that the cost goes on for ever, and
planning makes every state that bad. So a new state counts as an end with the best reward so far.

Only there: the costs of what is known soon outweigh such a hope if it was wrong. Where steps cost
nothing, nothing but the discount would wear it off, and where rewards differ from step to step,
they say where to go.
"""

from typing import NamedTuple

import jax.numpy as jnp

from hcdyna.types import Array, Outcome, Transition


class Hope(NamedTuple):
    """What rewards have told."""

    usual: Array
    """The first reward; NaN: none yet."""
    best: Array
    """The largest one."""
    told: Array
    """How many steps have ended an episode, or paid otherwise than the first one."""


def init() -> Hope:
    """No reward seen yet."""
    return Hope(jnp.full((), jnp.nan), jnp.full((), -jnp.inf), jnp.zeros((), jnp.int32))


def update(hope: Hope, step: Transition) -> Hope:
    """Take in one more real step."""
    usual = jnp.where(jnp.isnan(hope.usual), step.reward, hope.usual)
    told = (step.discount == 0) | (step.reward != usual)
    return Hope(usual, jnp.maximum(hope.best, step.reward), hope.told + told)


def is_left(hope: Hope, until_told: int) -> Array:
    """Whether there is reason to hope: steps cost, and little was told about where to go."""
    return (hope.usual < 0) & (hope.told < until_told)


def has_aim(hope: Hope) -> Array:
    """Whether there is anything to plan for: steps cost, or one has told something. Where all that
    was seen is worth the same, planning would only level the values that exploration follows."""
    return ~(hope.usual >= 0) | (hope.told > 0)


def as_good_as_it_gets(hope: Hope, outcome: Outcome) -> Outcome:
    """The end of the episode, with the best reward so far."""
    return Outcome(outcome.next_obs, hope.best, jnp.ones((), bool))
