"""Rollouts by hand: three steps along a line, with an end and without; and that they learn."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna import Evaluation, Rollouts, Settings, TabularGridWorld, Training, train
from hcdyna.numerics import ring
from hcdyna.types import Box, Environment, Outcome, Scene, Spec, Transition

SPEC = Spec("Line", np.zeros(1, np.float32), np.full(1, 9, np.float32), 0.5, 100, num_actions=4)
ROW = Transition(jnp.array([1.0]), jnp.int32(3), jnp.float32(7.0), jnp.float32(0.5), jnp.ones(1))


def line(end):
    """Action a moves by a and earns the state left; it ends at `end`, or beyond."""

    box = Box(SPEC.low, SPEC.high)

    def dynamics(key, obs, action):
        there = box(obs + action)
        return Outcome(there, obs[0], there[0] >= end)

    return Environment(SPEC, lambda key: ROW.obs, dynamics, box, lambda obs: False)


def scene_of(env):
    """The buffer holds state 1 alone, and the behaviour moves by 2 there, and by 1 elsewhere."""
    rows = jax.tree.map(lambda x: jnp.asarray(x)[None], ROW)
    replay = ring.extend(ring.init(ROW, 4), rows, jnp.ones(1, bool))
    return Scene(
        env,
        value=lambda obs: obs[0],
        predict=env.dynamics,
        replay=replay,
        transition=ROW,
        act=lambda key, obs: jnp.where(obs[0] == 1, 2, 1).astype(jnp.int32),
    )


@pytest.mark.parametrize(
    ("end", "reward", "discount", "last"),
    [
        (99, 1 + 0.5 * 3 + 0.25 * 4, 0.125, 5.0),
        (5, 1 + 0.5 * 3 + 0.25 * 4, 0.0, 5.0),
        (4, 1 + 0.5 * 3, 0.0, 4.0),
        (3, 1.0, 0.0, 3.0),
    ],
)
def test_three_steps_as_one(end, reward, discount, last):
    """1 → 3 → 4 → 5, and not beyond the end."""
    env = line(end)
    strategy = Rollouts(steps=3, outcomes="steps").build(env)
    rows = strategy.sample(jax.random.key(0), strategy.init(ROW.obs), scene_of(env), 2)
    assert rows.weight is None
    assert rows.transition.obs.tolist() == [[1.0]] * 2
    assert rows.transition.action.tolist() == [2] * 2, "that of the behaviour, not the stored one"
    assert rows.transition.reward.tolist() == [reward] * 2
    assert rows.transition.discount.tolist() == [discount] * 2
    assert rows.transition.next_obs.tolist() == [[last]] * 2


@pytest.mark.parametrize(("end", "expected"), [(99, [3, 4, 5]), (5, [3, 4]), (4, [3]), (3, [])])
def test_states_on_the_way_are_queued(end, expected):
    env = line(end)
    strategy, scene = Rollouts(steps=3).build(env), scene_of(env)
    state, info = strategy.update(jax.random.key(0), strategy.init(ROW.obs), scene)
    assert state.queue.data[: len(expected), 0].tolist() == expected
    assert int(state.queue.total) == len(expected) == round(3 * float(info["accepted"]))
    assert bool(strategy.ready(state)) == bool(expected)
    if expected:
        states = strategy.sample(jax.random.key(1), state, scene, 50)
        assert set(states[:, 0].tolist()) == set(expected)


@pytest.mark.slow
@pytest.mark.parametrize("outcomes", ["states", "steps"])
def test_the_same_bits_alone_and_in_a_batch(outcomes):
    settings = Settings(
        search_control=Rollouts(steps=4, outcomes=outcomes, queue_size=60),
        training=Training(steps=90, warmup=30, planning_steps=3, batch_size=8, replay_size=50),
        evaluation=Evaluation(every=45),
    )
    alone, several = train(settings, seeds=[2]), train(settings, seeds=5)
    jax.tree.map(np.testing.assert_array_equal, alone.state(2), several.state(2))


@pytest.mark.slow
@pytest.mark.parametrize("outcomes", ["states", "steps"])
def test_they_learn(outcomes):
    settings = Settings(
        environment=TabularGridWorld(size=8, success=1.0, time_limit=200),
        agent="tabular",
        search_control=Rollouts(outcomes=outcomes),
        training=Training(steps=4_000, warmup=500, planning_steps=10, batch_size=1),
        evaluation=Evaluation(every=500, episodes=5),
    )
    returns = train(settings, seeds=8).mean_returns()
    assert np.median(returns[:, 0]) < -100, "it must have had something to learn"
    assert np.median(returns[:, -1]) > -20, returns[:, -1]
