"""Fused kernels against the plain functions, on the GPU: errors first, then times.

    python benchmarks/kernels.py

Fails if a kernel is further from its reference than it may be: climbed states within 1e-4 and the
same acceptances for at least 99% of agents over all steps, parameters after n updates within 1e-4
of the size of their change (1e-2 where the plain products themselves round to TF32).
"""

from __future__ import annotations

import itertools
import sys
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
from hcdyna.kernels.surface import Surface
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


def compare_plans(settings: Settings, agents: int) -> float:
    """Largest relative error of the change of a parameter array."""
    env, dyna = experienced(settings, agents)
    agent = settings.agent.build(env.spec)
    model, control = settings.model.build(env), settings.search_control.build(env)

    def both(key: Any, state: Any) -> Any:
        scene = Scene(
            env=env,
            value=partial(agent.value, state.agent),
            predict=lambda key, obs, action: model.predict(key, state.model, obs, action),
            replay=state.replay,
            transition=None,  # type: ignore[arg-type]
        )
        batches = draw_mini_batches(key, control, state.search_control, scene, settings.training)
        assert agent.perceptron is not None
        fused, _ = fused_plan.plan(agent.perceptron, env, state.agent, batches)
        plain, _ = plan(agent, state.agent, batches)
        return fused.params, plain.params, state.agent.params

    keys = jax.random.split(jax.random.key(2), agents)
    with jax.default_matmul_precision("highest"):
        fused, plain, before = jax.jit(jax.vmap(both))(keys, dyna)
    worst = 0.0
    leaves = (jax.tree.leaves(tree) for tree in (fused, plain, before))
    for x, y, start in zip(*leaves, strict=True):
        x, y, start = (np.asarray(array).reshape(agents, -1) for array in (x, y, start))
        change = np.linalg.norm(y - start, axis=1)
        error = np.linalg.norm(x - y, axis=1) / np.maximum(change, 1e-12)
        worst = max(worst, float(np.sort(error)[int(0.99 * agents) - 1]))
    return worst


def main(options: Options) -> None:
    failed = False
    for domain, hidden, activation in itertools.product(
        options.domains, options.hidden, options.activations
    ):
        settings = Settings(
            environment=domain,
            agent=DQN(learning_rate=1e-3, hidden=(hidden, hidden), activation=activation),
            search_control=HillClimbing(queue_size=5_000),
            training=Training(planning_steps=10, replay_size=5_000, kernels="off"),
        )
        error, same = compare_climbs(settings, options.agents)
        change = compare_plans(settings, options.agents)
        bad = error > 1e-4 or same < 0.99 or change > 1e-4
        failed |= bad
        print(
            f"{domain:<12} {hidden} {activation}: states {error:.1e}, same acceptances "
            f"{100 * same:.1f}%, change of parameters {change:.1e}{'  TOO FAR' if bad else ''}",
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
