"""The kernels for the network of a learned model against the plain functions, on the GPU: errors
first, then times.

    python benchmarks/model_kernels.py

Fails if, after three updates from fresh networks, the change of the parameters of 99% of agents is
further from plain float32 than 1e-3 of its size, or 5e-2 with products in TF32 (beside it stands
what the plain function loses by those), or if answers differ by more than 1e-5 of the largest.
"""

import sys
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import tyro

from hcdyna import DQN, HillClimbing, LearnedModel, Settings, Training
from hcdyna.bench.ours import Ours
from hcdyna.experiments.paper.scale import AS_PRINTED, LEARNED_ENDS
from hcdyna.kernels import accelerate, model
from hcdyna.kernels.build import why_not
from hcdyna.numerics import ring
from hcdyna.numerics.networks import mlp
from hcdyna.types import Transition

MODELS = {"as printed": LEARNED_ENDS, "ends told": AS_PRINTED, "default": LearnedModel()}
UPDATES = 3


@dataclass(frozen=True)
class Options:
    """What to compare."""

    agents: int = 300
    domains: tuple[str, ...] = ("GridWorld", "MountainCar", "CartPole", "Acrobot")
    times: bool = True
    timed: tuple[tuple[str, str, int, int], ...] = (
        ("CartPole", "ends told", 1, 1000),
        ("CartPole", "ends told", 10, 1000),
        ("CartPole", "ends told", 30, 1000),
        ("Acrobot", "default", 10, 1000),
    )
    """Domain, model, n, agents."""


def flat(tree: Any) -> np.ndarray:
    """[agents, parameters]"""
    leaves = [np.asarray(x, np.float64) for x in jax.tree.leaves(tree)]
    return np.concatenate([x.reshape(len(x), -1) for x in leaves], axis=1)


def compare(domain: str, name: str, agents: int) -> tuple[dict[str, float], float]:
    """Errors of the parameters' change, relative to it, and of answers."""
    settings = Settings(environment=domain)
    env = settings.environment.build()
    d, actions = len(env.spec.low), env.spec.num_actions
    few = MODELS[name]

    def fresh(key: Any) -> Any:
        keys = jax.random.split(key, 5)
        size = env.spec.high - env.spec.low
        states = env.spec.low + size * jax.random.uniform(keys[0], (2, 200, d))
        rows = Transition(
            states[0],
            jax.random.randint(keys[1], (200,), 0, actions),
            jax.random.normal(keys[2], (200,)),
            jnp.where(jax.random.uniform(keys[3], (200,)) < 0.1, 0.0, 0.9),
            states[1],
        )
        return keys[4], rows

    keys, rows = jax.vmap(fresh)(jax.random.split(jax.random.key(0), agents))
    rings = jax.vmap(lambda x: ring.extend(ring.of_steps(env.spec, 256), x, jnp.ones(200, bool)))(
        rows
    )
    start = jax.vmap(few.build(env).init)(keys)

    def learned(build: Any, state: Any, rings: Any) -> np.ndarray:
        def all_updates(state: Any, key: Any, replay: Any) -> Any:
            for each in jax.random.split(key, UPDATES):
                state = build.update(each, state, replay)[0]
            return inner(state).params

        return jax.jit(jax.vmap(all_updates))(state, keys, rings)

    found = {}
    for precision in ("highest", "default"):
        with jax.default_matmul_precision(precision):
            # Built anew, since a kernel is chosen for a precision.
            fast = few.build(env, model.fit_for, model.apply_for)
            found["fused", precision] = learned(fast, start, rings)
            found["plain", precision] = learned(few.build(env), start, rings)
    exact = flat(found["plain", "highest"])
    change = exact - flat(inner(start).params)
    errors = {}
    del found["plain", "highest"]
    for (kind, precision), params in found.items():
        off = np.linalg.norm(flat(params) - exact, axis=1) / np.linalg.norm(change, axis=1)
        errors[f"{kind} {'float32' if precision == 'highest' else 'TF32'}"] = float(
            np.quantile(off, 0.99, method="lower")
        )
    widths = (d, 64, 64, actions * (d + 2))
    params = jax.tree.map(lambda x: x[:, 0], found["plain", "default"])
    questions = rows.obs[:, :100]
    fast_apply, plain_apply = model.apply_for(widths, "relu"), mlp(widths).apply
    assert fast_apply is not None, "there is no kernel for these"
    with jax.default_matmul_precision("highest"):
        one, other = (
            jax.jit(jax.vmap(jax.vmap(function, (None, 0))))(params, questions)
            for function in (fast_apply, plain_apply)
        )
    return errors, float(np.abs(one - other).max() / np.abs(other).max())


def inner(state: Any) -> Any:
    """The networks' state, within that of a model with doubts."""
    return getattr(state, "model", state)


def show_times(domain: str, name: str, n: int, agents: int) -> None:
    """Microseconds a step of all agents, without and with these kernels; all others are there."""
    whole, found = accelerate.GPU, {}
    for kind, kernels in {
        "without": whole._replace(fit_for=lambda *_: None, apply_for=None),
        "with fit": whole._replace(apply_for=None),
        "with both": whole,
    }.items():
        accelerate.GPU = kernels
        settings = Settings(
            environment=domain,
            model=MODELS[name],
            agent=DQN(learning_rate=1e-3),
            search_control=HillClimbing(queue_size=100_000),
            training=Training(planning_steps=n, replay_size=20_000),
        )
        ours = Ours(settings, agents)
        rates = [ours.measure(steps=200) for _ in range(3)]
        found[kind] = agents / float(np.median(rates)) * 1e6
    accelerate.GPU = whole
    words = ", ".join(f"{kind} {each:.0f} µs" for kind, each in found.items())
    ratio = found["without"] / found["with both"]
    print(
        f"{domain}, {name}, n = {n}, {agents} agents: {words} a step ({ratio:.2f} times), "
        f"{agents / found['with both']:.2f} million steps a second",
        flush=True,
    )


def main(options: Options) -> None:
    if why_not() is not None:
        sys.exit(f"{why_not()}: there is nothing to compare")
    failed = False
    for domain in options.domains:
        for name in ("as printed", "default"):
            errors, answers = compare(domain, name, options.agents)
            close = errors["fused float32"] <= 1e-3 and errors["fused TF32"] <= 5e-2
            bad = not (close and answers <= 1e-5)  # what is not a number is bad, too
            failed |= bad
            words = ", ".join(f"{kind} {error:.1e}" for kind, error in errors.items())
            words += f"; answers {answers:.1e}{'  TOO FAR' * bad}"
            print(f"{domain}, {name}: {words}", flush=True)
    if options.times:
        for case in options.timed:
            show_times(*case)
    sys.exit(failed)


if __name__ == "__main__":
    main(tyro.cli(Options))
