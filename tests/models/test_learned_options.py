"""The learned model's options, one by one: scales, ends as printed or balanced, what is known."""

from dataclasses import replace

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from hcdyna import GridWorld, GridWorldContinuous, LearnedModel, MountainCar, SettingsError
from hcdyna.experiments.paper.scale import LEARNED_ENDS
from hcdyna.gymnasium.theirs.environment import Hosted
from hcdyna.numerics import adam, ring
from hcdyna.numerics.devices import compiler_options
from hcdyna.numerics.networks import mlp
from hcdyna.testing import check_model, some_actions, some_replay, some_transitions
from hcdyna.types import Transition

KEY = jax.random.key(3)
ENV = GridWorld().build()
AS_IN_TRAINING = compiler_options()
ALONE = LearnedModel(hidden=(4,), batch_size=3, ends="learned", trust="trust")


def replay_with(rows):
    n = len(rows.reward)
    empty = ring.init(jax.tree.map(lambda x: x[0], rows), n)
    return ring.extend(empty, rows, jnp.ones(n, bool))


def lived_through(model, rows):
    """The model after it has seen rows [n, …], one by one, with an update each; and its losses."""

    @jax.jit
    def run(rows):
        def step(carry, given):
            key, row = given
            state, replay = carry
            replay = ring.extend(replay, jax.tree.map(lambda x: x[None], row), jnp.ones(1, bool))
            state, info = model.update(key, state, replay)
            return (state, replay), info["model_loss"]

        n = len(rows.reward)
        start = model.init(jax.random.key(1)), ring.init(jax.tree.map(lambda x: x[0], rows), n)
        (state, _), losses = jax.lax.scan(step, start, (jax.random.split(KEY, n), rows))
        return state, losses

    return run(rows)


def answers(params, obs):
    """Of a perceptron with one hidden layer, for every action [4, d + 2]."""
    hidden, output = params
    h = np.maximum(np.asarray(obs) @ hidden.weights + hidden.bias, 0)
    return (h @ output.weights + output.bias).reshape(4, 4)


@pytest.mark.parametrize("ended", [False, True])
def test_its_normalised_loss_by_hand(ended):
    """The only row is its own mean, so that the network is asked for zero at zero."""
    model = ALONE.build(ENV)
    row = jax.tree.map(lambda x: x[1:2], some_transitions(ENV, 2))
    row = row._replace(discount=jnp.full(1, 0.0 if ended else 0.99))
    start = model.init(jax.random.key(1))
    state, info = jax.jit(model.update)(KEY, start, replay_with(row))
    assert int(state.rare.total) == ended
    out = answers(jax.tree.map(lambda x: x[0], start.params), np.zeros(2))[row.action[0]]
    entropy = np.log1p(np.exp(-out[3] if ended else out[3]))
    expected = np.mean(out[:2] ** 2) + out[2] ** 2 + entropy
    np.testing.assert_allclose(info["model_loss"], expected, rtol=1e-5)


def test_an_end_of_long_ago_counts_as_much_as_all_other_steps():
    """The replay buffer has forgotten it. Scales by hand, too."""
    model = ALONE.build(ENV)
    rows = some_transitions(ENV, 2)  # the first one is an end
    first, last = (jax.tree.map(lambda x, i=i: x[i : i + 1], rows) for i in (0, 1))
    update = jax.jit(model.update)
    state, _ = update(KEY, model.init(jax.random.key(1)), replay_with(first))
    after, info = update(KEY, state, replay_with(last))
    assert int(after.rare.total) == 1
    seen = np.column_stack([rows.obs, rows.next_obs - rows.obs, rows.reward])
    mean, deviation = seen.mean(0), np.where(seen.std(0) > 0, seen.std(0), 1.0)
    normal = (seen - mean) / deviation
    params = jax.tree.map(lambda x: x[0], state.params)
    end, now = (answers(params, normal[i, :2])[rows.action[i]] for i in (0, 1))
    entropy = np.log1p(np.exp(now[3])) + np.log1p(np.exp(-end[3]))
    reward = (now[2] - normal[1, 4]) ** 2 + (end[2] - normal[0, 4]) ** 2
    expected = np.mean((now[:2] - normal[1, 2:4]) ** 2) + 0.5 * (reward + entropy)
    np.testing.assert_allclose(info["model_loss"], expected, rtol=1e-4)
    outcome = model.predict(KEY, after, rows.obs[0], rows.action[0])
    said = answers(jax.tree.map(lambda x: x[0], after.params), normal[0, :2])[rows.action[0]]
    moved = said[:2] * deviation[2:4] + mean[2:4]
    np.testing.assert_allclose(outcome.next_obs, np.clip(rows.obs[0] + moved, 0, 1), rtol=1e-4)
    assert float(outcome.reward) == -1, "all steps have paid the same"
    assert bool(outcome.terminated) == (said[3] > 0)


@pytest.mark.parametrize("environment", [GridWorld(), GridWorldContinuous()])
def test_as_printed_it_is_the_plain_model_bit_for_bit(environment):
    """Adam on the raw numbers, one network, ends as they come."""
    env = environment.build()
    settings = replace(LEARNED_ENDS, hidden=(8, 8), batch_size=16)
    assert settings.learning_rate == 1e-4
    model, replay = settings.build(env), some_replay(env)
    keys = jax.random.split(KEY, 20)
    discrete = env.spec.num_actions is not None
    network = mlp((2, 8, 8, 16) if discrete else (4, 8, 8, 4), "relu")

    def loss(params, batch):
        asked = batch.obs if discrete else jnp.concatenate([batch.obs, batch.action], axis=-1)
        out = network.on_batch(params, asked)
        if discrete:
            chosen = jax.nn.one_hot(batch.action, 4)
            out = jax.vmap(jnp.matmul)(chosen, out.reshape(-1, 4, 4))
        moved = jnp.mean(jnp.square(out[:, :2] - (batch.next_obs - batch.obs)))
        reward = jnp.mean(jnp.square(out[:, 2] - batch.reward))
        ended = (batch.discount == 0.0).astype(jnp.float32)
        return moved + reward + jnp.mean(optax.sigmoid_binary_cross_entropy(out[:, 3], ended))

    def plain(carry, key):
        params, moments = carry
        gradient = jax.grad(loss)(params, ring.sample(key, replay, 16))
        return adam.update(gradient, moments, params, 1e-4), None

    def scanned(step, start):
        scan = jax.jit(lambda x: jax.lax.scan(step, x, keys)[0], compiler_options=AS_IN_TRAINING)
        return scan(start)

    params = network.init(jax.random.key(1))
    params, _ = scanned(plain, (params, adam.init(params)))
    start = model.init(jax.random.key(1))
    state = scanned(lambda state, key: (model.update(key, state, replay)[0], None), start)
    for ours, theirs in zip(jax.tree.leaves(state.params), jax.tree.leaves(params), strict=True):
        np.testing.assert_array_equal(ours[0], theirs)


OPTIONS = {
    "members": LearnedModel(hidden=(8,), members=3, doubt="spread", updates=2, answer="member"),
    "as printed": replace(LEARNED_ENDS, hidden=(8,)),
}


@pytest.mark.slow
@pytest.mark.parametrize("settings", OPTIONS.values(), ids=OPTIONS)
def test_the_contract_holds_with_every_option(settings):
    check_model(settings, ENV)


@pytest.mark.parametrize("settings", OPTIONS.values(), ids=OPTIONS)
def test_no_key_is_used_twice(settings):
    model, replay = settings.build(ENV), some_replay(ENV)
    with jax.debug_key_reuse(True):
        state = model.init(jax.random.key(0))
        jax.jit(model.update)(jax.random.key(1), state, replay)
        jax.jit(model.predict)(jax.random.key(2), state, jnp.zeros(2), jnp.int32(0))


@pytest.mark.parametrize("ends", ["auto", "known"])
def test_the_environment_knows_its_ends(ends):
    model = replace(ALONE, ends=ends).build(ENV)
    state = model.init(KEY)
    state = state._replace(params=jax.tree.map(jnp.zeros_like, state.params))  # so that s′ = s
    ended = jax.vmap(lambda obs: model.predict(KEY, state, obs, jnp.int32(0)).terminated)
    assert ended(jnp.array([[0.99, 0.99], [0.2, 0.2]])).tolist() == [True, False]


def test_functions_of_ones_own_come_before_what_the_environment_knows():
    known = replace(
        ALONE,
        ends="known",
        reward=lambda obs, action, next_obs: 10 * obs[0] + action,
        terminated=lambda obs, action, next_obs: next_obs[0] < 0.5,
    ).build(ENV)
    state = known.init(KEY)
    state = state._replace(params=jax.tree.map(jnp.zeros_like, state.params))
    for place, end in ((0.99, False), (0.2, True)):
        outcome = known.predict(KEY, state, jnp.full(2, place), jnp.int32(3))
        assert bool(outcome.terminated) == end
        np.testing.assert_allclose(outcome.reward, 10 * place + 3, rtol=1e-6)


def test_unknown_ends_are_learned_or_refused_in_one_line(monkeypatch):
    spec = gymnasium.registry["CartPole-v1"]
    anew = replace(spec, id="Anew-v0", kwargs={"sutton_barto_reward": True})
    monkeypatch.setitem(gymnasium.registry, "Anew-v0", anew)
    env = Hosted("Anew-v0").build()
    assert LearnedModel(ends="auto").known_end(env) is None
    with pytest.raises(SettingsError, match=r"ends = 'known': Anew-v0 does not tell") as refusal:
        LearnedModel(ends="known").build(env)
    assert "\n" not in str(refusal.value)
    known = LearnedModel(ends="known", terminated=lambda obs, action, next_obs: True)
    assert known.known_end(env) is known.terminated


def test_disagreement_needs_two():
    with pytest.raises(SettingsError, match=r"LearnedModel.members = 1: must be at least 2"):
        LearnedModel(doubt="spread")
    assert LearnedModel(doubt="spread", trust="trust").members == 1


def test_small_velocities_are_learned_within_a_few_hundred_steps():
    """MountainCar's velocity changes by a thousandth, its position by a hundred times that."""
    env = MountainCar().build()

    def step(obs, key):
        action = jax.random.randint(key, (), 0, 3)
        outcome = env.dynamics(key, obs, action)
        discount = env.spec.discounts(outcome.terminated)
        row = Transition(obs, action, outcome.reward, discount, outcome.next_obs)
        return outcome.next_obs, row

    walk = jax.jit(lambda obs, keys: jax.lax.scan(step, obs, keys)[1])
    rows = walk(env.reset(KEY), jax.random.split(KEY, 800))
    state, _ = lived_through(model := LearnedModel(trust="trust").build(env), rows)
    predict = jax.jit(jax.vmap(model.predict, (None, None, 0, 0)))
    found = predict(KEY, state, rows.obs, rows.action)
    off = np.sqrt(np.mean((found.next_obs - rows.next_obs)[:, 1] ** 2))
    assert off < 0.2 * np.sqrt(np.mean((rows.next_obs - rows.obs)[:, 1] ** 2))


@pytest.mark.parametrize("normalise", [True, False])
def test_one_end_in_a_thousand_steps_is_learned_if_it_is_balanced(normalise):
    env = GridWorld(wall=False).build()
    obs = jax.random.uniform(KEY, (1_000, 2), maxval=0.8).at[300].set(0.92)
    actions = some_actions(env.spec, 1_000).at[300].set(3)
    outcome = jax.vmap(env.dynamics)(jax.random.split(KEY, 1_000), obs, actions)
    ended = jnp.arange(1_000) == 300
    rows = Transition(obs, actions, outcome.reward, 0.99 * ~ended, outcome.next_obs)
    settings = LearnedModel(ends="learned", trust="trust", normalise=normalise)
    state, losses = lived_through(model := settings.build(env), rows)
    predict = jax.jit(jax.vmap(model.predict, (None, None, 0, 0)))
    found = np.asarray(predict(KEY, state, obs, actions).terminated)
    assert found[300] == normalise
    assert found.sum() < 20
    assert np.isfinite(losses).all()
