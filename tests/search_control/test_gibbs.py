"""Gibbs sampling: frequencies ∝ exp(V/T), for values of any size, with V̂ or V*."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna import Gibbs, SettingsError, TabularGridWorld
from hcdyna.search_control.gibbs import gibbs_sample
from hcdyna.search_control.optimal_values import value_iteration
from hcdyna.testing import some_replay, some_transitions
from hcdyna.types import Scene

N = 200_000


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def softmax(values, temperature=1.0):
    weights = np.exp((values - values.max()) / temperature)
    return weights / weights.sum()


def shares(values, temperature=1.0):
    draw = jax.jit(lambda key: gibbs_sample(key, jnp.asarray(values, jnp.float32), temperature, N))
    return np.bincount(np.asarray(draw(jax.random.key(0))), minlength=len(values)) / N


@pytest.mark.parametrize("offset", [0.0, -1000.0, 1000.0])
@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_frequencies_are_those_of_exp_v(offset, temperature):
    values = offset + np.array([0.0, -1.0, 0.5, -2.0, 0.25, -100.0])
    expected = softmax(values, temperature)
    found = shares(values, temperature)
    np.testing.assert_allclose(found, expected, atol=4 * np.sqrt(0.25 / N))
    assert found[-1] == 0


def test_equal_values_are_sampled_uniformly():
    np.testing.assert_allclose(shares(np.full(400, -1000.0)), 1 / 400, atol=5e-4)


def test_the_queue_of_gibbs_vstar_follows_exp_of_value_iteration():
    env = TabularGridWorld(size=4).build()
    transition = jax.tree.map(lambda x: x[0], some_transitions(env, 1))
    scene = Scene(env, lambda obs: 0.0 * obs, env.dynamics, some_replay(env), transition)
    strategy = Gibbs(samples=N, queue_size=N, surface="optimal").build(env)
    update = jax.jit(lambda key, state: strategy.update(key, state, scene))
    state, _ = update(jax.random.key(2), strategy.init(transition.obs))
    found = np.bincount(np.asarray(state.queue.data), minlength=16) / N
    np.testing.assert_allclose(found, softmax(value_iteration(env.spec)), atol=0.005)


def test_what_is_missing_is_said_in_one_line():
    env = TabularGridWorld(size=4).build()
    with pytest.raises(SettingsError, match="surface = 'recipe': V\\* of TabularGridWorld"):
        Gibbs(surface="recipe").build(env)
    spec = env.spec._replace(table=None)
    with pytest.raises(SettingsError, match="does not know its transition probabilities"):
        Gibbs(surface="optimal").build(env._replace(spec=spec))
