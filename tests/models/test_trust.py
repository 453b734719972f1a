"""What planning makes of outcomes that the model does not know."""

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna import DDPG, DQN, GridWorld, GridWorldContinuous, LearnedModel, Training, TrueModel
from hcdyna.dyna import compose
from hcdyna.models.optimism import Hope
from hcdyna.models.trust import Doubt, with_trust
from hcdyna.planning import complete, draw_mini_batches
from hcdyna.planning.budget import budget_of
from hcdyna.search_control.base import drawn
from hcdyna.search_control.replay import Replay
from hcdyna.search_control.uniform import Uniform
from hcdyna.testing import some_replay, some_transitions
from hcdyna.types import Model, Scene

KEY = jax.random.key(5)
TRAINING = Training(planning_steps=3, batch_size=16, mixing_rate=0.75)
M, BEST = 12, 2.5
KINDS = {
    "discrete": (GridWorld(), DQN(hidden=(6,))),
    "continuous": (GridWorldContinuous(), DDPG(hidden=(6,))),
}
UPPER_HALF = Doubt(
    lambda: jnp.zeros(()),
    lambda key, doubt, state, replay: doubt + 1,
    lambda doubt, state, obs, action, outcome: outcome.next_obs[1] > 0.5,
    lambda doubt, state, step: step.next_obs[1] > 0.5,
)
"""The true model, as far as y = 0.5."""


def parts(kind, trust, until_told=3):
    environment, agent = KINDS[kind]
    env = environment.build()
    model = TrueModel().build(env)
    if trust != "trust":
        model = with_trust(model, UPPER_HALF, trust, until_told, 2)
    return env, agent.build(env.spec), model


def scene_of(env, model, ends=0):
    state = model.init(KEY)
    if model.instead is not None:
        hope = Hope(jnp.float32(-1), jnp.float32(BEST), told=jnp.int32(ends), vain=jnp.int32(0))
        state = state._replace(hope=hope)
    replay = some_replay(env)
    replay = replay._replace(data=replay.data._replace(reward=jnp.full(32, -7.0)))  # tells replay
    return Scene(
        env=env,
        value=None,
        predict=lambda key, obs, action: model.predict(key, state, obs, action),
        replay=replay,
        transition=None,
        doubt=None if model.doubt is None else partial(model.doubt, state),
        instead=None if model.instead is None else partial(model.instead, state),
    )


@cache
def planned(kind, trust, ends=0):
    """A mini-batch, its rows [16, …], and what [12] is doubtful of them when the model is asked."""
    env, agent, model = parts(kind, trust)
    scene = scene_of(env, model, ends)

    @jax.jit
    def draw():
        budget = budget_of(TRAINING)
        batches = draw_mini_batches(KEY, Uniform().build(env), (), scene, budget, 0.5)
        first = jax.tree.map(lambda x: x[0], batches)
        rows, _, doubtful = complete(agent, agent.init(KEY), first, scene)
        return first, rows, doubtful

    return draw()


def simulated(rows):
    return jax.tree.map(lambda x: np.asarray(x[:M]), rows)


@pytest.mark.parametrize("kind", KINDS)
def test_optimism_takes_what_it_does_not_know_for_an_end_of_the_best_return(kind):
    batch, rows, asked = planned(kind, "optimistic")
    _, bare, nothing = planned(kind, "trust")
    assert nothing is None
    assert batch.simulated is None, "no row has to give way"
    ours, true = simulated(rows), simulated(bare)
    for name in ("obs", "action", "next_obs"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(true, name))
    new = true.next_obs[:, 1] > 0.5
    ended = true.discount == 0
    doubtful = new & ~ended
    assert 0 < doubtful.sum() < M
    np.testing.assert_array_equal(ours.discount, np.where(doubtful, 0, true.discount))
    np.testing.assert_array_equal(ours.reward, np.where(doubtful, BEST, true.reward))
    jax.tree.map(lambda x, y: np.testing.assert_array_equal(x[M:], y[M:]), rows, bare)
    if kind == "continuous":
        np.testing.assert_array_equal(asked, doubtful)
    else:
        unknown = (batch.rows.next_states[:, :, 1] > 0.5) & (batch.rows.reward == BEST)
        np.testing.assert_allclose(batch.doubtful, np.mean(unknown, axis=1))


@pytest.mark.parametrize("kind", KINDS)
def test_replayed_rows_stand_in_for_what_it_does_not_know(kind):
    batch, rows, asked = planned(kind, "replay")
    _, bare, _ = planned(kind, "trust")
    ours, true = simulated(rows), simulated(bare)
    assert len(batch.replayed.reward) == 16
    if kind == "continuous":
        doubtful = np.asarray(asked)
        np.testing.assert_array_equal(doubtful, true.next_obs[:, 1] > 0.5)
    else:
        # A row is replaced if any of its actions leads beyond, since the greedy one may be that.
        unknown = batch.rows.next_states[:, :, 1] > 0.5
        doubtful = np.any(unknown, axis=1)
        np.testing.assert_allclose(batch.doubtful, np.mean(unknown, axis=1))
        np.testing.assert_array_equal(batch.simulated, ~doubtful)
    assert 0 < doubtful.sum() < M
    np.testing.assert_array_equal(ours.reward == -7.0, doubtful)
    for mine, model, replayed in zip(ours, true, batch.replayed, strict=True):
        pick = doubtful.reshape(-1, *[1] * (mine.ndim - 1))
        np.testing.assert_array_equal(mine, np.where(pick, replayed[:M], model))
    for mine, replayed in zip(rows, batch.replayed, strict=True):
        np.testing.assert_array_equal(mine[M:], replayed[M:])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("ends", "over"), [(2, False), (3, True)])
def test_optimism_is_over_after_so_many_ends(kind, ends, over):
    _, rows, _ = planned(kind, "optimistic", ends=ends)
    assert (not np.any(simulated(rows).reward == BEST)) == over


def test_an_end_that_is_predicted_stays():
    """Of a step up to the goal, which lies in the upper half."""
    env, _, model = parts("discrete", "optimistic")
    scene = scene_of(env, model)
    for place, ended in (([0.97, 0.97], True), ([0.2, 0.8], False)):
        outcome = scene.predict(KEY, jnp.array(place), jnp.int32(0))
        assert bool(outcome.terminated) == ended
        assert bool(scene.doubt(jnp.array(place), jnp.int32(0), outcome)) == (not ended)


@pytest.mark.parametrize("trust", ["optimistic", "replay"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_time_step_learns_and_tells_the_share_that_was_doubtful(kind, trust):
    env, agent, model = parts(kind, trust)
    high = drawn(lambda key, scene, n: jnp.full((n, 2), jnp.array([0.2, 0.8])))
    dyna = compose(env, agent, model, high, TRAINING)
    step, state, rows = jax.jit(dyna.learn), jax.jit(dyna.init)(KEY), some_transitions(env, 2)
    for i in (1, 0):  # the second one is an end
        state, info = step(KEY, state, jax.tree.map(lambda x, i=i: x[i], rows))
    assert info["doubtful"] == 1
    assert state.model.doubt == 2
    if trust == "optimistic":
        assert (state.model.hope.told, state.model.hope.best) == (1, -1)
    else:
        assert state.model.hope == ()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("rewards", "same"), [((0, 0, 0), True), ((0, 1, 0), False)])
def test_planning_is_replay_while_steps_are_free_and_nothing_was_told(kind, rewards, same):
    env, agent, model = parts(kind, "optimistic")
    row = jax.tree.map(lambda x: x[1], some_transitions(env, 2))  # not an end

    def learned(strategy):
        dyna = compose(env, agent, model, strategy, TRAINING)
        state, info = jax.jit(dyna.init)(KEY), {}
        for i, reward in enumerate(rewards):
            step = jax.jit(dyna.learn if i else dyna.observe)
            state, info = step(KEY, state, row._replace(reward=jnp.float32(reward)))
        return jax.tree.leaves(state.agent), info

    (ours, info), (replayed, _) = learned(Uniform().build(env)), learned(Replay().build(env))
    assert (info["doubtful"] == 1) == same
    equal = [np.array_equal(x, y) for x, y in zip(ours, replayed, strict=True)]
    assert all(equal) == same


@pytest.mark.parametrize("kind", KINDS)
def test_trust_costs_nothing(kind):
    """The program of a time step is that of a model without any doubt."""
    environment, agent = KINDS[kind]
    env = environment.build()
    row = jax.tree.map(lambda x: x[0], some_transitions(env, 2))

    def program(model):
        dyna = compose(env, agent.build(env.spec), model, Uniform().build(env), TRAINING)
        state = jax.eval_shape(dyna.init, KEY)
        return jax.tree.map(jnp.shape, state.model), str(
            jax.make_jaxpr(dyna.learn)(KEY, state, row)
        )

    trusting = LearnedModel(hidden=(4,), trust="trust").build(env)
    bare = program(Model(trusting.init, trusting.predict, trusting.update))
    assert program(trusting) == bare
    assert program(LearnedModel(hidden=(4,)).build(env))[1] != bare[1]
