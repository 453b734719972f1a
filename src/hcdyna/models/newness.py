"""Which states are new? A grid that counts visits, as fine as experience can fill.

Grids of cells that double in width lie over the state space, and each counts the visits of every
cell in a hash table. The finest grid on which nearly all real steps lead to a familiar cell says
what is new. In two dimensions that is a fine one; in twenty, where a fine grid would call
everything new for ever, a coarse one. Variables that differ from episode to episode, but that no
step has changed, do not count: no action leads to another goal than the one that was drawn.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.models import scales
from hcdyna.models.trust import Doubt
from hcdyna.numerics import ring
from hcdyna.types import Array, Key, Outcome, Transition

LAID_OUT = 1_000
"""After so many steps the grids are laid over what was seen, in units of its deviation."""
GRIDS = 6
CELLS = 2**14
"""Places of a hash table. Cells that share one make each other look familiar."""
MOST_VISITS = 255
"""A byte counts no further."""
ONE_MORE = 1_000
"""Every so many steps one more visit is asked for, so that what was seen least is looked at again:
a cell is large, and there may be something in it that few visits have missed."""
FORGETTING = 1e-3
"""Weight of the last step in the share of steps that led somewhere new."""
MIX, MIX_AGAIN = 0x9E3779B1, 0x85EBCA6B
"""Odd numbers with well spread bits."""


class Newness(NamedTuple):
    """Where the grids lie, and the visits of their cells."""

    scales: scales.Scales
    """of the states [d], until the grids are laid out; only steps are counted on"""
    visits: Array
    """[GRIDS · CELLS], up to MOST_VISITS"""
    share: Array
    """[GRIDS] of the steps of late that led to a new cell"""
    varies: Array
    """[d] whether a variable has had more than one value, …"""
    changes: Array
    """… and whether a step has changed it"""


class Rule(NamedTuple):
    """What counts as new."""

    width: Array | float
    """of the finest cells, in standard deviations"""
    visits: int
    """that make a cell familiar, at first"""
    share: Array | float
    """of real steps that may lead to new cells, on a grid that is to be used"""


def doubt(rule: Rule, d: int) -> Doubt:
    """A step that leads to a new state [d] is not known."""

    def update(key: Key, newness: Newness, state: object, replay: ring.Ring) -> Newness:
        step = ring.newest(replay)
        return visit(newness, rule, step.obs, step.next_obs)

    def unknown(
        newness: Newness, state: object, obs: Array, action: Array, outcome: Outcome
    ) -> Array:
        return is_new(newness, rule, outcome.next_obs)

    def found(newness: Newness, state: object, step: Transition) -> Array:
        # A cell that is only to be looked at again is no discovery.
        return has_fewer(newness, rule, step.next_obs, rule.visits)

    return Doubt(lambda: init(d), update, unknown, found)


def init(d: int) -> Newness:
    """Nothing visited yet."""
    tables, nothing = jnp.zeros(GRIDS * CELLS, jnp.uint8), jnp.zeros(d, bool)
    return Newness(scales.init(d), tables, jnp.ones(GRIDS), nothing, nothing)


def visit(newness: Newness, rule: Rule, before: Array, obs: Array) -> Newness:
    """Count one more visit, of obs [d], by a step that began at `before` [d]."""
    laid_out = newness.scales.seen >= LAID_OUT
    more = scales.update(newness.scales, obs)
    kept = jax.tree.map(lambda old, new: jnp.where(laid_out, old, new), newness.scales, more)
    newness = newness._replace(
        scales=kept._replace(seen=more.seen),
        varies=newness.varies | (obs != more.origin),
        changes=newness.changes | (obs != before),
    )
    cells = jax.vmap(lambda grid: cell_of(newness, rule, obs, grid))(jnp.arange(GRIDS))
    visits = newness.visits[cells]
    first = (visits < asked_for(newness, rule)).astype(jnp.float32)
    share = newness.share + FORGETTING * (first - newness.share)
    # What is not counted goes to a place past the end, since a `select` would copy the tables.
    to = jnp.where(laid_out, cells, GRIDS * CELLS)
    counted = jnp.where(visits < MOST_VISITS, visits + 1, visits)
    return newness._replace(
        visits=newness.visits.at[to].set(counted, mode="drop"),
        share=jnp.where(laid_out, share, newness.share),
    )


def is_new(newness: Newness, rule: Rule, obs: Array) -> Array:
    """Whether obs [d] lies in a cell that is not familiar; never, if no grid can be used."""
    return has_fewer(newness, rule, obs, asked_for(newness, rule))


def has_fewer(newness: Newness, rule: Rule, obs: Array, visits: Array | int) -> Array:
    """Whether the cell of obs [d] has fewer visits than that, on the finest grid that is usable."""
    usable = (newness.share <= rule.share) & (newness.scales.seen >= LAID_OUT)
    there = newness.visits[cell_of(newness, rule, obs, jnp.argmax(usable))]
    return jnp.any(usable) & (there < visits)


def asked_for(newness: Newness, rule: Rule) -> Array:
    """How many visits make a cell familiar by now."""
    more = (newness.scales.seen - LAID_OUT) // ONE_MORE
    return jnp.minimum(rule.visits + more, MOST_VISITS)


def cell_of(newness: Newness, rule: Rule, obs: Array, grid: Array) -> Array:
    """The place in the tables of the cell of obs [d] on a grid."""
    deviations = newness.scales.normal(obs)
    width = rule.width * jnp.left_shift(1, grid).astype(jnp.float32)
    place = jnp.floor(deviations * (1.0 / width) + 0.5)
    # Beyond int32 the conversion is not defined; such states are all equally far off.
    whole = jnp.clip(place, -1e9, 1e9).astype(jnp.int32).astype(jnp.uint32)
    powers = np.array([pow(MIX, i + 1, 2**32) for i in range(len(obs))], np.uint32)
    counted = jnp.where(newness.varies & ~newness.changes, 0, powers)
    start = np.sum(powers * np.uint32(MIX_AGAIN), dtype=np.uint32)
    mixed = start + jnp.sum(whole * counted, dtype=jnp.uint32)
    mixed = (mixed ^ (mixed >> 15)) * np.uint32(MIX_AGAIN)
    return grid * CELLS + ((mixed ^ (mixed >> 13)) % CELLS).astype(jnp.int32)
