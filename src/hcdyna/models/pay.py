"""The rewards that were ever paid, where these are few.

Most worlds pay one of a few rewards: −1 a step, 1 at the goal. A regression that is wrong by a
hundredth everywhere makes a state worth 0.01/(1 − γ) = 1 too much, and one that rounds the edge of
a goal off draws the agent to where nothing is won. So a predicted reward counts as the nearest one
that was paid, on the way or at an end, whichever it is.
"""

from typing import NamedTuple

import jax.numpy as jnp

from hcdyna.types import Array

FEW = 8
FULL_SIZE = 3.0
"""The largest difference is to measure no more than this, or its error would outweigh all."""


class Pay(NamedTuple):
    """What steps have paid on the way [0], and at the end of an episode [1]."""

    rewards: Array
    """[2, FEW] different ones, of which …"""
    known: Array
    """… so many [2] were seen"""
    many: Array
    """[2] whether there were more of them"""


def init() -> Pay:
    """No step yet."""
    return Pay(jnp.zeros((2, FEW)), jnp.zeros(2, jnp.int32), jnp.zeros(2, bool))


def update(pay: Pay, reward: Array, ended: Array) -> Pay:
    """Take in the reward of one more step, and whether it ended the episode."""
    row = jnp.asarray(ended).astype(jnp.int32)
    known = pay.known[row]
    new = ~jnp.any((pay.rewards[row] == reward) & (jnp.arange(FEW) < known))
    # What is not kept goes to a place past the end.
    place = jnp.where(new, known, FEW)
    return Pay(
        pay.rewards.at[row, place].set(reward, mode="drop"),
        pay.known.at[row].add(new & (known < FEW)),
        pay.many.at[row].set(pay.many[row] | (new & (known == FEW))),
    )


def settled(pay: Pay, predicted: Array, end: Array) -> Array:
    """The reward nearest to the predicted one among those that were paid, if these are few."""
    own = end.astype(jnp.int32)
    # Where no end was seen yet, it may pay as steps on the way do.
    row = jnp.where(pay.known[own] > 0, own, 1 - own)
    paid, known = pay.rewards[row], pay.known[row]
    away = jnp.where(jnp.arange(FEW) < known, jnp.abs(paid - predicted), jnp.inf)
    return jnp.where((known > 0) & ~pay.many[row], paid[jnp.argmin(away)], predicted)


def unit(pay: Pay, deviation: Array) -> Array:
    """What to measure rewards in: their deviation, but more where rare ones are far off."""
    none = jnp.arange(FEW) >= pay.known[:, None]
    largest = jnp.max(jnp.where(none, -jnp.inf, pay.rewards))
    smallest = jnp.min(jnp.where(none, jnp.inf, pay.rewards))
    wide = jnp.maximum(deviation, (largest - smallest) * (1.0 / FULL_SIZE))
    return jnp.where(jnp.any(pay.many) | (largest <= smallest), deviation, wide)
