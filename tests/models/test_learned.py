"""The learned model: loss by hand, and that it learns a world with an end."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from test_learned_options import replay_with

from hcdyna import GridWorld, GridWorldContinuous, LearnedModel
from hcdyna.experiments.paper.scale import LEARNED_ENDS
from hcdyna.numerics import ring
from hcdyna.testing import some_transitions
from hcdyna.types import Transition


def real_steps(env, n):
    """Real transitions from all over the box."""
    obs_key, action_key, move_key = jax.random.split(jax.random.key(0), 3)
    obs = jax.random.uniform(obs_key, (n, 2))
    action = jax.random.randint(action_key, (n,), 0, 4)
    outcome = jax.vmap(env.dynamics)(jax.random.split(move_key, n), obs, action)
    discount = 0.99 * (1.0 - outcome.terminated)
    return Transition(obs, action, outcome.reward, discount, outcome.next_obs)


def test_it_learns_moves_rewards_and_the_end():
    env = GridWorld(wall=False, goal_reward=1.0).build()
    model = LearnedModel(learning_rate=3e-3).build(env)
    rows = real_steps(env, 4_000)
    replay = ring.init(jax.tree.map(lambda x: x[0], rows), 4_000)

    def step(so_far, row_and_key):
        row, key = row_and_key
        state, replay = so_far
        replay = ring.extend(replay, jax.tree.map(lambda x: x[None], row), jnp.ones(1, bool))
        state, info = model.update(key, state, replay)
        return (state, replay), info["model_loss"]

    start = (model.init(jax.random.key(1)), replay)
    keys = jax.random.split(jax.random.key(2), 4_000)
    (state, _), losses = jax.lax.scan(step, start, (rows, keys))
    assert np.mean(losses[-100:]) < 0.2 * np.mean(losses[:20])
    predict = jax.jit(jax.vmap(model.predict, (None, None, 0, 0)))
    outcome = predict(jax.random.key(0), state, rows.obs, rows.action)
    error = np.abs(outcome.next_obs - rows.next_obs).mean()
    still = np.abs(rows.obs - rows.next_obs).mean()
    assert error < 0.5 * still, "better than predicting that nothing moves"
    ended = np.asarray(rows.discount == 0)
    assert ended.sum() > 3
    assert np.mean(np.asarray(outcome.terminated) == ended) > 0.995
    assert np.mean(np.asarray(outcome.terminated)[ended]) > 0.5
    assert np.all((outcome.next_obs >= 0) & (outcome.next_obs <= 1)), "predictions pass through Π"


def test_with_continuous_actions_it_takes_both():
    """One answer for the pair (s, a): loss by hand, and a prediction that depends on the action."""
    env = GridWorldContinuous().build()
    model = replace(LEARNED_ENDS, hidden=(4,), batch_size=3).build(env)
    row = jax.tree.map(lambda x: x[:1], some_transitions(env, 2))
    replay = ring.extend(ring.init(jax.tree.map(lambda x: x[0], row), 1), row, jnp.ones(1, bool))
    state = model.init(jax.random.key(1))
    hidden, output = jax.tree.map(lambda x: x[0], state.params)
    assert (hidden.weights.shape, output.weights.shape) == ((4, 4), (4, 4))
    h = np.maximum(np.hstack([row.obs, row.action])[0] @ hidden.weights + hidden.bias, 0)
    out = h @ output.weights + output.bias
    moved = np.mean((out[:2] - (row.next_obs[0] - row.obs[0])) ** 2)
    entropy = np.log1p(np.exp(-out[3]))  # this row is a terminal one
    _, info = model.update(jax.random.key(2), state, replay)
    np.testing.assert_allclose(info["model_loss"], moved + (out[2] + 1) ** 2 + entropy, rtol=1e-4)
    outcome = model.predict(jax.random.key(0), state, row.obs[0], row.action[0])
    np.testing.assert_allclose(outcome.next_obs, np.clip(row.obs[0] + out[:2], 0, 1), rtol=1e-4)
    other = model.predict(jax.random.key(0), state, row.obs[0], -row.action[0])
    assert not np.allclose(outcome.reward, other.reward)


def test_its_loss_by_hand():
    env = GridWorld().build()
    model = replace(LEARNED_ENDS, hidden=(4,), batch_size=3).build(env)
    rows = real_steps(env, 1)
    replay = replay_with(rows)
    state = model.init(jax.random.key(1))
    _, info = model.update(jax.random.key(2), state, replay)
    hidden, output = jax.tree.map(lambda x: x[0], state.params)
    h = np.maximum(rows.obs[0] @ hidden.weights + hidden.bias, 0)
    out = (h @ output.weights + output.bias).reshape(4, 4)[rows.action[0]]
    moved = np.mean((out[:2] - (rows.next_obs[0] - rows.obs[0])) ** 2)
    ended = float(rows.discount[0] == 0)
    p = 1 / (1 + np.exp(-out[3]))
    entropy = -(ended * np.log(p) + (1 - ended) * np.log(1 - p))
    expected = moved + (out[2] - rows.reward[0]) ** 2 + entropy
    np.testing.assert_allclose(info["model_loss"], expected, rtol=1e-4)


def test_where_the_end_is_known_it_need_not_be_learned():
    """An untrained model moves hardly at all; the goal is the goal, and nothing else is."""
    env = GridWorld().build()
    model, plain = (
        LearnedModel(ends=ends, trust="trust").build(env) for ends in ("known", "learned")
    )
    state = model.init(jax.random.key(0))
    # No bias and no weights: s′ = s.
    state = state._replace(params=jax.tree.map(jnp.zeros_like, state.params))
    for obs, end in (([0.99, 0.99], True), ([0.2, 0.2], False)):
        outcome = model.predict(jax.random.key(1), state, jnp.array(obs), jnp.int32(0))
        assert bool(outcome.terminated) == end
        without = plain.predict(jax.random.key(1), state, jnp.array(obs), jnp.int32(0))
        np.testing.assert_array_equal(outcome.next_obs, without.next_obs)
        assert not without.terminated
