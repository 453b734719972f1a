"""Fused kernels against the plain functions, on the GPU: errors first, then times.

    python benchmarks/kernels.py

Fails if a kernel is further from its reference than it may be: climbed states within 1e-4 and the
same acceptances for at least 99% of agents over all steps, and for as many of them the parameters
after n updates within 1e-4 of the size of their change in float32, or 1e-2 with products in TF32,
which is the default of JAX itself. What the plain program loses by these is shown beside it.
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
from hcdyna.dyna import build
from hcdyna.kernels import climb as fused_climb
from hcdyna.kernels import plan as fused_plan
from hcdyna.kernels.build import target
from hcdyna.kernels.surface import Surface, sizes
from hcdyna.planning import draw_mini_batches, plan
from hcdyna.search_control.climbing import climb_along
from hcdyna.types import Scene
from ours import Ours

DOMAINS = ("GridWorld", "MountainCar", "CartPole", "Acrobot")


@dataclass(frozen=True)
class Options:
    """What to compare."""

    agents: int = 200
    domains: tuple[str, ...] = DOMAINS
    hidden: tuple[int, ...] = (32, 64)
    activations: tuple[Literal["relu", "tanh"], ...] = ("relu", "tanh")
    times: bool = True
    """Measure microseconds per environment step as well."""


def experienced(settings: Settings, agents: int, steps: int = 300) -> tuple[Any, Any]:
    """Agents that have learned a little, so that their values are no longer all alike."""
    ours = Ours(settings, agents)
    ours.advance(steps)
    return build(settings)[0], ours.life.dyna


def compare_climbs(settings: Settings, agents: int) -> tuple[float, float]:
    """Largest error of the best 99% of agents, and the share with the same acceptances."""
    env, dyna = experienced(settings, agents)
    agent = settings.agent.build(env.spec)
    d = env.spec.low.shape[0]

    def both(key: Any, state: Any) -> Any:
        start_key, noise_key, shape_key = jax.random.split(key, 3)
        scale = jnp.asarray(env.spec.high - env.spec.low)
        mixing = jax.random.normal(shape_key, (d, d)) * scale[:, None] * 0.2
        uniform = jax.random.uniform(start_key, (d,))
        start = env.project(env.spec.low + scale * uniform)
        arguments: dict[str, Any] = {
            "covariance": mixing @ mixing.T,
            "step_size": 0.1,
            "normalise": True,
            "threshold": 0.02,
            "max_accepted": None,
        }
        noise = 0.1 * jax.random.normal(noise_key, (100, d)) @ mixing.T
        value = partial(agent.value, state)
        surface = Surface(value, state.params, agent.perceptron, env)
        fused = fused_climb.climb_along(noise, start, surface, **arguments)
        plain = climb_along(noise, start, value, project=env.project, skip=None, **arguments)
        return fused, plain

    keys = jax.random.split(jax.random.key(1), agents)
    with jax.default_matmul_precision("highest"):
        (states, accepted), (reference, expected) = jax.jit(jax.vmap(both))(keys, dyna.agent)
    error = np.sort(np.abs(np.asarray(states - reference)).max(axis=(1, 2)))
    same = float(np.mean(np.all(np.asarray(accepted == expected), axis=1)))
    return float(error[int(0.99 * agents) - 1]), same


def compare_plans(settings: Settings, agents: int) -> dict[str, float]:
    """Error of the parameters' change that 99% of agents stay under, against plain float64."""
    env, dyna = experienced(settings, agents)
    agent = settings.agent.build(env.spec)
    model, control = settings.model.build(env), settings.search_control.build(env)

    def draw(key: Any, state: Any) -> Any:
        scene = Scene(
            env=env,
            value=partial(agent.value, state.agent),
            predict=lambda key, obs, action: model.predict(key, state.model, obs, action),
            replay=state.replay,
            transition=None,  # type: ignore[arg-type]
        )
        return draw_mini_batches(key, control, state.search_control, scene, settings.training)

    def fused(state: Any, batches: Any) -> Any:
        assert agent.perceptron is not None
        return fused_plan.plan(agent.perceptron, env, state, batches)[0].params

    def plain(state: Any, batches: Any) -> Any:
        return plan(agent, state, batches)[0].params

    keys = jax.random.split(jax.random.key(2), agents)
    before = (dyna.agent, jax.jit(jax.vmap(draw))(keys, dyna))
    found = {}
    for precision in ("highest", "default"):
        for function in (fused, plain):
            with jax.default_matmul_precision(precision):
                found[precision, function] = jax.jit(jax.vmap(function))(*before)
    with jax.enable_x64(True), jax.default_matmul_precision("highest"):
        wide = jax.tree.map(
            lambda x: jnp.asarray(np.asarray(x), jnp.float64 if x.dtype == jnp.float32 else None),
            before,
        )
        exact = flat(jax.jit(jax.vmap(plain))(*wide))
    change = np.linalg.norm(exact - flat(dyna.agent.params), axis=1)

    def error(precision: str, function: Any) -> float:
        each = np.linalg.norm(flat(found[precision, function]) - exact, axis=1) / change
        return float(np.sort(each)[int(0.99 * agents) - 1])

    return {
        "float32": error("highest", fused),
        "plain": error("highest", plain),
        "TF32": error("default", fused),
        "plain TF32": error("default", plain),
    }


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
        wanted.append(("climb", common | {"NORMALISE": 1, "PAIRS": env.spec.pairs}))
        for precise in (0, 1):
            rows = {"SIMULATED": 16, "REPLAYED": 16, "FALLBACK": 0, "PRECISE": precise}
            wanted.append(("plan", common | rows))
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda case: target(case[0], **case[1]), wanted))


def main(options: Options) -> None:
    failed = False
    every_setting = cases(options)
    build_all(every_setting)
    for settings in every_setting:
        states, same = compare_climbs(settings, options.agents)
        change = compare_plans(settings, options.agents)
        bad = states > 1e-4 or same < 0.99 or change["float32"] > 1e-4 or change["TF32"] > 1e-2
        failed |= bad
        agent = settings.agent
        errors = ", ".join(f"{name} {error:.1e}" for name, error in change.items())
        print(
            f"{type(settings.environment).__name__:<11} {agent.hidden[0]} {agent.activation}: "
            f"states {states:.1e}, same acceptances {100 * same:.1f}%, change of parameters: "
            f"{errors}{'  TOO FAR' if bad else ''}",
            flush=True,
        )
    if options.times:
        for domain, model, agents in [
            ("MountainCar", "true", 30),
            ("MountainCar", "true", 480),
            ("MountainCar", "true", 1920),
            ("MountainCar", "learned", 30),
            ("Acrobot", "true", 30),
        ]:
            show_times(domain, model, agents)
    sys.exit(failed)


def show_times(domain: str, model: str, agents: int) -> None:
    """Microseconds per environment step of all agents, plain and fused, and their ratio."""
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
        f"{agents / found['on']:.2f} million environment steps a second",
        flush=True,
    )


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
