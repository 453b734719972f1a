"""What came after DQN, by hand: double Q, a dueling network, Huber's loss, a bound on gradients,
soft targets, and evaluations with averaged parameters."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna import (
    DQN,
    Acrobot,
    Evaluation,
    GridWorld,
    HillClimbing,
    Network,
    Rollouts,
    Settings,
    SettingsError,
    Training,
    load,
    train,
)
from hcdyna.agents.dqn import cut, double, dueling, q_learning
from hcdyna.numerics.networks import mlp
from hcdyna.types import Transition

KEY = jax.random.key(7)
OPTIONS = {"double": True, "dueling": True, "loss": "huber"}


def test_the_network_chooses_and_the_target_network_values():
    online = jnp.array([[1.0, 5.0, 2.0], [0.0, -1.0, -2.0]])
    target = jnp.array([[9.0, 3.0, 8.0], [-4.0, 6.0, 7.0]])
    assert double(online, target).tolist() == [3.0, -4.0]


def updated(how, **state):
    """What an update of Q = w·s tells: for s′ = 1 the network prefers action 1, which is worth 3 to
    the target network."""
    network = Network(lambda key: jnp.array([[1.0], [5.0]]), lambda w, obs: w @ obs)
    agent = q_learning(network, 2, how)
    start = agent.init(KEY)._replace(target=jnp.array([[9.0], [3.0]]))
    batch = Transition(
        jnp.array([[2.0]]), jnp.array([0]), jnp.array([-1.0]), jnp.array([0.5]), jnp.array([[1.0]])
    )
    return start, *agent.update(KEY, start, batch, None)


@pytest.mark.parametrize(("how", "worth"), [(DQN(double=True), 3.0), (DQN(), 9.0)])
def test_td_error_by_hand(how, worth):
    _, _, info = updated(how)
    error = -1 + 0.5 * worth - 2 * 1
    assert info["td_error"].tolist() == [error]
    np.testing.assert_allclose(info["loss"], error**2, rtol=1e-6)


def test_hubers_loss_by_hand():
    """δ = −1.5 is beyond 1: 1.5 − 1/2; δ = −0.5 is not: 0.25/2."""
    _, _, info = updated(DQN(double=True, loss="huber"))
    np.testing.assert_allclose(info["loss"], 1.0, rtol=1e-6)
    network = Network(lambda key: jnp.array([[0.25], [0.0]]), lambda w, obs: w @ obs)
    agent = q_learning(network, 2, DQN(loss="huber"))
    batch = Transition(
        jnp.array([[2.0]]), jnp.array([0]), jnp.array([0.0]), jnp.array([0.0]), jnp.array([[1.0]])
    )
    _, info = agent.update(KEY, agent.init(KEY), batch, None)
    np.testing.assert_allclose(info["loss"], 0.125, rtol=1e-6)


def test_a_long_gradient_is_cut_and_a_short_one_is_not():
    gradient = {"a": jnp.array([3.0, 0.0]), "b": jnp.array([[4.0]])}
    short = cut(gradient, 1.0)
    np.testing.assert_allclose(short["a"], [0.6, 0.0], rtol=1e-6)
    np.testing.assert_allclose(short["b"], [[0.8]], rtol=1e-6)
    jax.tree.map(np.testing.assert_array_equal, cut(gradient, 6.0), gradient)
    nothing = jax.tree.map(jnp.zeros_like, gradient)
    jax.tree.map(np.testing.assert_array_equal, cut(nothing, 1.0), nothing)


def test_an_update_uses_the_cut_gradient():
    """δ = −1.5, so the gradient is 2·1.5·2 = 6 for the first weight; Adam remembers a tenth."""
    _, free, _ = updated(DQN(double=True))
    _, bound, _ = updated(DQN(double=True, max_gradient=2.0))
    np.testing.assert_allclose(free.optimiser.mean[0, 0], 0.6, rtol=1e-5)
    np.testing.assert_allclose(bound.optimiser.mean[0, 0], 0.2, rtol=1e-5)


def test_a_dueling_network_adds_the_advantages_without_their_mean():
    network, inside = dueling((2, 5, 4), "tanh", 0.5), mlp((2, 5, 1 + 4), "tanh", 0.5)
    params, obs = network.init(KEY), jnp.array([[0.3, -0.8], [1.0, 2.0], [0.0, 0.1]])
    outputs = np.array(inside.on_batch(params, obs))
    value, advantage = outputs[:, :1], outputs[:, 1:]
    expected = value + advantage - advantage.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(network.on_batch(params, obs), expected, atol=1e-6)
    np.testing.assert_allclose(network.apply(params, obs[0]), expected[0], atol=1e-6)
    assert np.ptp(expected, axis=1).min() > 0.01, "the actions differ"


def test_its_gradient_is_that_of_the_formula():
    network, inside = dueling((2, 5, 3), "tanh", 0.5), mlp((2, 5, 1 + 3), "tanh", 0.5)
    params, obs = network.init(KEY), jnp.array([[0.3, -0.8], [1.0, 2.0]])

    def formula(params):
        out = jax.vmap(inside.apply, (None, 0))(params, obs)
        q = out[:, :1] + out[:, 1:] - out[:, 1:].mean(axis=1, keepdims=True)
        return jnp.sum(jnp.sin(q))

    ours = jax.grad(lambda p: jnp.sum(jnp.sin(network.on_batch(p, obs))))(params)
    for a, b in zip(*map(jax.tree.leaves, (ours, jax.grad(formula)(params))), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_sizes_of_the_two_networks():
    spec = GridWorld().build().spec
    for agent, outputs in ((DQN(dueling=True), 5), (DQN(double=True), 4)):
        params = agent.build(spec).init(KEY).params
        assert [layer.bias.shape for layer in params] == [(32,), (32,), (outputs,)]


def test_a_soft_target_moves_by_its_share():
    start, soft, _ = updated(DQN(target_period=1, target_rate=0.25))
    expected = start.target + 0.25 * (soft.params - start.target)
    np.testing.assert_allclose(soft.target, expected, rtol=1e-6)
    assert not np.array_equal(soft.params, start.params)
    _, copied, _ = updated(DQN(target_period=1))
    np.testing.assert_array_equal(copied.target, copied.params)
    _, later, _ = updated(DQN(target_period=2, target_rate=0.25))
    np.testing.assert_array_equal(later.target, start.target)


def test_the_average_follows_the_network_and_evaluations_see_it():
    agent = DQN(average_rate=0.25).build(GridWorld().build().spec)
    start, obs = agent.init(KEY), jnp.array([0.2, 0.7])
    moved = start._replace(params=jax.tree.map(lambda x: x + 1.0, start.params))
    once = agent.advance(KEY, moved)
    for old, new in zip(*map(jax.tree.leaves, (start.params, once.average)), strict=True):
        np.testing.assert_allclose(new, old + 0.25, rtol=1e-5)
    jax.tree.map(np.testing.assert_array_equal, once.params, moved.params)
    as_if = once._replace(params=once.average)
    assert agent.shown.value(once, obs) == agent.value(as_if, obs) != agent.value(once, obs)
    assert agent.shown.q(once, obs, 1) == agent.q(as_if, obs, 1)
    # Parameters of which the latest say "up" and the average says "down".
    last = as_if.params[-1]
    up, down = (last._replace(bias=last.bias.at[a].set(1e6)) for a in (0, 1))
    torn = once._replace(params=(*as_if.params[:-1], up), average=(*as_if.params[:-1], down))
    assert (agent.greedy(torn, obs), agent.shown.greedy(torn, obs)) == (0, 1)
    assert (agent.act(KEY, torn, obs, 0.0), agent.shown.act(KEY, torn, obs, 0.0)) == (0, 1)


def test_without_an_average_nothing_more_is_kept():
    agent = DQN().build(GridWorld().build().spec)
    assert (agent.shown, agent.advance) == (None, None)
    state = agent.init(KEY)
    kept = (state.params, state.target, state.optimiser, state.updates)
    assert len(jax.tree.leaves(state)) == len(jax.tree.leaves(kept))


def test_a_run_is_the_same_and_its_policy_is_the_average(tmp_path):
    settings = Settings(
        agent=DQN(1e-2, average_rate=0.05),
        search_control=HillClimbing(steps=10, queue_size=100),
        training=Training(steps=60, warmup=20, planning_steps=2, batch_size=8, replay_size=100),
        evaluation=Evaluation(every=30),
    )
    run = train(settings, out=tmp_path / "run")
    usual = train(replace(settings, agent=DQN(1e-2)))
    state = run.state(0).agent
    jax.tree.map(np.testing.assert_array_equal, state.params, usual.state(0).agent.params)
    obs = [0.3, 0.6]
    assert run.agent().value(obs) != usual.agent().value(obs)
    alone = DQN(1e-2).build(GridWorld().build().spec)
    expected = alone.value(state._replace(params=state.average, average=()), jnp.array(obs))
    np.testing.assert_allclose(run.agent().value(obs), expected, rtol=1e-6)
    path = run.agent().save(tmp_path / "agent.safetensors")
    assert load(path).value(obs) == run.agent().value(obs)
    assert load(tmp_path / "run").agent().value(obs) == run.agent().value(obs)


@pytest.mark.slow
@pytest.mark.parametrize("world", [GridWorld(), Acrobot()], ids=["4 actions", "3 actions"])
def test_the_same_bits_alone_and_in_a_batch(world):
    settings = Settings(
        environment=world,
        agent=DQN(
            1e-2, target_period=20, double=True, dueling=True, loss="huber", max_gradient=1.0
        ),
        search_control=Rollouts(steps=3, outcomes="steps"),
        training=Training(steps=90, warmup=30, planning_steps=3, batch_size=8, replay_size=50),
        evaluation=Evaluation(every=45),
    )
    alone, several = train(settings, seeds=[2]), train(settings, seeds=5)
    jax.tree.map(np.testing.assert_array_equal, alone.state(2).agent, several.state(2).agent)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{"dueling": True}, {"loss": "huber", "max_gradient": 1.0}], ids=str
)
def test_it_learns(options):
    settings = Settings(
        environment=GridWorld(wall=False, time_limit=300),
        agent=DQN(1e-3, target_period=200, double=True, **options),
        search_control=HillClimbing(steps=30, queue_size=20_000),
        training=Training(steps=10_000, warmup=1_500, planning_steps=4, replay_size=10_000),
        evaluation=Evaluation(every=1_000, episodes=5),
    )
    returns = train(settings, seeds=8).mean_returns()
    assert np.median(returns[:, 0]) < -96, "it must have had something to learn"
    assert np.median(returns[:, -1]) > -48, returns[:, -1]


@pytest.mark.parametrize("network", [len, 3, "mlp"])
def test_a_network_must_be_one(network):
    with pytest.raises(SettingsError, match=r"DQN.network = .*: must be"):
        DQN(network=network)
