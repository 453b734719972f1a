"""Several networks, and several updates of each."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from test_learned_options import ALONE, ENV, KEY, answers, replay_with

from hcdyna.experiments.paper.scale import LEARNED_ENDS
from hcdyna.models.ensemble import RARE_KEPT, ensemble
from hcdyna.numerics import adam
from hcdyna.testing import some_replay, some_states, some_transitions


def only(state, member):
    """One of the members."""
    return state._replace(params=jax.tree.map(lambda x: x[member : member + 1], state.params))


def test_members_answer_together_or_one_at_random():
    mean = ensemble(ENV, replace(ALONE, members=3))
    member = ensemble(ENV, replace(ALONE, members=3, answer="member"))
    single = ensemble(ENV, ALONE)
    state, _ = jax.jit(mean.update)(KEY, mean.init(KEY), some_replay(ENV))
    obs, action = jnp.array([0.4, 0.6]), jnp.int32(2)
    predict = jax.jit(single.predict)
    moves = np.array([predict(KEY, only(state, i), obs, action).next_obs for i in range(3)])
    together = jax.jit(mean.predict)(KEY, state, obs, action)
    np.testing.assert_allclose(together.next_obs, moves.mean(axis=0), rtol=1e-5)
    predict = jax.jit(jax.vmap(member.predict, (0, None, None, None)))
    said = np.asarray(predict(jax.random.split(KEY, 60), state, obs, action).next_obs)
    chosen = np.argmin(np.abs(said[:, None] - moves).sum(axis=-1), axis=1)
    np.testing.assert_allclose(said, moves[chosen], rtol=1e-5)
    assert set(chosen.tolist()) == {0, 1, 2}


def test_members_differ_by_where_they_began_and_by_their_rows():
    model = ensemble(ENV, replace(ALONE, members=3))
    start = model.init(KEY)
    equal = jax.tree.map(lambda x: jnp.broadcast_to(x[:1], x.shape), start.params)
    same = start._replace(params=equal, optimiser=adam.init(equal))
    update = jax.jit(model.update)
    states, actions = some_states(ENV, 20), jnp.arange(20) % 4

    def spreads(state):
        return jax.vmap(model.spread, (None, 0, 0))(state, states, actions)

    assert np.all(spreads(start) > 0)
    np.testing.assert_array_equal(spreads(same), 0)
    many = update(KEY, same, some_replay(ENV))[0]
    assert np.all(spreads(many) >= 0)
    assert np.max(spreads(many)) > 0, "each has learned from rows of its own"
    one = update(KEY, same, replay_with(jax.tree.map(lambda x: x[:1], some_transitions(ENV, 2))))[0]
    np.testing.assert_array_equal(spreads(one), 0)


def test_spread_by_hand():
    """The root of the mean variance of the differences, in units of the real ones."""
    model = ensemble(ENV, replace(ALONE, members=3))
    state = model.init(KEY)
    obs = np.array([0.4, 0.6])
    said = [answers(jax.tree.map(lambda x, i=i: x[i], state.params), obs)[2, :2] for i in range(3)]
    expected = np.sqrt(np.mean(np.var(said, axis=0)))
    np.testing.assert_allclose(model.spread(state, obs, jnp.int32(2)), expected, rtol=1e-5)


def test_three_updates_are_three_times_one():
    settings = replace(LEARNED_ENDS, hidden=(4,), batch_size=3)
    many, one = (ensemble(ENV, replace(settings, updates=n)) for n in (3, 1))
    replay, start = some_replay(ENV), one.init(jax.random.key(1))
    after, info = jax.jit(many.update)(KEY, start, replay)
    by_hand, update = start, jax.jit(one.update)
    for key in jax.random.split(KEY, 3):
        by_hand, last = update(key, by_hand, replay)
    for x, y in zip(jax.tree.leaves(after), jax.tree.leaves(by_hand), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(info["model_loss"], last["model_loss"], rtol=1e-5)


def test_many_updates_of_a_step_take_it_in_once():
    model = ensemble(ENV, replace(ALONE, updates=3))
    row = jax.tree.map(lambda x: x[:1], some_transitions(ENV, 2))
    state, _ = jax.jit(model.update)(KEY, model.init(KEY), replay_with(row))
    assert (int(state.scales.seen), int(state.rare.total)) == (1, 1)
    assert state.rare.capacity == RARE_KEPT
