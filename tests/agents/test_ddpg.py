"""DDPG: one update by hand, noise, the surface to climb, TD3's options, a known optimum."""

from functools import partial
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna import DDPG, Evaluation, GridWorldContinuous, Settings, SettingsError, Training, train
from hcdyna.numerics.networks import Layer, mlp, standardised
from hcdyna.runs.episodes import run_episode
from hcdyna.testing import some_transitions
from probes import Bandit

ENV = GridWorldContinuous().build()
SPEC = ENV.spec
KEY = jax.random.key(7)
BATCH = some_transitions(ENV, 8)
TINY = partial(DDPG, hidden=(5,))


def at_random(agent, seed=0):
    """An initial state whose outputs are not tiny, so that everything shows."""
    state = agent.init(jax.random.key(seed))
    wider = lambda x: 0.5 * np.random.default_rng(x.size).normal(size=x.shape).astype("f")  # noqa: E731
    return state._replace(
        params=jax.tree.map(wider, state.params),
        target=jax.tree.map(lambda x: 0.7 * wider(x), state.target),
    )


def forward(layers, x):
    """Hidden units and output of a network with one hidden layer, in float64."""
    first, last = ((np.float64(layer.weights), np.float64(layer.bias)) for layer in layers)
    h = np.maximum(x @ first[0] + first[1], 0.0)
    return h, h @ last[0] + last[1]


def backward(layers, x, h, g):
    """Gradients of both layers, and of x, for the gradient g of the output."""
    inner = (g @ np.float64(layers[1].weights).T) * (h > 0)
    gradients = [x.T @ inner, inner.sum(axis=0), h.T @ g, g.sum(axis=0)]
    return gradients, inner @ np.float64(layers[0].weights).T


def by_numpy(state, batch):
    """The critic's loss and gradient, and the actor's gradient as a function of the critic."""
    obs, action, reward, discount, next_obs = (np.float64(x) for x in batch)
    next_action = np.tanh(forward(state.target.actor, next_obs)[1])
    next_q = forward(state.target.critics[0], np.hstack([next_obs, next_action]))[1][:, 0]
    goal = reward + discount * next_q
    pair = np.hstack([obs, action])
    h, q = forward(state.params.critics[0], pair)
    g = 2 * (q - goal[:, None]) / len(goal)
    critic_gradient, _ = backward(state.params.critics[0], pair, h, g)

    def actor_gradient(critic):
        h, out = forward(state.params.actor, obs)
        pair = np.hstack([obs, np.tanh(out)])
        critic_h, _ = forward(critic, pair)
        g = np.full((len(obs), 1), -1 / len(obs))
        by_action = backward(critic, pair, critic_h, g)[1][:, 2:]
        return backward(state.params.actor, obs, h, by_action * (1 - np.tanh(out) ** 2))[0]

    return np.mean((q[:, 0] - goal) ** 2), critic_gradient, actor_gradient


def adams_first_step(params, gradient, rate):
    leaves = jax.tree.leaves(params)
    return [p - rate * g / (np.abs(g) + 1e-8) for p, g in zip(leaves, gradient, strict=True)]


def assert_close(tree, expected, **options):
    for a, b in zip(jax.tree.leaves(tree), expected, strict=True):
        np.testing.assert_allclose(a, b, **({"rtol": 1e-4, "atol": 1e-6} | options))


def test_one_update_by_hand():
    agent = TINY(actor_learning_rate=0.02, critic_learning_rate=0.03, target_rate=0.1).build(SPEC)
    before = at_random(agent)
    after, info = jax.jit(agent.update)(KEY, before, BATCH, None)
    loss, critic_gradient, actor_gradient = by_numpy(before, BATCH)
    assert info["loss"] == pytest.approx(loss, rel=1e-4)
    assert_close(after.critic_optimiser.mean, [0.1 * g for g in critic_gradient])
    critic = adams_first_step(before.params.critics, critic_gradient, 0.03)
    assert_close(after.params.critics, critic, atol=1e-5)
    # The actor follows the critic that was just updated.
    gradient = actor_gradient(after.params.critics[0])
    assert_close(after.actor_optimiser.mean, [0.1 * g for g in gradient])
    assert_close(
        after.params.actor, adams_first_step(before.params.actor, gradient, 0.02), atol=1e-5
    )
    both = zip(*(jax.tree.leaves(x) for x in (before.target, after.params)), strict=True)
    assert_close(after.target, [0.9 * np.float64(old) + 0.1 * new for old, new in both])
    assert after.updates == 1
    np.testing.assert_array_equal(after.noise, before.noise)


def test_initial_networks_are_as_the_appendix_says():
    state = DDPG().build(SPEC).init(jax.random.key(0))
    shapes = [
        [layer.weights.shape for layer in net]
        for net in (*state.params.critics, state.params.actor)
    ]
    assert shapes == [[(4, 32), (32, 32), (32, 1)], [(2, 32), (32, 32), (32, 2)]]
    for network in (state.params.actor, state.params.critics[0]):
        assert np.all(np.abs(network[-1].weights) <= 0.0003)
    assert_close(state.target, jax.tree.leaves(state.params), rtol=0, atol=0)


def test_noise_process():
    """n ← 0.85n + N(0, 0.2²): its long-run deviation is 0.2/√(1 − 0.85²) = 0.3797."""
    agent = TINY().build(SPEC)

    @jax.jit
    def walk(key):
        def step(state, key):
            state = agent.advance(key, state)
            return state, state.noise

        return jax.lax.scan(step, agent.init(key), jax.random.split(key, 40_000))[1]

    noise = np.asarray(walk(jax.random.key(0)))
    # Samples are worth (1 − 0.85)/(1 + 0.85) of independent ones: 3200 of them.
    np.testing.assert_allclose(noise.mean(axis=0), 0, atol=5 * 0.38 / np.sqrt(3_200))
    np.testing.assert_allclose(noise.std(axis=0), 0.2 / np.sqrt(1 - 0.85**2), rtol=0.06)
    new = noise[1:] - 0.85 * noise[:-1]
    np.testing.assert_allclose(new.std(axis=0), 0.2, rtol=0.02)
    for variable in new.T:
        assert abs(np.corrcoef(variable[1:], variable[:-1])[0, 1]) < 5 / np.sqrt(40_000)
    assert abs(np.corrcoef(noise.T)[0, 1]) < 5 / np.sqrt(3_200)


def test_behaviour_adds_the_noise_and_clips():
    agent = TINY().build(SPEC)
    state = at_random(agent)._replace(noise=jnp.array([0.3, -5.0]))
    obs = jnp.array([0.3, 0.6])
    greedy = np.asarray(agent.greedy(state, obs))
    assert (np.abs(greedy) < 0.7).all()
    act = partial(agent.act, jax.random.key(0), state, obs)
    np.testing.assert_allclose(act(0.1), [greedy[0] + 0.3, -1.0], rtol=1e-6)
    np.testing.assert_array_equal(act(0.0), greedy)
    explored = agent.explore(state, obs, jnp.array([1.0, -9.0]))
    np.testing.assert_allclose(explored, [min(greedy[0] + 0.37966, 1.0), -1.0], rtol=1e-4)


def test_evaluation_is_deterministic():
    env = GridWorldContinuous(wall=False, time_limit=5).build()
    env = env._replace(reset=lambda key: jnp.full(2, 0.5), terminal=lambda obs: False)
    env = env._replace(
        dynamics=lambda key, obs, action: ENV.dynamics(key, obs, action)._replace(
            reward=jnp.sum(action)
        )
    )
    agent = TINY().build(env.spec)
    quiet = at_random(agent)
    run = jax.jit(lambda key, state: run_episode(key, env, agent, state, 0.5))
    first, _ = run(jax.random.key(0), quiet)
    other, _ = run(jax.random.key(1), quiet._replace(noise=jnp.ones(2)))
    assert first == other


def test_the_climb_follows_the_critic_with_the_action_held_fixed():
    obs = jnp.array([0.3, 0.6])
    fixed, through = (TINY(through_actor=option).build(SPEC) for option in (False, True))
    state = at_random(fixed)
    assert fixed.value(state, obs) == pytest.approx(through.value(state, obs))
    pair = np.hstack([obs, fixed.greedy(state, obs)])[None]
    h, q = forward(state.params.critics[0], pair)
    assert fixed.value(state, obs) == pytest.approx(q[0, 0], rel=1e-5)
    by_pair = backward(state.params.critics[0], pair, h, np.ones((1, 1)))[1][0]
    np.testing.assert_allclose(jax.grad(fixed.value, 1)(state, obs), by_pair[:2], rtol=1e-4)
    jacobian = np.asarray(jax.jacobian(fixed.greedy, 1)(state, obs))
    whole = by_pair[:2] + by_pair[2:] @ jacobian
    np.testing.assert_allclose(jax.grad(through.value, 1)(state, obs), whole, rtol=1e-4)
    assert not np.allclose(whole, by_pair[:2], rtol=1e-2)


def test_twin_critics_bootstrap_from_the_lower_one():
    agent = TINY(twin_critics=True).build(SPEC)
    state = at_random(agent)
    obs, _, reward, discount, next_obs = (np.float64(x) for x in BATCH)
    next_pair = np.hstack([next_obs, np.tanh(forward(state.target.actor, next_obs)[1])])
    hidden, last = state.target.critics[0]
    middle = np.median(forward((hidden, last), next_pair)[1])
    mirrored = (hidden, Layer(-last.weights, np.float32(2 * middle - last.bias)))
    twins = ((hidden, last), mirrored)
    state = state._replace(target=state.target._replace(critics=twins))
    next_q = [forward(critic, next_pair)[1][:, 0] for critic in twins]
    assert np.unique(np.argmin(next_q, axis=0)).tolist() == [0, 1]
    goal = reward + discount * np.min(next_q, axis=0)
    pair = np.hstack([obs, np.float64(BATCH.action)])
    q = [forward(c, pair)[1][:, 0] for c in state.params.critics]
    after, info = jax.jit(agent.update)(KEY, state, BATCH, None)
    assert info["loss"] == pytest.approx(sum(np.mean((x - goal) ** 2) for x in q), rel=1e-4)
    assert agent.value(state, BATCH.obs[0]) == pytest.approx(
        TINY().build(SPEC).value(state, BATCH.obs[0])
    )
    first, second = agent.init(jax.random.key(0)).params.critics
    assert not np.array_equal(first[0].weights, second[0].weights)
    for before, now in zip(state.params.critics, after.params.critics, strict=True):
        assert not np.array_equal(before[0].weights, now[0].weights), "both learn"


def test_a_delayed_actor_moves_with_its_targets():
    agent = TINY(actor_delay=3).build(SPEC)
    update = jax.jit(agent.update)
    states = [at_random(agent)]
    for _ in range(6):
        states.append(update(KEY, states[-1], BATCH, None)[0])

    def moved(part):
        trees = [jax.tree.leaves(part(state)) for state in states]
        return [
            any(not np.array_equal(a, b) for a, b in zip(*pair, strict=True))
            for pair in pairwise(trees)
        ]

    third = [False, False, True, False, False, True]
    assert moved(lambda state: state.params.actor) == third
    assert moved(lambda state: state.actor_optimiser) == third
    assert moved(lambda state: state.target) == third
    assert moved(lambda state: state.params.critics) == [True] * 6


def test_target_smoothing_adds_clipped_noise_that_changes_with_every_update():
    plain, off, small, large = (
        jax.jit(TINY(**options).build(SPEC).update)
        for options in (
            {},
            {"target_smoothing": True, "smoothing_scale": 0.0},
            {"target_smoothing": True, "smoothing_scale": 50.0, "smoothing_clip": 1e-6},
            {"target_smoothing": True, "smoothing_scale": 0.5},
        )
    )
    state = at_random(TINY().build(SPEC))
    loss = plain(KEY, state, BATCH, None)[1]["loss"]
    assert off(KEY, state, BATCH, None)[1]["loss"] == pytest.approx(float(loss), rel=1e-6)
    assert small(KEY, state, BATCH, None)[1]["loss"] == pytest.approx(float(loss), rel=1e-4)
    keys = [KEY, jax.random.key(8), jax.random.key(9)]
    losses = [float(large(key, state, BATCH, None)[1]["loss"]) for key in keys]
    assert len({*losses, float(loss)}) == 4
    assert losses[0] == float(large(KEY, state, BATCH, None)[1]["loss"])


def test_it_needs_continuous_actions_and_states():
    for environment in ("GridWorld", "TabularGridWorld"):
        spec = Settings(environment=environment).environment.build().spec
        with pytest.raises(SettingsError, match="agent = ddpg"):
            DDPG().build(spec)


@pytest.mark.parametrize(
    "options",
    [{}, {"twin_critics": True, "actor_delay": 2, "target_smoothing": True}],
    ids=["DDPG", "TD3"],
)
def test_a_bandit_with_known_optimum(options):
    """One step, reward −‖a − a*‖²: π(s) = a*, V = 0. Half of each batch is simulated."""
    settings = Settings(
        environment=Bandit(),
        agent=DDPG(
            activation="tanh", actor_learning_rate=1e-3, critic_learning_rate=3e-3, **options
        ),
        search_control="uniform",
        training=Training(steps=3_000, warmup=200, planning_steps=2, replay_size=1_000),
        evaluation=Evaluation(every=3_000),
    )
    run = train(settings, seeds=2)
    agent = settings.agent.build(Bandit().build().spec)
    for seed in (0, 1):
        state = run.state(seed).agent
        np.testing.assert_allclose(agent.greedy(state, jnp.zeros(1)), Bandit.best, atol=0.1)
        assert agent.value(state, jnp.zeros(1)) == pytest.approx(0, abs=0.1)
    assert (run.returns[..., -1, :] > -0.02).all()


def test_of_several_critics_a_random_two_are_asked():
    agent = TINY(twin_critics=True, critics=5).build(SPEC)
    state = at_random(agent)
    changed = [
        jax.tree.map(lambda x, i=i: x + 0.1 * i, c) for i, c in enumerate(state.target.critics)
    ]
    state = state._replace(target=state.target._replace(critics=tuple(changed)))
    next_action = np.tanh(forward(state.target.actor, np.float64(BATCH.next_obs))[1])
    pair = np.hstack([BATCH.next_obs, next_action])
    next_q = np.array([forward(critic, pair)[1][:, 0] for critic in changed])
    chosen = forward(state.params.critics[0], np.hstack([BATCH.obs, BATCH.action]))[1][:, 0]
    update = jax.jit(agent.update)
    pairs = set()
    for number in range(20):
        _, info = update(jax.random.key(number), state, BATCH, None)
        worth = np.asarray(info["td_error"]) + chosen - BATCH.reward
        fits = [
            (i, j)
            for i in range(5)
            for j in range(i)
            if np.allclose(BATCH.discount * np.minimum(next_q[i], next_q[j]), worth, atol=1e-3)
        ]
        assert fits, "the lower of two, in every row"
        pairs |= set(fits)
    assert len(pairs) > 3


def test_layer_norm_by_hand():
    network, plain = mlp((3, 6, 2), layer_norm=True), mlp((3, 6, 2))
    params, obs = network.init(KEY), jnp.array([[0.3, -0.8, 1.0], [2.0, 0.0, 0.1]])
    inside = np.float64(obs @ params[0].weights + params[0].bias)
    away = inside - inside.mean(axis=1, keepdims=True)
    units = np.maximum(away / np.sqrt((away**2).mean(axis=1, keepdims=True) + 1e-5), 0)
    expected = units @ np.float64(params[1].weights) + params[1].bias
    np.testing.assert_allclose(network.on_batch(params, obs), expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(network.apply(params, obs[0]), expected[0], rtol=1e-4, atol=1e-6)
    assert not np.allclose(plain.on_batch(params, obs), expected)


def test_layer_norm_rounds_alone_as_in_a_batch():
    network = mlp((4, 64, 64, 1), layer_norm=True)
    params = jax.vmap(network.init)(jax.random.split(KEY, 3))
    x = jax.random.normal(KEY, (3, 64))

    def both(x, factor):
        y, back = jax.vjp(standardised, x)
        return y, back(factor)[0]

    many = jax.jit(jax.vmap(both))(x, x[::-1])
    one = jax.jit(both)(x[0], x[2])
    jax.tree.map(lambda a, b: np.testing.assert_array_equal(a[0], b), many, one)
    # The gradient of a gradient, which some strategies climb.
    hessian = jax.hessian(lambda obs: network.apply(jax.tree.map(lambda p: p[0], params), obs)[0])
    assert np.all(np.isfinite(hessian(x[0, :4])))


def test_only_critics_have_layer_norm():
    state = DDPG(layer_norm=True).build(SPEC).init(KEY)
    plain, normed = DDPG().build(SPEC), DDPG(layer_norm=True).build(SPEC)
    obs = BATCH.obs[0]
    np.testing.assert_array_equal(plain.greedy(state, obs), normed.greedy(state, obs))
    assert plain.value(at_random(plain), obs) != normed.value(at_random(plain), obs)
