"""The usual reward, where nearly every step pays the same.

A regression that is wrong by a hundredth everywhere makes a state worth 0.01/(1 − γ) = 1 too much.
Where all but a few steps pay the same, that drowns the few. So a predicted reward counts as the
usual one unless it is nearer to an unusual one.
"""

from typing import NamedTuple

import jax.numpy as jnp

from hcdyna.types import Array

NEARLY_ALL = 0.9
FULL_SIZE = 3.0
"""The largest unusual reward is to measure no more than this, or its error would outweigh all."""


class Pay(NamedTuple):
    """What steps have paid."""

    steps: Array
    usual: Array
    """The first reward."""
    as_usual: Array
    """How many steps paid just that."""
    least: Array
    """The smallest difference of another reward from it …"""
    most: Array
    """… and the largest."""
    on_the_way: Array
    """Whether another reward was ever paid before the end of an episode."""


def init() -> Pay:
    """No step yet."""
    none, zero = jnp.zeros((), jnp.int32), jnp.zeros(())
    return Pay(none, zero, none, jnp.full((), jnp.inf), zero, jnp.zeros((), bool))


def update(pay: Pay, reward: Array, ended: Array) -> Pay:
    """Take in the reward of one more step, and whether it ended the episode."""
    usual = jnp.where(pay.steps == 0, reward, pay.usual)
    away = jnp.abs(reward - usual)
    return Pay(
        pay.steps + 1,
        usual,
        pay.as_usual + (away == 0),
        jnp.where(away == 0, pay.least, jnp.minimum(pay.least, away)),
        jnp.maximum(pay.most, away),
        pay.on_the_way | ((away > 0) & ~ended),
    )


def is_nearly_always_the_same(pay: Pay) -> Array:
    """Whether nearly all steps so far paid as usual."""
    return pay.as_usual.astype(jnp.float32) > NEARLY_ALL * pay.steps.astype(jnp.float32)


def settled(pay: Pay, predicted: Array, end: Array) -> Array:
    """The predicted reward, or the usual one if that is nearer than any other seen, or if others
    come at an end alone: a prize that is won again and again would be worth more than any."""
    near = jnp.abs(predicted - pay.usual) < 0.5 * pay.least
    never = ~end & ~pay.on_the_way
    return jnp.where(is_nearly_always_the_same(pay) & (near | never), pay.usual, predicted)


def unit(pay: Pay, deviation: Array) -> Array:
    """What to measure rewards in: their deviation, but more where the rare ones are far off."""
    wide = jnp.maximum(deviation, pay.most / FULL_SIZE)
    return jnp.where(is_nearly_always_the_same(pay) & (pay.most > 0), wide, deviation)
