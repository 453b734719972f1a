"""Climbing on a lattice against brute force in NumPy, and by hand."""

import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna import TabularGridWorld, TabularHillClimbing
from hcdyna.search_control.lattice import NEIGHBOURS, lattice_climb, steepest
from hcdyna.testing import some_replay, some_transitions
from hcdyna.types import Scene

LATTICE = (5, 4)
TRIES = 40_000


def best_neighbours(values, cell):
    """The neighbours of a cell, inside the lattice, with the largest rate of increase."""
    rates = {}
    for move in itertools.product((-1, 0, 1), repeat=2):
        there = (cell[0] + move[0], cell[1] + move[1])
        if move != (0, 0) and all(0 <= c < n for c, n in zip(there, LATTICE, strict=True)):
            length = math.hypot(move[0] / LATTICE[0], move[1] / LATTICE[1])
            rise = np.float32(values[there]) - np.float32(values[cell])
            rates[there] = rise / np.float32(length)
    best = max(rates.values())
    return {there for there, rate in rates.items() if rate == best}


def found_neighbours(values):
    """What `steepest` says, cell by cell."""
    bits = np.asarray(steepest(jnp.asarray(values).reshape(-1), LATTICE))
    bits = bits.reshape(LATTICE[0], LATTICE[1] + 2)[:, 1:-1]
    return {
        cell: {tuple(np.add(cell, NEIGHBOURS[k])) for k in range(8) if bits[cell] >> k & 1}
        for cell in np.ndindex(LATTICE)
    }


def test_steepest_is_the_argmax_over_neighbours():
    rng = np.random.default_rng(0)
    for values in (
        rng.normal(size=LATTICE),
        -1000 + rng.normal(size=LATTICE),
        rng.integers(0, 3, LATTICE).astype(float),  # many ties
        np.zeros(LATTICE),
    ):
        found = found_neighbours(values)
        for cell in np.ndindex(LATTICE):
            assert found[cell] == best_neighbours(values, cell), cell


def test_without_noise_the_climb_follows_the_steepest_neighbours():
    values = np.random.default_rng(1).normal(size=LATTICE)
    states = lattice_climb(
        jax.random.key(0), jnp.int32(6), jnp.asarray(values).reshape(-1), LATTICE, steps=9, noise=0
    )
    cell = np.unravel_index(6, LATTICE)
    for state in np.asarray(states):
        (cell,) = best_neighbours(values, cell)
        assert state == np.ravel_multi_index(cell, LATTICE)


def test_at_the_top_it_goes_to_the_best_neighbour_downhill():
    """A straight neighbour with −1 falls at 1/0.2, a diagonal one with −1.2 less steeply."""
    values = np.full((5, 5), -9.0)
    values[2, 2], values[2, 3], values[3, 3] = 0.0, -1.0, -1.2
    climb = functools.partial(lattice_climb, lattice=(5, 5), steps=1, noise=0.0)
    states = climb(jax.random.key(0), jnp.int32(12), jnp.asarray(values).reshape(-1))
    assert states[0] == 3 * 5 + 3


def one_step(values, lattice, start, noise):
    keys = jax.random.split(jax.random.key(7), TRIES)
    climb = functools.partial(lattice_climb, lattice=lattice, steps=1, noise=noise)
    states = jax.jit(jax.vmap(climb, (0, None, None)))(keys, jnp.int32(start), values)[:, 0]
    return np.bincount(np.asarray(states), minlength=math.prod(lattice)) / TRIES


def test_ties_are_broken_uniformly():
    shares = one_step(jnp.zeros(9), (3, 3), start=4, noise=0.0)
    assert shares[4] == 0
    np.testing.assert_allclose(np.delete(shares, 4), 1 / 8, atol=0.01)
    corner = one_step(jnp.zeros(9), (3, 3), start=0, noise=0.0)
    np.testing.assert_allclose(corner[[1, 3, 4]], 1 / 3, atol=0.01)


def test_noise_of_one_cell_moves_by_a_rounded_normal():
    """From the middle of a cell of width 0.05, N(0, 0.05²) stays inside with Φ(½) − Φ(−½)."""
    values = jnp.zeros((20, 20)).at[10, 10].set(1.0).reshape(-1)
    shares = one_step(values, (20, 20), start=10 * 20 + 9, noise=0.05).reshape(20, 20)

    def phi(x):
        return 0.5 * (1 + math.erf(x / math.sqrt(2)))

    for cells in (-2, -1, 0, 1, 2):
        expected = phi(cells + 0.5) - phi(cells - 0.5)
        np.testing.assert_allclose(shares[10 + cells].sum(), expected, atol=0.01)
        np.testing.assert_allclose(shares[:, 10 + cells].sum(), expected, atol=0.01)


def test_noise_beyond_the_edge_ends_in_the_last_cell():
    values = jnp.zeros((3, 3)).at[2, 2].set(1.0).reshape(-1)
    shares = one_step(values, (3, 3), start=4, noise=1000.0).reshape(3, 3)
    np.testing.assert_allclose(shares[[0, 0, 2, 2], [0, 2, 0, 2]], 0.25, atol=0.02)


def test_a_cell_is_not_queued_twice_in_a_row():
    env = TabularGridWorld(size=3).build()
    transition = jax.tree.map(lambda x: x[0], some_transitions(env, 1))
    scene = Scene(env, lambda obs: -1.0 * obs, env.dynamics, some_replay(env), transition)
    for separate in (True, False):
        strategy = TabularHillClimbing(steps=50, noise=0.3, separate=separate).build(env)
        update = jax.jit(lambda key, state, strategy=strategy: strategy.update(key, state, scene))
        state, _ = update(jax.random.key(1), strategy.init(transition.obs))
        queued = np.asarray(state.queue.data[: int(state.queue.total)])
        assert np.any(queued[1:] == queued[:-1]) != separate
        assert (len(queued) == 50) != separate
