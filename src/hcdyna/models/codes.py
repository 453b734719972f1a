"""Are observations codes? Which states can then be at all.

A climb takes what lies between two states for a state. Where most variables only ever take two
values, as with one-hot codes and flags, nothing lies between them: such a climb leads to states
that no world can answer for, and a model that has learned only real ones says anything there.
"""

from typing import NamedTuple

import jax.numpy as jnp

from hcdyna.types import Array

NEAR = 0.01
"""A variable has one of its two values if it is nearer than this share of their difference."""


class Values(NamedTuple):
    """The first two values [d] that every variable took, of which …"""

    first: Array
    second: Array
    """the first one as well, as long as there was no other"""
    more: Array
    """[d] … there were more than these two"""
    seen: Array
    """whether there was any observation yet"""


def init(d: int) -> Values:
    """No observation [d] yet."""
    return Values(jnp.zeros(d), jnp.zeros(d), jnp.zeros(d, bool), jnp.zeros((), bool))


def update(values: Values, obs: Array) -> Values:
    """Take in one more observation [d]."""
    first = jnp.where(values.seen, values.first, obs)
    second = jnp.where(values.seen, values.second, obs)
    new = obs != first
    second = jnp.where(new & (second == first), obs, second)
    return Values(first, second, values.more | (new & (obs != second)), jnp.ones((), bool))


def can_be(values: Values, obs: Array) -> Array:
    """Whether obs [d] may be a state: always, unless most variables that vary have two values, of
    which it must then have one in each."""
    varies = values.first != values.second
    two = varies & ~values.more
    apart = jnp.abs(values.second - values.first)
    off = jnp.minimum(jnp.abs(obs - values.first), jnp.abs(obs - values.second)) > NEAR * apart
    codes = 2 * jnp.sum(two) > jnp.sum(varies)
    return ~(codes & jnp.any(two & off))
