"""Gibbs for continuous states: shares of cells, temperature, steep values, chains."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna import Acrobot, ContinuousGibbs, GridWorld, SettingsError, TabularGridWorld
from hcdyna.search_control.continuous_gibbs import draw_from
from hcdyna.testing import some_replay, some_transitions
from hcdyna.types import Scene

ENV = GridWorld().build()
DRAWS = 40_000


def scene_with(value, env=ENV):
    first = jax.tree.map(lambda x: x[0], some_transitions(env, 2))
    return Scene(env, value, env.dynamics, some_replay(env), first)


def sample(strategy, value, updates=0):
    """DRAWS states, after some time steps."""
    built, scene = strategy.build(ENV), scene_with(value)

    def run(key):
        sample_key, *keys = jax.random.split(key, updates + 1)
        state = built.init(scene.transition.obs)
        if updates:
            step = lambda s, k: (built.update(k, s, scene)[0], None)  # noqa: E731
            state, _ = jax.lax.scan(step, state, jnp.stack(keys))
        return built.sample(sample_key, state, scene, DRAWS)

    return np.asarray(jax.jit(run)(jax.random.key(0)))


def shares(states, cells):
    """[cells, cells] of the unit square, x first."""
    counts, _, _ = np.histogram2d(*states.T, bins=cells, range=[(0, 1)] * 2)
    return counts / len(states)


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_cells_have_the_probability_of_their_centre(temperature):
    def value(obs):
        return 2.0 * obs[0] - jnp.square(obs[1]) - 1000.0

    states = sample(ContinuousGibbs(temperature=temperature, cells=4), value)
    centre = (np.arange(4) + 0.5) / 4
    density = np.exp((2 * centre[:, None] - centre[None, :] ** 2) / temperature)
    expected = density / density.sum()
    error = 5 * np.sqrt(expected / DRAWS)
    assert (np.abs(shares(states, 4) - expected) < error).all()


def test_within_a_cell_states_are_uniform():
    states = sample(ContinuousGibbs(cells=2), lambda obs: 0.0 * obs[0])
    np.testing.assert_allclose(shares(states, 10), 0.01, atol=5 * np.sqrt(0.01 / DRAWS))


def test_steep_values_leave_the_best_cell():
    """Neighbours are 1000 apart, and all values far below what exp can hold."""
    states = sample(ContinuousGibbs(cells=10), lambda obs: 10_000.0 * (obs[0] + obs[1]) - 1e5)
    assert np.isfinite(states).all()
    assert (states >= 0.9).all()
    even = sample(ContinuousGibbs(cells=10), lambda obs: 0.0 * obs[0] - 1000.0)
    assert (shares(even, 10) > 0).all()


def test_drawing_an_index():
    log_density = jnp.log(jnp.array([0.1, 0.0, 0.6, 0.3])) - 1000.0
    uniform = jnp.array([0.0, 0.05, 0.15, 0.65, 0.75, 0.9999])
    assert draw_from(uniform, log_density).tolist() == [0, 0, 2, 2, 3, 3]


def test_chains_find_the_same_distribution():
    """Total variation below 0.1 on 5 × 5 cells, for 500 chains after 400 steps."""

    def value(obs):
        return 3.0 * obs[0] - 1000.0

    options = {"method": "langevin", "chains": 500, "step_size": 2e-4}
    states = sample(ContinuousGibbs(**options), value, updates=400)
    edges = np.exp(3.0 * np.linspace(0, 1, 6))
    expected = np.repeat(np.diff(edges)[:, None] / np.diff(edges).sum() / 5, 5, axis=1)
    assert 0.5 * np.abs(shares(states, 5) - expected).sum() < 0.1


def test_chains_go_on_where_they_were():
    built = ContinuousGibbs(method="langevin", step_size=1e-8).build(ENV)
    scene = scene_with(lambda obs: obs[0])
    state = built.init(scene.transition.obs)
    update = jax.jit(lambda key, state: built.update(key, state, scene)[0])
    first = update(jax.random.key(0), state)
    second = update(jax.random.key(1), first)
    replay = np.asarray(scene.replay.data.obs[:20])
    near = np.abs(np.asarray(first.states)[:, 0, None] - replay).max(axis=-1).min(axis=-1)
    assert (near < 1e-2).all(), "they start from replay states"
    np.testing.assert_allclose(second.states[:, 0], first.states[:, -1], atol=1e-2)


def test_what_it_refuses():
    with pytest.raises(SettingsError, match="discrete state space"):
        ContinuousGibbs().build(TabularGridWorld().build())
    with pytest.raises(SettingsError, match="two state variables"):
        ContinuousGibbs(method="grid").build(Acrobot().build())
