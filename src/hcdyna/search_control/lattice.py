"""Hill climbing over the cells of a lattice, by finite differences (appendix, TabularGridWorld)."""

from __future__ import annotations

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.randomness import below
from hcdyna.types import Array, Key

NEIGHBOURS = np.array([move for move in itertools.product((-1, 0, 1), repeat=2) if any(move)])
"""[8, 2] moves to the neighbours of a cell."""

UNROLL = 8
"""Climb steps per turn of the compiled loop."""


def _chosen_moves() -> np.ndarray:
    """[256, 8, 2]: of the neighbours whose bits are set in a number, the move to the j-th."""
    moves = np.zeros((256, 8, 2), np.int32)
    for bits in range(1, 256):
        members = NEIGHBOURS[[k for k in range(8) if bits >> k & 1]]
        moves[bits, : len(members)] = members
    return moves


CHOSEN_MOVES = _chosen_moves()


def steepest(values: Array, lattice: tuple[int, int]) -> Array:
    """Which neighbours s′ of each cell have the largest (V(s′) − V(s))/‖s′ − s‖, as bits [states].

    `values` [states]. Several neighbours tie for it where values are equal, as at the start.
    """
    grid = values.astype(jnp.float32).reshape(lattice)
    beyond = jnp.pad(grid, 1, constant_values=-jnp.inf)
    columns, rows = lattice
    rates = []
    for i, j in NEIGHBOURS:
        there = beyond[1 + i : 1 + i + columns, 1 + j : 1 + j + rows]
        rates.append((there - grid) / math.hypot(i / columns, j / rows))
    best = jnp.stack(rates).max(axis=0)
    bits = sum(jnp.where(rate == best, 1 << k, 0) for k, rate in enumerate(rates))
    return jnp.asarray(bits, jnp.int32).reshape(-1)


def lattice_climb(
    key: Key,
    start: Array,
    values: Array,
    lattice: tuple[int, int],
    *,
    steps: int = 80,
    noise: float | Array = 0.05,
) -> Array:
    """The cells [steps] of a climb on `values` [states] from the cell `start`.

    Each step goes to the steepest neighbour, also where that is downhill, adds N(0, noise²) to both
    coordinates of its centre in [0, 1]², and takes the cell that this falls in. Ties are broken
    uniformly at random.
    """
    noise_key, tie_key = jax.random.split(key)
    sides = jnp.array(lattice)
    # The centre lies half a cell above the lower end: what is left of the noise is whole cells.
    noise = noise * jax.random.normal(noise_key, (steps, 2))
    drift = jnp.floor(noise * sides + 0.5).astype(jnp.int32)
    uphill = steepest(values, lattice)
    moves = jnp.asarray(CHOSEN_MOVES)

    def step(cell: Array, x: tuple[Array, Array]) -> tuple[Array, Array]:
        drift, tie = x
        ties = uphill[cell[0] * lattice[1] + cell[1]]
        move = moves[ties, below(tie, jax.lax.population_count(ties))]
        cell = jnp.clip(cell + move + drift, 0, sides - 1)
        return cell, cell

    cell = jnp.stack([start // lattice[1], start % lattice[1]])
    noise_and_ties = (drift, jax.random.bits(tie_key, (steps,)))
    _, cells = jax.lax.scan(step, cell, noise_and_ties, unroll=UNROLL)
    return (cells[:, 0] * lattice[1] + cells[:, 1]).astype(jnp.int32)
