"""The composed time step: mini-batches, planning, and what if there is nothing to plan from."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna import DQN, Settings, Tabular, TabularGridWorld, Training, Uniform
from hcdyna.dyna import build, compose, epsilon_now
from hcdyna.numerics import ring
from hcdyna.planning import MiniBatches, complete, plan
from hcdyna.planning import draw_mini_batches as draw_with
from hcdyna.planning.budget import budget_of
from hcdyna.planning.discrete import choose
from hcdyna.search_control.base import drawn, queued
from hcdyna.search_control.hill_climbing import HillClimbing
from hcdyna.testing import some_transitions
from hcdyna.types import Pair, Scene, Transition

KEY = jax.random.key(7)


def parts(**training):
    settings = Settings(training=Training(**{"planning_steps": 4, "batch_size": 8} | training))
    env = settings.environment.build()
    return settings, env, settings.agent.build(env.spec), settings.model.build(env)


def scene_of(env, agent, state, transitions):
    replay = ring.init(jax.tree.map(lambda x: x[0], transitions), 50)
    return Scene(
        env=env,
        value=lambda obs: agent.value(state, obs),
        predict=env.dynamics,
        replay=ring.extend(replay, transitions, jnp.ones(len(transitions.reward), bool)),
        transition=jax.tree.map(lambda x: x[-1], transitions),
    )


def draw_mini_batches(key, strategy, search, scene, training):
    def draw(key, search):
        return draw_with(key, strategy, search, scene, budget_of(training), training.epsilon)

    return jax.jit(draw)(key, search)


def fixed_states(env):
    """Search-control that always offers the middle of the box."""
    middle = jnp.asarray((env.spec.low + env.spec.high) / 2)
    return queued(
        lambda key, statistics, scene: (middle[None], jnp.ones(1, bool), {}), 10, never_empty=True
    )


@pytest.mark.parametrize(("rho", "simulated"), [(0.0, 0), (0.25, 2), (0.5, 4), (1.0, 8)])
def test_share_of_simulated_rows(rho, simulated):
    settings, env, agent, _ = parts(mixing_rate=rho)
    state = agent.init(jax.random.key(0))
    scene = scene_of(env, agent, state, some_transitions(env, 20))
    strategy = fixed_states(env)
    search, _ = strategy.update(jax.random.key(1), strategy.init(scene.transition.obs), scene)
    batches = draw_mini_batches(jax.random.key(2), strategy, search, scene, settings.training)
    assert batches.replayed.reward.shape == (4, 8 - simulated)
    if simulated == 0:
        assert batches.rows is None
        return
    assert batches.rows.explore.shape == (4, simulated)
    assert np.all(batches.rows.states == 0.5)


def tabular_scene(**training):
    settings = Settings(
        environment=TabularGridWorld(size=3, success=1.0),
        agent="tabular",
        training=Training(**{"planning_steps": 5_000, "batch_size": 1} | training),
    )
    env = settings.environment.build()
    agent = settings.agent.build(env.spec)
    state = agent.init(jax.random.key(0))
    transitions = some_transitions(env, 20)
    transitions = transitions._replace(reward=jnp.full(20, -7.0))  # tells replay from the model
    return settings.training, agent, state, scene_of(env, agent, state, transitions)


@pytest.mark.parametrize(("rho", "batch_size"), [(0.3, 1), (0.3, 2), (0.75, 3)])
def test_where_rho_b_is_not_whole_each_row_is_simulated_with_probability_rho(rho, batch_size):
    training, agent, state, scene = tabular_scene(mixing_rate=rho, batch_size=batch_size)
    uniform = Uniform().build(scene.env)
    batches = draw_mini_batches(jax.random.key(2), uniform, (), scene, training)
    assert batches.simulated.shape == (5_000, batch_size)
    assert batches.replayed.reward.shape == (5_000, batch_size)
    rows, *_ = jax.vmap(lambda batch: complete(agent, state, batch, scene))(batches)
    assert rows.obs.shape == (5_000, batch_size)
    np.testing.assert_allclose(np.mean(rows.reward == -1.0), rho, atol=0.03)
    for index in range(20):
        row = jax.tree.map(lambda x, i=index: x[i, 0], rows)
        source = (
            batches.rows.states[index, 0] if row.reward == -1 else batches.replayed.obs[index, 0]
        )
        assert row.obs == source


def test_an_empty_queue_falls_back_to_replay_row_by_row():
    training, _, _, scene = tabular_scene(planning_steps=50)
    never = queued(lambda key, s, scene: (jnp.zeros(1, int), jnp.zeros(1, bool), {}), 10)
    batches = draw_mini_batches(jax.random.key(2), never, never.init(jnp.int32(0)), scene, training)
    assert batches.simulated.shape == (50, 1)
    assert not np.any(batches.simulated)


def test_pairs_bring_their_own_action():
    training, agent, state, scene = tabular_scene(planning_steps=8, mixing_rate=1.0)
    strategy = drawn(lambda key, scene, n: Pair(jnp.full(n, 4), (scene.batch + jnp.arange(n)) % 4))
    batches = draw_mini_batches(jax.random.key(2), strategy, (), scene, training)
    rows, *_ = jax.vmap(lambda batch: complete(agent, state, batch, scene))(batches)
    assert rows.action[:, 0].tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
    assert rows.next_obs[:, 0].tolist() == [5, 3, 1, 7, 5, 3, 1, 7]


def test_algorithm_2_learns_from_the_step_and_models_it_before_planning():
    """Q(0, up) ← −1 on the real step; planning can then only repeat it, with V(1) = 0 still."""
    settings = Settings(
        environment=TabularGridWorld(size=3),
        agent=Tabular(1.0),
        model="counted",
        search_control="visited_pairs",
        training=Training(
            planning_steps=3, batch_size=1, mixing_rate=1.0, replay_size=9, learn_at_once=True
        ),
    )
    _, dyna = build(settings)
    step = Transition(jnp.int32(0), jnp.int32(0), jnp.float32(-1), jnp.float32(1), jnp.int32(1))
    after, info = jax.jit(dyna.learn)(jax.random.key(1), dyna.init(jax.random.key(0)), step)
    assert after.agent[0, 0] == -1
    assert np.count_nonzero(after.agent) == 1
    assert after.model.times[0, 0, 0] == 1
    assert info["loss"] == 0, "the model knows the step already"


def test_simulated_rows_are_the_models_answer_for_every_action():
    settings, env, agent, _ = parts()
    state = agent.init(jax.random.key(0))
    scene = scene_of(env, agent, state, some_transitions(env, 20))
    strategy = fixed_states(env)
    search, _ = strategy.update(jax.random.key(1), strategy.init(scene.transition.obs), scene)
    found = draw_mini_batches(jax.random.key(2), strategy, search, scene, settings.training)
    rows = found.rows
    expected = np.array([[0.5, 0.5], [0.5, 0.45], [0.45, 0.5], [0.55, 0.5]])  # the wall is above
    np.testing.assert_allclose(rows.next_states[0, 0], expected, atol=1e-6)
    assert np.all(rows.reward == -1)
    np.testing.assert_allclose(rows.discount, 0.99, atol=1e-6)


def test_planning_is_n_updates_with_the_epsilon_greedy_action_of_the_current_q():
    settings, env, _, _ = parts()
    agent = DQN(learning_rate=0.05).build(env.spec)  # large, so that the greedy action changes
    state = agent.init(jax.random.key(0))
    scene = scene_of(env, agent, state, some_transitions(env, 20))
    strategy = HillClimbing(steps=10, queue_size=50).build(env)
    search = strategy.observe(strategy.init(scene.transition.obs), scene.transition)
    search, _ = strategy.update(jax.random.key(1), search, scene)
    batches = draw_mini_batches(jax.random.key(2), strategy, search, scene, settings.training)
    asked = batches.rows._replace(explore=batches.rows.explore.at[:, 0].set(True))
    batches = batches._replace(rows=asked)
    planned, _ = jax.jit(lambda *these: plan(KEY, agent, *these, scene))(state, batches)

    by_hand, update, best = state, jax.jit(agent.update), jax.jit(agent.greedy)
    for i in range(4):
        batch = jax.tree.map(lambda x, i=i: x[i], batches)
        rows = []
        for j in range(4):
            asked = batch.rows
            greedy = best(by_hand, asked.states[j])
            action = asked.random_action[j] if asked.explore[j] else greedy
            reward, discount = asked.reward[j, action], asked.discount[j, action]
            next_obs = asked.next_states[j, action]
            rows.append(Transition(asked.states[j], action, reward, discount, next_obs))
        rows = jax.tree.map(lambda *x: jnp.stack(x), *rows)
        whole = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), rows, batch.replayed)
        by_hand, _ = update(KEY, by_hand, whole, None)
    for a, b in zip(jax.tree.leaves(planned), jax.tree.leaves(by_hand), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_an_empty_queue_falls_back_to_replay():
    settings, env, agent, model = parts(mixing_rate=1.0)
    never = queued(lambda key, s, scene: (jnp.zeros((1, 2)), jnp.zeros(1, bool), {}), 10)
    state = agent.init(jax.random.key(0))
    transitions = some_transitions(env, 20)
    scene = scene_of(env, agent, state, transitions)
    batches = draw_mini_batches(
        jax.random.key(2), never, never.init(transitions.obs[0]), scene, settings.training
    )
    assert not np.any(batches.simulated)
    alone = MiniBatches(batches.replayed, None, None)
    replayed, _ = plan(KEY, agent, state, alone, scene)
    fallen_back, _ = plan(KEY, agent, state, batches, scene)
    for a, b in zip(jax.tree.leaves(replayed), jax.tree.leaves(fallen_back), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    dyna = compose(env, agent, model, never, settings.training)
    before = jax.jit(dyna.init)(jax.random.key(0))
    step = jax.tree.map(lambda x: x[0], transitions)
    after, info = jax.jit(dyna.learn)(jax.random.key(1), before, step)
    assert np.isfinite(info["loss"])
    assert info["queue_size"] == 0
    assert after.agent.updates == 4


def test_without_planning_nothing_is_learned_but_everything_remembered():
    settings = Settings(
        search_control=HillClimbing(steps=5, queue_size=9), training=Training(planning_steps=0)
    )
    env, dyna = build(settings)
    before = jax.jit(dyna.init)(jax.random.key(0))
    transition = jax.tree.map(lambda x: x[0], some_transitions(env, 2))
    after, info = jax.jit(dyna.learn)(jax.random.key(1), before, transition)
    assert after.replay.total == 1
    assert after.search_control.queue.total > 0
    assert "loss" not in info
    for a, b in zip(jax.tree.leaves(before.agent), jax.tree.leaves(after.agent), strict=True):
        assert np.array_equal(a, b)


def test_warm_up_only_remembers():
    env, dyna = build(Settings(model="learned"))
    before = jax.jit(dyna.init)(jax.random.key(0))
    transition = jax.tree.map(lambda x: x[0], some_transitions(env, 2))
    after, info = jax.jit(dyna.observe)(jax.random.key(1), before, transition)
    assert after.replay.total == 1
    assert after.search_control.queue.total == 0
    assert after.search_control.statistics.moments.seen == 1
    assert after.agent.updates == 0
    assert np.isfinite(info["model_loss"])


def test_choose_picks_one_row_of_each_table():
    table = jnp.arange(24.0).reshape(2, 3, 4).at[0, 0, 0].set(jnp.nan)
    assert np.array_equal(choose(table, jnp.array([2, 1])), [table[0, 2], table[1, 1]])


def test_no_key_is_used_twice():
    settings = Settings(
        environment="GridWorld",
        model="learned",
        search_control=HillClimbing(
            steps=3, queue_size=9, noisy_start=True, skip_terminal=True, restart=True
        ),
        training=Training(planning_steps=2, batch_size=4),
    )
    env, dyna = build(settings)
    transition = jax.tree.map(lambda x: x[0], some_transitions(env, 2))
    with jax.debug_key_reuse(True):
        state = dyna.init(jax.random.key(0))
        after, _ = jax.jit(dyna.learn)(jax.random.key(1), state, transition)
    assert after.agent.updates == 2


def test_epsilon_falls_evenly_after_the_warm_up():
    training = Training(warmup=10, epsilon=0.1, epsilon_start=0.9, epsilon_steps=20)
    settings = Settings(environment=TabularGridWorld(), agent=Tabular(), training=training)
    _, dyna = build(settings)
    replay = dyna.init(KEY).replay
    after = [
        float(epsilon_now(training, replay._replace(total=jnp.int32(n)))) for n in (10, 15, 30, 99)
    ]
    np.testing.assert_allclose(after, [0.9, 0.7, 0.1, 0.1], rtol=1e-6)
    assert epsilon_now(Training(epsilon=0.3), replay) == 0.3


def test_search_and_planning_on_every_third_step_only():
    def q_after_each_step(every):
        settings = Settings(
            environment=TabularGridWorld(),
            agent=Tabular(),
            search_control="uniform",
            training=Training(warmup=0, batch_size=1, update_every=every),
        )
        env, dyna = build(settings)
        state, learn = dyna.init(KEY), jax.jit(dyna.learn)
        row = jax.tree.map(lambda x: x[0], some_transitions(env, 2))
        row, found = row._replace(reward=jnp.float32(-1.0)), []
        for number in range(6):
            state, _ = learn(jax.random.fold_in(KEY, number), state, row)
            found.append(np.asarray(state.agent))
        assert state.replay.total == 6, "every step is remembered"
        return [not np.array_equal(x, y) for x, y in itertools.pairwise(found)]

    assert q_after_each_step(1) == [True] * 5
    assert q_after_each_step(3) == [False, True, False, False, True]
