"""The C++ kernels do what the plain functions do, and give the same bits in any company."""

import resource
from dataclasses import replace
from functools import partial
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna import (
    DQN,
    Acrobot,
    CartPole,
    Evaluation,
    GridWorld,
    HillClimbing,
    LearnedModel,
    Settings,
    Training,
    train,
)
from hcdyna.agents.dqn import DQNState
from hcdyna.kernels.accelerate import after
from hcdyna.kernels.cpu import build, climb
from hcdyna.kernels.cpu import plan as kernel_plan
from hcdyna.kernels.cpu.fit import fit_for
from hcdyna.kernels.cpu.threefry import quick, usual
from hcdyna.numerics import adam, ring
from hcdyna.numerics.networks import Layer
from hcdyna.planning import MiniBatches, plan
from hcdyna.planning.discrete import Asked
from hcdyna.search_control.climbing import climb_along
from hcdyna.training.trainer import Trainer
from hcdyna.types import Scene, Transition

pytestmark = pytest.mark.skipif(build.why_not() is not None, reason=str(build.why_not()))

AGENTS, K, N, M, ROWS = 200, 60, 5, 7, 11
"""k steps of a climb; n mini-batches of m simulated and some replayed rows."""
PLAIN = (GridWorld().build(), DQN(learning_rate=1e-3, target_period=53))
OTHER = (
    Acrobot().build(),
    DQN(hidden=(16, 48, 32), learning_rate=1e-3, activation="tanh", target_period=53),
)


class Drawn:
    """Random arrays [agents, …], without anything to compile."""

    def __init__(self, seed, env):
        self.rng, self.env = np.random.default_rng(seed), env
        self.low, self.high = env.spec.low, env.spec.high

    def normal(self, *shape, scale=1.0):
        return (scale * self.rng.normal(size=(AGENTS, *shape))).astype(np.float32)

    def states(self, *shape):
        share = self.rng.uniform(size=(AGENTS, *shape, len(self.low)))
        return (self.low + (self.high - self.low) * share).astype(np.float32)

    def actions(self, *shape):
        return self.rng.integers(self.env.spec.num_actions, size=(AGENTS, *shape), dtype=np.int32)

    def params(self, dqn, scale):
        widths = (len(self.low), *dqn.hidden, self.env.spec.num_actions)
        return tuple(
            Layer(self.normal(m, n, scale=scale / np.sqrt(m)), self.normal(n, scale=0.1 * scale))
            for m, n in pairwise(widths)
        )

    def agents(self, dqn):
        """As if they had learned for a while."""
        square = jax.tree.map(lambda x: np.square(x) + np.float32(1e-4), self.params(dqn, 0.1))
        powers = (np.full(AGENTS, 0.9**50, np.float32), np.full(AGENTS, 0.999**50, np.float32))
        moments = adam.AdamState(self.params(dqn, 0.1), square, *powers)
        updates = np.full(AGENTS, 50, np.int32)
        return DQNState(self.params(dqn, 1.0), self.params(dqn, 1.0), moments, updates)

    def batches(self, fallback):
        """With `fallback`, some simulated rows give way to replayed ones."""
        rows, actions = M + ROWS if fallback else ROWS, self.env.spec.num_actions
        replayed = Transition(
            self.states(N, rows),
            self.actions(N, rows),
            self.normal(N, rows),
            np.full((AGENTS, N, rows), 0.9, np.float32),
            self.states(N, rows),
        )
        asked = Asked(
            states=self.states(N, M),
            reward=self.normal(N, M, actions),
            discount=np.full((AGENTS, N, M, actions), 0.9, np.float32),
            next_states=self.states(N, M, actions),
            explore=self.normal(N, M) > 0.5,
            random_action=self.actions(N, M),
        )
        return MiniBatches(replayed, self.normal(N, M) > 0 if fallback else None, asked)


def of_every_agent(function, *given):
    return jax.tree.map(np.asarray, jax.jit(jax.vmap(function))(*given))


@pytest.mark.parametrize(
    ("world", "skip", "within", "share"),
    [(PLAIN, None, 1e-5, 0.99), (OTHER, lambda s: s[0] > s[2], 5e-4, 0.95)],
)
def test_climbs_are_the_same(world, skip, within, share):
    """Nearly all, with equal acceptances for them. With tanh, climbs are chaotic about a maximum:
    plain ones in float32 and in float64 part as often."""
    env, dqn = world
    agent, d, drawn = dqn.build(env.spec), len(env.spec.low), Drawn(0, env)
    how = {"step_size": 0.1, "normalise": True, "threshold": 0.02, "max_accepted": 40, "skip": skip}
    mixing = drawn.normal(d, d, scale=0.1) * (env.spec.high - env.spec.low)[:, None]
    covariance = mixing @ np.swapaxes(mixing, 1, 2)
    noise = drawn.normal(K, d, scale=0.3) @ np.swapaxes(mixing, 1, 2)

    def plain(state, noise, start, covariance):
        value = partial(agent.value, state)
        rest = how | {"covariance": covariance, "project": env.project}
        return climb_along(noise, env.project(start), value, **rest)

    def fused(state, noise, start, covariance):
        known = (state.params, agent.perceptron, env, env.project)
        return climb.climb_along(noise, env.project(start), *known, covariance=covariance, **how)

    given = (drawn.agents(dqn), noise, drawn.states(), covariance)
    expected, accepted = of_every_agent(plain, *given)
    found, chosen = of_every_agent(fused, *given)
    close = np.abs(found - expected).max(axis=(1, 2)) <= within
    assert close.mean() >= share
    assert (chosen == accepted)[close].all()
    assert 0 < accepted.mean() < 1
    if skip is None:
        assert accepted.sum(axis=1).max() == how["max_accepted"]
    else:
        assert not (accepted & skip(np.moveaxis(expected, -1, 0))).any()


def flat(tree):
    leaves = [np.asarray(x, np.float64) for x in jax.tree.leaves(tree)]
    return np.concatenate([x.reshape(len(x), -1) for x in leaves], axis=1)


@pytest.mark.parametrize(
    ("world", "options"),
    [
        (PLAIN, {}),
        (PLAIN, {"target_period": 1, "target_rate": 0.1}),
        (OTHER, {"double": True, "loss": "huber", "max_gradient": 0.5}),
    ],
)
def test_updates_are_the_same(world, options):
    """What is learned in n updates: within 1e-5 of the size of the change, for 99% of agents."""
    env, dqn = world[0], replace(world[1], **options)
    plain = dqn.build(env.spec)
    known = plain.perceptron
    drawn, scene = Drawn(1, env), Scene(env, None, None, None, None)
    count = np.where(np.arange(AGENTS) % 5 == 0, 2, N).astype(np.int32)
    agents, batches = drawn.agents(dqn), drawn.batches(fallback=bool(options))
    found, info = of_every_agent(partial(kernel_plan.plan, known, env), agents, batches, count)
    expected, expected_info = of_every_agent(
        lambda *given: plan(jax.random.key(0), plain, given[0], given[1], scene, given[2]),
        agents,
        batches,
        count,
    )
    for name in ("params", "target", "optimiser"):
        before, after, right = (flat(getattr(x, name)) for x in (agents, found, expected))
        change = np.linalg.norm(right - before, axis=1)
        error = np.linalg.norm(after - right, axis=1)
        assert np.mean(error <= 1e-5 * change) >= 0.99, name
    np.testing.assert_array_equal(found.updates, expected.updates)
    np.testing.assert_allclose(info["loss"], expected_info["loss"], rtol=1e-3)


def test_a_seed_gives_the_same_bits_alone_and_in_company():
    """On one device and on all of them."""
    settings = Settings(
        agent=DQN(learning_rate=1e-3),
        search_control=HillClimbing(steps=20, queue_size=200),
        training=Training(
            steps=60, warmup=20, planning_steps=3, replay_size=100, epsilon=0.2, kernels="on"
        ),
        evaluation=Evaluation(every=60),
    )
    alone, company = train(settings, seeds=[4]), train(settings, seeds=[1, 4, 2])
    mine, theirs = alone.state(4), company.state(4)
    for one, other in zip(jax.tree.leaves(mine), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_array_equal(one, other)
    assert not np.array_equal(company.state(1).agent.params[0][0], theirs.agent.params[0][0])


@pytest.mark.parametrize(
    "draw",
    [
        lambda key: jax.random.bits(key, (5, 3)),
        lambda key: jax.random.bits(key, (9,), "uint8"),
        lambda key: jax.random.key_data(jax.random.split(key, (2, 3))),
        lambda key: jax.random.key_data(jax.random.fold_in(key, 77)),
        lambda key: jax.random.normal(key, ()),
    ],
)
def test_random_numbers_are_those_of_jax(draw):
    keys = jax.random.split(jax.random.key(7), 4)
    fast = quick(keys)
    assert fast.dtype != keys.dtype
    assert usual(fast).dtype == keys.dtype
    np.testing.assert_array_equal(jax.vmap(draw)(fast), jax.vmap(draw)(keys))


def test_what_waits_stays_the_same():
    """Keys and numbers of Python, which a part may remember, too."""
    keys = jax.random.split(jax.random.key(7), 4)
    state = {"key": keys, "number": jnp.arange(4.0), "flag": jnp.ones((4, 3), bool)}

    def wait(key, state):
        found, later = after([state["number"], 1.5], quick(key), state | {"two": 2})
        assert later.pop("two") == 2
        return usual(found), later

    found, later = jax.jit(jax.vmap(wait))(keys, state)
    for one, other in zip(
        jax.tree.leaves((found, later)), jax.tree.leaves((keys, state)), strict=True
    ):
        assert one.dtype == other.dtype
        assert (one == other).all()
    usual_key, same = after([1.5], keys[0], state)
    assert usual_key.dtype == keys.dtype
    assert same is state


def test_a_learned_model_learns_the_same():
    """Members too, with rare steps and before there are any."""
    env = CartPole().build()
    settings = LearnedModel(hidden=(32, 16), members=2, batch_size=20, trust="trust")
    drawn = Drawn(2, env)
    replay = ring.init(Transition(*(x[0] for x in fresh_steps(drawn))), 64)
    steps = jax.tree.map(lambda x: x[:40], Transition(*fresh_steps(drawn)))
    found = {}
    for kind, fit in (("plain", None), ("fused", fit_for)):
        model = settings.build(env, fit)

        def learn(model=model):
            def step(carry, given):
                key, row = given
                rows = ring.extend(
                    carry[1], jax.tree.map(lambda x: x[None], row), jnp.ones(1, bool)
                )
                state, info = model.update(key, carry[0], rows)
                return (state, rows), info["model_loss"]

            keys = jax.random.split(jax.random.key(2), 40)
            start = (model.init(jax.random.key(1)), replay)
            (state, _), loss = jax.lax.scan(step, start, (keys, steps))
            return state, loss

        found[kind] = jax.tree.map(np.asarray, jax.jit(learn)())
    (plain, losses), (fused, fused_losses) = found["plain"], found["fused"]
    np.testing.assert_allclose(fused_losses, losses, rtol=1e-4)
    start = settings.build(env).init(jax.random.key(1))
    for before, one, other in zip(
        *(jax.tree.leaves(x.params) for x in (start, plain, fused)), strict=True
    ):
        change = np.linalg.norm(one - np.asarray(before))
        assert np.linalg.norm(other - one) <= 1e-4 * change
    np.testing.assert_allclose(fused.optimiser.power2, plain.optimiser.power2)


def fresh_steps(drawn):
    """obs, action, reward, discount, next_obs; some end."""
    over = drawn.normal() > 1.0
    return (
        drawn.states(),
        drawn.actions(),
        drawn.normal(),
        np.where(over, 0.0, 0.9).astype(np.float32),
        drawn.states(),
    )


@pytest.mark.skipif(len(jax.devices()) < 2, reason="XLA has no other thread on a single core")
@pytest.mark.parametrize("environment", [GridWorld(), CartPole()])
def test_a_lone_agent_wakes_no_other_thread(environment):
    """A thread that hands work over waits for it: once per step would be half of its time."""
    settings = Settings(
        environment=environment,
        search_control=HillClimbing(queue_size=1_000),
        training=Training(steps=1_010, warmup=10, replay_size=1_000, planning_steps=10),
    )
    alone = Trainer([settings], [0])
    _, life, _ = alone.begin()
    life, _ = alone.programs.warm_up(life, alone.numbers, 10)
    life, _ = jax.block_until_ready(alone.programs.learn(life, alone.numbers, 1))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
    jax.block_until_ready(alone.programs.learn(life, alone.numbers, 1_000))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - before < 200
