"""As good as it gets: what a new state is taken to be worth (R-max; Brafman & Tennenholtz, 2002).

Where every step costs and no end has been seen, a model says that the cost goes on for ever, and
planning makes every state that bad. So a new state counts as an end with the best reward so far.

Only there: the costs of what is known soon outweigh such a hope if it was wrong. Where steps cost
nothing, nothing but the discount would wear it off, and where rewards differ from step to step,
they say where to go. And a hope that leads nowhere is given up: some of what was never seen can't
be reached.
"""

from typing import NamedTuple

import jax.numpy as jnp

from hcdyna.types import Array, Outcome, Transition

PATIENCE = 10_000
"""Steps in vain after which hope is given up."""


class Hope(NamedTuple):
    """What rewards have told."""

    usual: Array
    """The first reward; NaN: none yet."""
    best: Array
    """The largest one."""
    told: Array
    """How many steps have ended an episode, or paid otherwise than the first one."""
    vain: Array
    """How many steps ago one has found something that the model did not know."""


def init() -> Hope:
    """No reward seen yet."""
    none = jnp.zeros((), jnp.int32)
    return Hope(jnp.full((), jnp.nan), jnp.full((), -jnp.inf), none, none)


def update(hope: Hope, step: Transition, found: Array) -> Hope:
    """Take in one more real step, and whether it has found something that was not known."""
    usual = jnp.where(jnp.isnan(hope.usual), step.reward, hope.usual)
    told = (step.discount == 0) | (step.reward != usual)
    vain = jnp.where(found, 0, hope.vain + 1)
    return Hope(usual, jnp.maximum(hope.best, step.reward), hope.told + told, vain)


def is_left(hope: Hope, until_told: int) -> Array:
    """Whether there is reason to hope: steps cost, little was told about where to go, and new
    states are still found."""
    return (hope.usual < 0) & (hope.told < until_told) & (hope.vain < PATIENCE)


def has_aim(hope: Hope) -> Array:
    """Whether there is anything to plan for: a step has told something, or there is hope. Where all
    that was seen is worth the same, planning would only level the values that exploration
    follows."""
    return (hope.told > 0) | (~(hope.usual >= 0) & (hope.vain < PATIENCE))


def as_good_as_it_gets(hope: Hope, outcome: Outcome) -> Outcome:
    """The end of the episode, with the best reward so far."""
    return Outcome(outcome.next_obs, hope.best, jnp.ones((), bool))
