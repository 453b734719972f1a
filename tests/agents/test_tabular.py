"""Tabular Q-learning by hand, against value iteration, and with the same bits in company."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna import (
    Evaluation,
    Gibbs,
    GridWorld,
    Settings,
    SettingsError,
    Tabular,
    TabularGridWorld,
    TabularHillClimbing,
    Training,
    train,
)
from hcdyna.search_control.optimal_values import value_iteration
from hcdyna.types import Transition

SPEC = TabularGridWorld(size=3).build().spec
KEY = jax.random.key(7)


def batch(*rows):
    obs, action, reward, discount, next_obs = (
        jnp.array(column) for column in zip(*rows, strict=True)
    )
    return Transition(obs, action, 1.0 * reward, 1.0 * discount, next_obs)


def test_updates_by_hand_one_row_after_the_other():
    agent = Tabular(learning_rate=0.5).build(SPEC)
    q = agent.init(jax.random.key(0)).at[4].set(jnp.array([-3.0, -1.0, -2.0, -5.0]))
    # Q(1, 0): ½(−1 + V(4)) = −1; then again, from −1: −1 + ½(−2 + 1) = −1.5;
    # Q(2, 3): the next state is terminal: ½·(−1).
    rows = batch((1, 0, -1, 1, 4), (1, 0, -1, 1, 4), (2, 3, -1, 0, 4))
    after, info = agent.update(KEY, q, rows, None)
    expected = np.array(q)
    expected[1, 0], expected[2, 3] = -1.5, -0.5
    np.testing.assert_array_equal(after, expected)
    np.testing.assert_allclose(info["loss"], (4 + 1 + 1) / 3)


def test_value_and_greedy_action_are_looked_up():
    agent = Tabular().build(SPEC)
    q = agent.init(jax.random.key(0)).at[4].set(jnp.array([-3.0, -1.0, -2.0, -5.0]))
    assert (agent.value(q, 4), agent.greedy(q, 4)) == (-1.0, 1)
    assert (agent.value(q, 0), agent.greedy(q, 0)) == (0.0, 0)
    actions = jax.vmap(lambda key: agent.act(key, q, 4, 0.4))(
        jax.random.split(jax.random.key(0), 20_000)
    )
    np.testing.assert_allclose(np.bincount(actions) / 20_000, [0.1, 0.7, 0.1, 0.1], atol=0.01)


def test_continuous_worlds_are_refused():
    with pytest.raises(SettingsError, match="agent = tabular: GridWorld has"):
        Tabular().build(GridWorld().build().spec)


def test_planning_with_the_true_model_reaches_the_optimal_values(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    environment = TabularGridWorld(size=4, time_limit=100)
    settings = Settings(
        environment=environment,
        agent=Tabular(learning_rate=0.03),
        search_control="uniform",
        training=Training(
            steps=3_000, warmup=0, epsilon=0.2, planning_steps=20, batch_size=1, mixing_rate=1.0
        ),
        evaluation=Evaluation(every=3_000),
    )
    run = train(settings, seeds=8)
    learned = np.mean([run.state(seed).agent.max(axis=-1) for seed in range(8)], axis=0)
    goal = 15  # never bootstrapped from, and so no part of V*
    np.testing.assert_allclose(
        learned[:goal], value_iteration(environment.build().spec)[:goal], atol=0.2
    )


@pytest.mark.parametrize("strategy", [TabularHillClimbing(), Gibbs()], ids=["climb", "gibbs"])
@pytest.mark.slow
def test_company_does_not_change_a_bit(strategy):
    settings = Settings(
        environment="TabularGridWorld",
        agent=Tabular(0.7),
        model="counted",
        search_control=strategy,
        training=Training(steps=150, warmup=0, planning_steps=4, batch_size=1, replay_size=200),
        evaluation=Evaluation(every=150),
    )
    alone, four = (train(settings, seeds=seeds) for seeds in ([7], [7, 1, 2, 3]))
    assert np.ptp(alone.state(7).agent) > 0
    for x, y in zip(jax.tree.leaves(alone.state(7)), jax.tree.leaves(four.state(7)), strict=True):
        assert np.array_equal(x, y)
