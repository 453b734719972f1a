"""DQN: hand-computed updates, the target network, own networks, and worlds with known values."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from hcdyna import DQN, Network, Settings, Training, train
from hcdyna.environments.grid_world import GridWorld
from hcdyna.numerics import adam, networks
from hcdyna.testing import some_transitions
from probes import Probe

SPEC = GridWorld().build().spec
KEY = jax.random.key(7)


def linear_network():
    """Q(s) = W s, so that everything can be done by hand."""
    return Network(lambda key: jnp.ones((4, 2)) * 0.5, lambda w, obs: w @ obs)


def test_one_update_by_hand():
    agent = DQN(learning_rate=0.1, network=linear_network()).build(SPEC)
    state = agent.init(jax.random.key(0))
    batch = jax.tree.map(lambda x: x[1:3], some_transitions(GridWorld().build(), 4))
    after, info = agent.update(KEY, state, batch, None)
    w, obs, next_obs = 0.5 * np.ones((4, 2)), np.array(batch.obs), np.array(batch.next_obs)
    target = -1 + 0.99 * (next_obs @ w.T).max(axis=1)
    error = (obs @ w.T)[np.arange(2), batch.action] - target
    gradient = np.zeros_like(w)
    for i in range(2):
        gradient[batch.action[i]] += error[i] * obs[i]  # mean over 2 of the derivative 2·error·s
    assert info["loss"] == pytest.approx(np.mean(error**2), rel=1e-5)
    expected = np.where(gradient != 0, w - 0.1 * np.sign(gradient), w)  # Adam's first step is ±α
    np.testing.assert_allclose(after.params, expected, atol=1e-5)


def test_adam_is_adam():
    params = {"a": jnp.array([1.0, -2.0]), "b": jnp.array(0.5)}
    ours, state = params, adam.init(params)
    theirs, optimiser = params, optax.adam(0.03)
    optimiser_state = optimiser.init(params)
    for step in range(50):
        gradient = jax.tree.map(lambda x, i=step: jnp.sin(3 * x + i), theirs)
        ours, state = adam.update(
            jax.tree.map(lambda x, i=step: jnp.sin(3 * x + i), ours), state, ours, 0.03
        )
        change, optimiser_state = optimiser.update(gradient, optimiser_state)
        theirs = optax.apply_updates(theirs, change)
    np.testing.assert_allclose(ours["a"], theirs["a"], rtol=1e-4)
    np.testing.assert_allclose(ours["b"], theirs["b"], rtol=1e-4)


def test_target_network_is_copied_every_tau_updates():
    agent = DQN(learning_rate=0.01, target_period=3).build(SPEC)
    state = agent.init(jax.random.key(0))
    first = state.target
    batch = some_transitions(GridWorld().build(), 8)
    update = jax.jit(agent.update)
    for count in range(1, 7):
        state, _ = update(KEY, state, batch, None)
        fresh = np.array_equal(state.target[0].weights, state.params[0].weights)
        assert fresh == (count % 3 == 0)
    assert not np.array_equal(first[0].weights, state.target[0].weights)


def test_epsilon_greedy_frequencies():
    agent = DQN().build(SPEC)
    state = agent.init(jax.random.key(0))
    obs = jnp.array([0.3, 0.6])
    act = jax.jit(jax.vmap(lambda key: agent.act(key, state, obs, 0.4)))
    actions = np.array(act(jax.random.split(jax.random.key(1), 20_000)))
    share = np.bincount(actions, minlength=4) / len(actions)
    expected = np.full(4, 0.1)
    expected[agent.greedy(state, obs)] += 0.6
    np.testing.assert_allclose(share, expected, atol=4 * np.sqrt(0.25 / 20_000))


def test_outputs_start_in_the_range_asked_for():
    spec = GridWorld().build().spec
    small, large = (DQN(**x).build(spec) for x in ({}, {"output_scale": 0.003}))
    one, other = (x.init(jax.random.key(0)).params for x in (small, large))
    np.testing.assert_allclose(other[-1].weights, 10 * one[-1].weights, rtol=1e-3, atol=1e-9)
    np.testing.assert_array_equal(other[0].weights, one[0].weights)
    assert abs(other[-1].weights).max() <= 0.003


def test_initial_network_is_as_the_appendix_says():
    network = networks.mlp((2, 32, 32, 4), "relu", 0.0003)
    layers = network.init(jax.random.key(0))
    assert [layer.weights.shape for layer in layers] == [(2, 32), (32, 32), (32, 4)]
    assert np.all(np.abs(layers[2].weights) <= 0.0003)
    assert np.any(layers[2].bias != 0)
    assert np.all(layers[0].bias == 0)
    bound = np.sqrt(6 / 64)
    assert 0.9 * bound < np.abs(layers[1].weights).max() <= bound


def test_batched_layers_have_the_gradient_of_single_ones():
    network = networks.mlp((3, 8, 2), "tanh")
    params = network.init(jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (7, 3))
    ours = jax.grad(lambda p: jnp.sum(jnp.sin(network.on_batch(p, x))))(params)
    plain = jax.grad(lambda p: jnp.sum(jnp.sin(jax.vmap(lambda y: network.apply(p, y))(x))))(params)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(plain), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("probe", "expected"),
    [
        (Probe(terminates=True), 1.0),
        (Probe(terminates=False, time_limit=1), 1 / (1 - 0.5)),
    ],
    ids=["termination ends the return", "a time limit bootstraps"],
)
def test_values_of_a_world_with_one_state(probe, expected):
    """Reward 1 at every step: V = 1 if each step ends the episode, and 2 if only the clock does."""
    settings = Settings(
        environment=probe,
        agent=DQN(learning_rate=0.01, hidden=(8,), target_period=20),
        search_control="replay",
        training=Training(steps=400, warmup=20, planning_steps=2, batch_size=8, replay_size=100),
    )
    run = train(settings, seeds=2)
    agent = settings.agent.build(probe.build().spec)
    for seed in (0, 1):
        value = agent.value(run.state(seed).agent, jnp.zeros(1))
        assert value == pytest.approx(expected, abs=0.05)
