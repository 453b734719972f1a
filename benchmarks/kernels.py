"""Fused kernels against the plain functions, on the GPU: errors first, then times.

    python benchmarks/kernels.py

Fails if a kernel is further from its reference than it may be: climbed states within 1e-4 and the
same acceptances for at least 99% of agents over all steps; on the frequency, 3% more agents off
the climb in float64 than plain ones; a look 1e-5; the parameters of 99% of agents after n
updates within 1e-4 of the size of their change in float32, or 1e-2 with products in TF32, which is
the default of JAX itself; beside it stands what the plain function loses. All inputs are drawn
afresh, networks too. For information, the same for agents in training, where rounding counts for
more, since gradients nearly cancel and climbs are chaotic about a maximum: so there also stands how
many climbs, plain and fused, stay within 1e-4 of the plain one in float64.
"""

from __future__ import annotations

import itertools
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import tyro

from hcdyna import DQN, HillClimbing, Settings, Training
from hcdyna.agents.dqn import DQNState
from hcdyna.bench import counts
from hcdyna.bench.ours import Ours
from hcdyna.dyna import build
from hcdyna.kernels import climb as fused_climb
from hcdyna.kernels import look as fused_look
from hcdyna.kernels import plan as fused_plan
from hcdyna.kernels.build import target, why_not
from hcdyna.kernels.sizes import sizes
from hcdyna.numerics import devices
from hcdyna.numerics.adam import AdamState
from hcdyna.numerics.networks import mlp
from hcdyna.planning import MiniBatches, draw_mini_batches, plan
from hcdyna.planning.budget import budget_of
from hcdyna.planning.discrete import Asked
from hcdyna.search_control.climbing import climb_along
from hcdyna.search_control.frequency import ValueOrFrequency
from hcdyna.types import Scene, Transition

DOMAINS = ("GridWorld", "MountainCar", "CartPole", "Acrobot")


@dataclass(frozen=True)
class Options:
    """What to compare."""

    agents: int = 500
    domains: tuple[str, ...] = DOMAINS
    hidden: tuple[int, ...] = (32, 64)
    activations: tuple[Literal["relu", "tanh"], ...] = ("relu", "tanh")
    in_training: bool = True
    """Show what agents in training lose by rounding."""
    times: bool = True
    """Measure microseconds per environment step as well."""
    concurrent: bool = True
    """Let the GPU run kernels beside each other that do not wait for each other."""
    turns_at_once: int = devices.MOST_TURNS_AT_ONCE["gpu"]
    """Take up to so many time steps without asking the host."""


nothing: Any = None
"""Of what planning does not look at."""


def climb_all(
    settings: Settings, states: DQNState, frequency: bool = False
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """States and acceptances of one climb of every agent, on V or on its frequency: plain, in
    float64, and fused."""
    env = settings.environment.build()
    agent = settings.agent.build(env.spec)
    d, agents = env.spec.low.shape[0], len(states.updates)

    def draw(key: Any) -> dict[str, Any]:
        start_key, noise_key, shape_key = jax.random.split(key, 3)
        scale = jnp.asarray(env.spec.high - env.spec.low)
        mixing = jax.random.normal(shape_key, (d, d)) * scale[:, None] * 0.2
        uniform = jax.random.uniform(start_key, (d,))
        return {
            "noise": 0.1 * jax.random.normal(noise_key, (100, d)) @ mixing.T,
            "start": env.project(env.spec.low + scale * uniform),
            "covariance": mixing @ mixing.T,
        }

    rest: dict[str, Any] = {
        "step_size": 0.1,
        "normalise": True,
        "threshold": 0.02,
        "max_accepted": None,
    }

    def plain(state: Any, drawn: Any) -> Any:
        value: Any = partial(agent.value, state)
        if frequency:
            value = ValueOrFrequency(value, jnp.array(False))
        return climb_along(criterion=value, project=env.project, skip=None, **drawn, **rest)

    def fused(state: Any, drawn: Any) -> Any:
        assert agent.perceptron is not None
        known = {"params": state.params, "perceptron": agent.perceptron}
        if frequency:
            known["on_value"] = jnp.array(False)
        return fused_climb.climb_along(**known, env=env, box=env.project, **drawn, **rest)

    def climbed(function: Any, *given: Any) -> Any:
        return jax.tree.map(np.asarray, jax.jit(jax.vmap(function))(*given))

    with jax.default_matmul_precision("highest"):
        drawn = jax.vmap(draw)(jax.random.split(jax.random.key(1), agents))
        found = {"plain": climbed(plain, states, drawn)}
        if why_not() is None:
            found["fused"] = climbed(fused, states, drawn)
        with jax.enable_x64(True):
            found["float64"] = climbed(plain, *in_float64((states, drawn)))
    return found


def apart(one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """How far the states of two climbs are apart at most [agents]."""
    return np.abs(one[0] - other[0]).max(axis=(1, 2))


def in_float64(tree: Any) -> Any:
    return jax.tree.map(
        lambda x: jnp.asarray(np.asarray(x), jnp.float64 if x.dtype == jnp.float32 else None), tree
    )


def random_input(settings: Settings, key: Any) -> tuple[DQNState, MiniBatches]:
    """An agent with random parameters and running moments, and random mini-batches."""
    env = settings.environment.build()
    spec, agent = env.spec, settings.agent
    d, actions = spec.low.shape[0], spec.num_actions or 0
    n, m = settings.training.planning_steps, settings.training.batch_size // 2
    keys = iter(jax.random.split(key, 40))
    network = mlp((d, *agent.hidden, actions), agent.activation)
    params, target = network.init(next(keys)), network.init(next(keys))
    mean = jax.tree.map(lambda x: 0.1 * jax.random.normal(next(keys), x.shape), params)
    square = jax.tree.map(lambda x: 0.01 * jax.random.uniform(next(keys), x.shape), params)
    moments = AdamState(mean, square, jnp.float32(0.9**50), jnp.float32(0.999**50))

    def states(*shape: int) -> Any:
        share = jax.random.uniform(next(keys), (*shape, d))
        return spec.low + (spec.high - spec.low) * share

    def action() -> Any:
        return jax.random.randint(next(keys), (n, m), 0, actions)

    def real(*shape: int) -> Any:
        return jax.random.normal(next(keys), shape)

    replayed = Transition(
        states(n, m), action(), real(n, m), jax.random.uniform(next(keys), (n, m)), states(n, m)
    )
    asked = Asked(
        states=states(n, m),
        reward=real(n, m, actions),
        discount=jax.random.uniform(next(keys), (n, m, actions)),
        next_states=states(n, m, actions),
        explore=jax.random.bernoulli(next(keys), 0.1, (n, m)),
        random_action=action(),
    )
    batches = MiniBatches(replayed, simulated=None, rows=asked)
    return DQNState(params, target, moments, jnp.int32(50)), batches


def input_in_training(settings: Settings, agents: int) -> tuple[DQNState, MiniBatches]:
    """Agents that have learned a little, and what they would learn from next."""
    ours = Ours(settings, agents)
    ours.advance(300)
    env, dyna = build(settings)[0], ours.life.dyna
    agent = settings.agent.build(env.spec)
    model, control = settings.model.build(env), settings.search_control.build(env)

    def draw(key: Any, state: Any) -> Any:
        scene = Scene(
            env=env,
            value=partial(agent.value, state.agent),
            predict=lambda key, obs, action: model.predict(key, state.model, obs, action),
            replay=state.replay,
            transition=nothing,
        )
        training = settings.training
        budget = budget_of(training)
        return draw_mini_batches(
            key, control, state.search_control, scene, budget, training.epsilon
        )

    keys = jax.random.split(jax.random.key(2), agents)
    return dyna.agent, jax.jit(jax.vmap(draw))(keys, dyna)


def compare_plans(settings: Settings, before: tuple[DQNState, MiniBatches]) -> dict[str, float]:
    """Error of the parameters' change against plain float64: what 99% of agents stay under."""
    env = settings.environment.build()
    agent = settings.agent.build(env.spec)

    def fused(state: Any, batches: Any) -> Any:
        assert agent.perceptron is not None
        return fused_plan.plan(agent.perceptron, env, state, batches)[0].params

    def plain(state: Any, batches: Any) -> Any:
        scene = Scene(env, partial(agent.value, state), env.dynamics, None, nothing)
        return plan(jax.random.key(0), agent, state, batches, scene)[0].params

    found = {}
    for precision in ("highest", "default"):
        for function in (fused, plain):
            with jax.default_matmul_precision(precision):
                found[precision, function] = jax.jit(jax.vmap(function))(*before)
    with jax.enable_x64(True), jax.default_matmul_precision("highest"):
        exact = flat(jax.jit(jax.vmap(plain))(*in_float64(before)))
    change = exact - flat(before[0].params)

    def error(precision: str, function: Any) -> float:
        off = flat(found[precision, function]) - exact
        each = np.linalg.norm(off, axis=1) / np.linalg.norm(change, axis=1)
        return float(np.quantile(each, 0.99, method="lower"))

    return {
        "float32": error("highest", fused),
        "TF32": error("default", fused),
        "plain float32": error("highest", plain),
        "plain TF32": error("default", plain),
    }


def compare_looks(settings: Settings, states: DQNState) -> float:
    """Error of Q and of the gradient of V, relative to its largest number: what 99% of agents stay
    under."""
    env = settings.environment.build()
    agent = settings.agent.build(env.spec)
    share = jax.random.uniform(jax.random.key(4), (len(states.updates), *env.spec.low.shape))
    obs = env.spec.low + (env.spec.high - env.spec.low) * share

    def fused(state: Any, obs: Any) -> Any:
        return fused_look.look(state.params, obs, agent.perceptron, env)

    def plain(state: Any, obs: Any) -> Any:
        q = [agent.q(state, obs, action) for action in range(env.spec.num_actions)]
        return jnp.stack(q), jax.grad(partial(agent.value, state))(obs)

    with jax.default_matmul_precision("highest"):
        found, right = (jax.jit(jax.vmap(function))(states, obs) for function in (fused, plain))
    pairs = zip(found, right, strict=True)
    error = [np.abs(x - y).max(axis=1) / np.abs(y).max(axis=1) for x, y in pairs]
    return float(np.quantile(np.maximum(*error), 0.99, method="lower"))


def title(settings: Settings) -> str:
    agent = settings.agent
    return f"{type(settings.environment).__name__} {agent.hidden[0]} {agent.activation}"


def random_inputs(settings: Settings, agents: int) -> tuple[DQNState, MiniBatches]:
    keys = jax.random.split(jax.random.key(3), agents)
    return jax.vmap(partial(random_input, settings))(keys)


def show_plain_climbs(settings: Settings, agents: int) -> None:
    """How many plain climbs are right, whatever the kernel does."""
    shares = []
    for draw in (random_inputs, input_in_training):
        climbs = climb_all(settings, draw(settings, agents)[0])
        shares.append(100 * np.mean(apart(climbs["plain"], climbs["float64"]) <= 1e-4))
    print(
        f"{title(settings):<19} plain climbs as in float64: {shares[0]:.1f}% with random networks, "
        f"{shares[1]:.1f}% in training",
        flush=True,
    )


@dataclass(frozen=True)
class Likeness:
    """Fused climbs against plain ones."""

    close: float
    """Share of agents whose states are all within 1e-4, …"""
    states: float
    """… what 99% of agents are within, …"""
    same: float
    """… and the share with the same acceptances."""
    right: dict[str, float]
    """Share within 1e-4 of float64, plain and fused."""

    @classmethod
    def of(cls, climbs: dict[str, tuple[np.ndarray, np.ndarray]]) -> Likeness:
        error = apart(climbs["fused"], climbs["plain"])
        same = np.all(climbs["fused"][1] == climbs["plain"][1], axis=1)
        right = {n: np.mean(apart(climbs[n], climbs["float64"]) <= 1e-4) for n in climbs}
        return cls(
            close=float(np.mean(error <= 1e-4)),
            states=float(np.quantile(error, 0.99, method="lower")),
            same=float(np.mean(same)),
            right={name: float(right[name]) for name in ("plain", "fused")},
        )

    def __str__(self) -> str:
        return (
            f"climb: states {self.states:.1e} ({100 * self.close:.1f}% within 1e-4), "
            f"same acceptances {100 * self.same:.1f}%"
        )


def flat(tree: Any) -> np.ndarray:
    """[agents, parameters]"""
    leaves = [np.asarray(x, np.float64) for x in jax.tree.leaves(tree)]
    return np.concatenate([x.reshape(len(x), -1) for x in leaves], axis=1)


def cases(options: Options) -> list[Settings]:
    """All that is to be compared."""
    return [
        Settings(
            environment=domain,
            agent=DQN(learning_rate=1e-3, hidden=(hidden, hidden), activation=activation),
            search_control=HillClimbing(queue_size=5_000),
            training=Training(planning_steps=10, replay_size=5_000, kernels="off"),
        )
        for domain, hidden, activation in itertools.product(
            options.domains, options.hidden, options.activations
        )
    ]


def build_all(every_setting: list[Settings]) -> None:
    """Compile all kernels side by side, since one takes many seconds."""
    wanted = []
    for settings in every_setting:
        env = settings.environment.build()
        perceptron = settings.agent.build(env.spec).perceptron
        common = sizes(perceptron, env)
        wanted.append(("look", common))
        for frequency in (0, 1):
            how = {"NORMALISE": 1, "FREQUENCY": frequency, "PAIRS": env.project.pairs}
            wanted.append(("climb", common | how))
        for precise in (0, 1):
            rows = {"SIMULATED": 16, "REPLAYED": 16, "FALLBACK": 0, "PRECISE": precise}
            wanted.append(("plan", common | rows))
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda case: target(case[0], **case[1]), wanted))


def main(options: Options) -> None:
    failed = False
    if not options.concurrent:
        del devices.COMPILER_OPTIONS["gpu"]
    devices.MOST_TURNS_AT_ONCE["gpu"] = options.turns_at_once
    every_setting = cases(options)
    if why_not() is not None:
        print(f"{why_not()}: only plain climbs are compared with themselves in float64")
        for settings in every_setting:
            show_plain_climbs(settings, options.agents)
        return
    build_all(every_setting)
    for settings in every_setting:
        drawn = random_inputs(settings, options.agents)
        climbs = Likeness.of(climb_all(settings, drawn[0]))
        looks = compare_looks(settings, drawn[0])
        bent = Likeness.of(climb_all(settings, drawn[0], frequency=True))
        change = compare_plans(settings, drawn)
        far = change["float32"] > 1e-4 or change["TF32"] > 1e-2 or not looks <= 1e-5
        off = bent.right["fused"] < bent.right["plain"] - 0.03
        bad = climbs.close < 0.99 or climbs.same < 0.99 or far or off
        failed |= bad
        errors = ", ".join(f"{name} {error:.1e}" for name, error in change.items())
        print(f"{title(settings):<19} {climbs}{'  TOO FAR' if bad else ''}")
        right = ", ".join(f"{name} {100 * x:.1f}%" for name, x in bent.right.items())
        print(f"{'':<19} on the frequency, {bent}; as in float64: {right}")
        print(f"{'':<19} a look: {looks:.1e}; planning: {errors}", flush=True)
        if options.in_training:
            drawn = input_in_training(settings, options.agents)
            climbs = Likeness.of(climb_all(settings, drawn[0]))
            change = compare_plans(settings, drawn)
            errors = ", ".join(f"{name} {error:.1e}" for name, error in change.items())
            right = ", ".join(f"{name} {100 * x:.1f}%" for name, x in climbs.right.items())
            print(f"{'':<19} in training, {climbs}; as in float64: {right}")
            print(f"{'':<19} in training, planning: {errors}", flush=True)
    if options.times:
        peak = counts.peak("highest")
        print(f"large products in float32: {peak / 1e12:.1f} trillion multiply-adds a second")
        for domain, model, agents in [
            ("MountainCar", "true", 30),
            ("MountainCar", "true", 480),
            ("MountainCar", "true", 1920),
            ("MountainCar", "learned", 30),
            ("Acrobot", "true", 30),
        ]:
            show_times(domain, model, agents, peak)
    sys.exit(failed)


def show_times(domain: str, model: str, agents: int, peak: float) -> None:
    """Microseconds per environment step of all agents, plain and fused, their ratio, and which
    share of the peak the multiply-adds of climb and planning are."""
    found = {}
    for kernels in ("off", "on"):
        settings = Settings(
            environment=domain,
            model=model,
            agent=DQN(learning_rate=1e-3),
            search_control=HillClimbing(queue_size=100_000),
            training=Training(planning_steps=10, replay_size=20_000, kernels=kernels),
        )
        ours = Ours(settings, agents)
        rates = [ours.measure(steps=1_000 if kernels == "on" else 300) for _ in range(5)]
        found[kernels] = agents / float(np.median(rates)) * 1e6
    print(
        f"{domain}, {model} model, {agents} agents: plain {found['off']:.0f} µs a step, fused "
        f"{found['on']:.0f} µs ({found['off'] / found['on']:.1f} times), "
        f"{agents / found['on']:.2f} million environment steps a second, "
        f"{agents * counts.multiply_adds(settings) / found['on'] * 1e6 / peak:.1%} of the peak",
        flush=True,
    )


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
