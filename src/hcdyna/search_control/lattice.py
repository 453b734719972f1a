"""Hill climbing over the cells of a lattice, by finite differences (appendix, TabularGridWorld)."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.numerics.randomness import below
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
    """Which neighbours s′ of each cell have the largest (V(s′) − V(s))/‖s′ − s‖, as bits.

    `values` [states] → [columns·(rows + 2)]: each column has a cell of margin at either end. Where
    values are equal, as at the start, several neighbours tie for the largest rate.
    """
    columns, rows = lattice
    grid = jnp.pad(values.astype(jnp.float32).reshape(lattice), 1, constant_values=-jnp.inf)
    # Neighbours are shifts of one long row, because XLA makes slow code of slices of a square.
    width = rows + 2
    long = jax.lax.optimization_barrier(jnp.pad(grid.reshape(-1), 1))
    first, length = 1 + width, columns * width
    here = long[first : first + length]
    best, bits = jnp.full(length, -jnp.inf), jnp.zeros(length, jnp.int32)
    for k, (i, j) in enumerate(NEIGHBOURS):
        there = first + i * width + j
        rate = (long[there : there + length] - here) / math.hypot(i / columns, j / rows)
        bits = jnp.where(rate > best, 1 << k, jnp.where(rate == best, bits | 1 << k, bits))
        best = jnp.maximum(best, rate)
    return bits


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
    # The centre lies half a cell above the lower end: what the noise leaves is whole cells.
    shift = noise * jax.random.normal(noise_key, (steps, 2))
    drift = jnp.floor(shift * sides + 0.5).astype(jnp.int32)
    uphill = steepest(values, lattice)
    moves = jnp.asarray(CHOSEN_MOVES)

    def step(cell: Array, x: tuple[Array, Array]) -> tuple[Array, Array]:
        drift, tie = x
        ties = uphill[cell[0] * (lattice[1] + 2) + cell[1] + 1]
        move = moves[ties, below(tie, jax.lax.population_count(ties))]
        cell = jnp.clip(cell + move + drift, 0, sides - 1)
        return cell, cell

    cell = jnp.stack([start // lattice[1], start % lattice[1]])
    noise_and_ties = (drift, jax.random.bits(tie_key, (steps,)))
    _, cells = jax.lax.scan(step, cell, noise_and_ties, unroll=UNROLL)
    return (cells[:, 0] * lattice[1] + cells[:, 1]).astype(jnp.int32)
