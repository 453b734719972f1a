"""Planning with continuous actions: the policy of the moment, the model asked on the way."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna import DDPG, Evaluation, GridWorldContinuous, HillClimbing, Settings, Training, train
from hcdyna.dyna import build
from hcdyna.planning import MiniBatches, draw_mini_batches, plan
from hcdyna.planning.budget import budget_of
from hcdyna.planning.continuous import ToAsk
from hcdyna.planning.continuous import complete as simulate
from hcdyna.search_control.base import queued
from hcdyna.testing import some_replay, some_transitions
from hcdyna.types import Scene, Transition

KEY = jax.random.key(2)
ENV = GridWorldContinuous().build()
TRAINING = Training(planning_steps=4, batch_size=8)
AGENT = DDPG(hidden=(6,), actor_learning_rate=0.05).build(ENV.spec)
FIRST = jax.tree.map(lambda x: x[0], some_transitions(ENV, 2))


def scene_and_state():
    state = AGENT.init(jax.random.key(0))
    scene = Scene(ENV, partial(AGENT.value, state), ENV.dynamics, some_replay(ENV), FIRST)
    return scene, state


def middle_of_the_box(accepted=True):
    """Search-control that offers only that, or nothing at all."""
    return queued(
        lambda key, statistics, scene: (jnp.full((1, 2), 0.5), jnp.full(1, accepted), {}), 10
    )


def draw(strategy, scene, training=TRAINING):
    search, _ = strategy.update(jax.random.key(1), strategy.init(FIRST.obs), scene)
    budget = budget_of(training)
    return jax.jit(
        lambda key: draw_mini_batches(key, strategy, search, scene, budget, training.epsilon)
    )(KEY)


@pytest.mark.slow
def test_random_numbers_are_drawn_beforehand():
    scene, _ = scene_and_state()
    batches = draw(middle_of_the_box(), scene, Training(planning_steps=50, batch_size=8))
    rows = batches.rows
    assert isinstance(rows, ToAsk)
    assert rows.states.shape == rows.normal.shape == (50, 4, 2)
    assert rows.keys.shape == (50, 4)
    assert batches.replayed.reward.shape == (50, 8), "four of them stand in for an empty queue"
    assert np.all(rows.states == 0.5)
    np.testing.assert_allclose(np.std(rows.normal), 1.0, rtol=5 / np.sqrt(2 * 400))
    silent = draw(middle_of_the_box(), scene, Training(planning_steps=2, epsilon=0.0))
    assert not np.any(silent.rows.normal)


def test_planning_is_n_updates_with_actions_of_the_current_policy():
    scene, state = scene_and_state()
    batches = draw(middle_of_the_box(), scene)
    planned, _ = jax.jit(lambda *these: plan(KEY, AGENT, *these, scene))(state, batches)
    by_hand, actions, update = state, [], jax.jit(AGENT.update)
    for i in range(4):
        rows = []
        for j in range(4):
            noise = batches.rows.normal[i, j] * 0.2 / np.sqrt(1 - 0.85**2)
            action = jnp.clip(AGENT.greedy(by_hand, batches.rows.states[i, j]) + noise, -1, 1)
            outcome = ENV.dynamics(batches.rows.keys[i, j], batches.rows.states[i, j], action)
            discount = 0.99 * (1.0 - outcome.terminated)
            row = (batches.rows.states[i, j], action, outcome.reward, discount, outcome.next_obs)
            rows.append(Transition(*row))
        actions.append(rows[0].action - batches.rows.normal[i, 0] * 0.2 / np.sqrt(1 - 0.85**2))
        rows = jax.tree.map(lambda *x: jnp.stack(x), *rows)
        replayed = jax.tree.map(lambda x, i=i: x[i, 4:], batches.replayed)
        whole = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), rows, replayed)
        by_hand, _ = update(KEY, by_hand, whole, None)
    assert np.abs(actions[3] - actions[0]).max() > 0.01, "the policy must have changed on the way"
    for a, b in zip(jax.tree.leaves(planned), jax.tree.leaves(by_hand), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)


def test_an_empty_queue_falls_back_to_replay():
    scene, state = scene_and_state()
    batches = draw(
        middle_of_the_box(accepted=False),
        scene,
        Training(planning_steps=4, batch_size=8, mixing_rate=1.0),
    )
    assert not np.any(batches.simulated)
    fallen_back, _ = plan(KEY, AGENT, state, batches, scene)
    alone = MiniBatches(batches.replayed, None, None)
    replayed, _ = plan(KEY, AGENT, state, alone, scene)
    for a, b in zip(jax.tree.leaves(replayed), jax.tree.leaves(fallen_back), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_an_agent_without_noise_plans_with_its_greedy_action():
    scene, state = scene_and_state()
    batch = jax.tree.map(lambda x: x[0], draw(middle_of_the_box(), scene))
    rows, _ = simulate(AGENT._replace(explore=None), state, batch.rows, scene)
    np.testing.assert_allclose(rows.action[0], AGENT.greedy(state, jnp.full(2, 0.5)), rtol=1e-6)


@pytest.mark.parametrize("model", ["true", "learned"])
@pytest.mark.parametrize(
    "strategy",
    [
        *("replay", "on_policy", "uniform", "hill_climbing"),
        *("continuous_gibbs", "td_error", "frequency"),
    ],
)
def test_every_strategy_fits(strategy, model):
    """A whole time step can be traced, and keeps shapes and types."""
    _, dyna = build(Settings("GridWorldContinuous", "ddpg", model, strategy, TRAINING))
    state = jax.eval_shape(dyna.init, jax.random.key(0))
    after, info = jax.eval_shape(dyna.learn, jax.random.key(1), state, FIRST)
    assert jax.tree.map(lambda x: (x.shape, x.dtype), after) == jax.tree.map(
        lambda x: (x.shape, x.dtype), state
    )
    assert "loss" in info


SMALL = Settings(
    environment="GridWorldContinuous",
    agent=DDPG(twin_critics=True, target_smoothing=True),
    model="learned",
    search_control=HillClimbing(steps=10, queue_size=500),
    training=Training(steps=100, warmup=50, planning_steps=3, replay_size=200),
    evaluation=Evaluation(every=100),
)


@pytest.mark.slow
def test_company_does_not_change_a_bit_and_noise_goes_on_with_every_step():
    alone, company = train(SMALL, seeds=[7]), train(SMALL, seeds=[7, 1, 2])
    for a, b in zip(*(jax.tree.leaves(run.state(7)) for run in (alone, company)), strict=True):
        assert np.array_equal(a, b)
    assert all(np.all(np.isfinite(x)) for x in company.info[-1].values())
    assert np.all(np.isin(["loss", "model_loss", "accepted"], list(company.info[-1])))
    assert not np.array_equal(company.state(1).agent.noise, company.state(2).agent.noise)


@pytest.mark.slow
def test_no_key_is_used_twice():
    _, dyna = build(SMALL)
    with jax.debug_key_reuse(True):
        state = dyna.init(jax.random.key(0))
        after, _ = jax.jit(dyna.learn)(jax.random.key(1), state, FIRST)
    assert after.agent.updates == 3
    assert not np.array_equal(after.agent.noise, state.agent.noise)
    assert np.array_equal(
        dyna.act(jax.random.key(0), after, FIRST.obs), dyna.act(jax.random.key(5), after, FIRST.obs)
    )
