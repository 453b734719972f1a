"""What stops the CPU? The time of one mini-batch update of DQN, with parts of it left out.

    python benchmarks/update_cost.py

All agents of a device on one core, as in training, and GridWorld's network. All variants take
turns, round by round, and the median of the rounds counts, since machines are noisy; time is that
of the processor, which other work on the machine touches less. Below stands the fused kernel.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from hcdyna import DQN, GridWorld, Settings
from hcdyna.agents.dqn import DQNState
from hcdyna.bench.counts import forward, peak
from hcdyna.kernels.cpu.coverage import why_not
from hcdyna.kernels.cpu.plan import plan
from hcdyna.numerics import adam
from hcdyna.numerics.devices import compiler_options, offer_every_core
from hcdyna.numerics.networks import Layer, affine, affine_batch, relu, sum_rows
from hcdyna.planning import MiniBatches
from hcdyna.types import Transition

N, BATCH = 10, 32
RATE = 1e-3
Update = Callable[[DQNState, Transition], DQNState]
TimeStep = Callable[[DQNState, Transition], DQNState]
"""The same for n mini-batches."""


@dataclass(frozen=True)
class Options:
    """What to measure."""

    agents: int = 15
    """How many agents share the core: half of 30, as on two cores."""
    rounds: int = 15
    """Rounds of all variants in turn."""
    repeats: int = 40
    """Time steps of n = 10 updates in each round."""


@jax.custom_vjp
def without_weight_gradient(layer: Layer, x: Any) -> Any:
    """x [b, in] → [b, out]; backwards, a number that costs nothing stands for the product."""
    return affine(layer, x)


def _backward(saved: tuple[Layer, Any], g: Any) -> tuple[Layer, Any]:
    layer, _ = saved
    return Layer(jnp.zeros_like(layer.weights) + g[0, 0], sum_rows(g)), g @ layer.weights.T


without_weight_gradient.defvjp(lambda layer, x: (affine(layer, x), (layer, x)), _backward)


def network(layer_of: Callable[[Layer, Any], Any], params: Any, x: Any) -> Any:
    """Q of a mini-batch [b, d]."""
    for layer in params[:-1]:
        x = relu(layer_of(layer, x))
    return layer_of(params[-1], x)


def loss(layer_of: Callable, params: Any, target: Any, batch: Transition) -> Any:
    """As in DQN."""
    q, next_q = network(layer_of, params, batch.obs), network(layer_of, target, batch.next_obs)
    goal = batch.reward + batch.discount * next_q.max(axis=-1)
    chosen = jnp.sum(q * jax.nn.one_hot(batch.action, q.shape[-1]), axis=-1)
    return jnp.mean(jnp.square(goal - chosen))


def forward_only(state: DQNState, batch: Transition) -> DQNState:
    error = loss(affine_batch, state.params, state.target, batch)
    # What nobody reads is not computed.
    return state._replace(params=jax.tree.map(lambda p: p + 1e-9 * error, state.params))


def descend(layer_of: Callable, state: DQNState, batch: Transition) -> DQNState:
    gradient = jax.grad(partial(loss, layer_of))(state.params, state.target, batch)
    return state._replace(params=jax.tree.map(lambda p, g: p - RATE * g, state.params, gradient))


def adam_only(state: DQNState, batch: Transition) -> DQNState:
    gradient = jax.tree.map(lambda p: p * batch.reward[0], state.params)
    params, optimiser = adam.update(gradient, state.optimiser, state.params, RATE)
    return state._replace(params=params, optimiser=optimiser)


def one_by_one(update: Update) -> TimeStep:
    """n updates, one after the other."""
    return lambda state, batches: jax.lax.scan(
        lambda s, batch: (update(s, batch), None), state, batches
    )[0]


def program(time_step: TimeStep) -> Callable[[DQNState, Transition, int], DQNState]:
    """`repeats` times n updates of every agent."""

    def run(state: DQNState, batches: Transition, repeats: int) -> DQNState:
        step = jax.vmap(time_step)
        return jax.lax.fori_loop(0, repeats, lambda _, state: step(state, batches), state)

    return jax.jit(run, compiler_options=compiler_options())


def inputs(agents: int) -> tuple[DQNState, Transition]:
    """Agents, and n mini-batches for each."""
    spec = GridWorld().build().spec
    keys = jax.random.split(jax.random.key(0), agents + 3)
    state = jax.vmap(DQN().build(spec).init)(keys[3:])
    shape = (agents, N, BATCH)
    batches = Transition(
        obs=jax.random.uniform(keys[0], (*shape, 2)),
        action=jax.random.randint(keys[1], shape, 0, spec.num_actions or 0),
        reward=-jnp.ones(shape),
        discount=jnp.full(shape, spec.discount),
        next_obs=jax.random.uniform(keys[2], (*shape, 2)),
    )
    return state, batches


def measure(options: Options) -> dict[str, float]:
    """Microseconds per update of one agent, by variant."""
    state, batches = inputs(options.agents)
    env = GridWorld().build()
    agent = DQN(learning_rate=RATE).build(env.spec)
    variants: dict[str, Update] = {
        "whole": lambda state, batch: agent.update(jax.random.key(0), state, batch, None)[0],
        "sgd": partial(descend, affine_batch),
        "no weight gradient": partial(descend, without_weight_gradient),
        "forward": forward_only,
        "adam": adam_only,
    }
    programs = {name: program(one_by_one(update)) for name, update in variants.items()}
    reason = why_not(agent.perceptron, env)
    if reason is None and agent.perceptron is not None:
        known = agent.perceptron
        programs["fused"] = program(
            lambda state, batches: plan(known, env, state, MiniBatches(batches, None, None))[0]
        )
    else:
        print(f"no fused kernel: {reason}")
    for run in programs.values():
        jax.block_until_ready(run(state, batches, 2))
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(options.rounds):
        for name, run in programs.items():
            start = time.process_time()
            jax.block_until_ready(run(state, batches, options.repeats))
            seconds[name].append(time.process_time() - start)
    updates = options.repeats * N * options.agents
    return {name: 1e6 * float(np.median(times)) / updates for name, times in seconds.items()}


def main(options: Options) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    offer_every_core()
    cost = measure(options)
    row = BATCH * forward(Settings())
    backwards = row - BATCH * 2 * 32  # the gradient of the state is not wanted
    parts = {
        "the whole update": (cost["whole"], 3 * row + backwards),
        "forward, Q and Q′": (cost["forward"], 2 * row),
        "gradients of the weights": (cost["sgd"] - cost["no weight gradient"], row),
        "all else backwards": (cost["no weight gradient"] - cost["forward"], backwards),
        "Adam instead of plain descent": (cost["whole"] - cost["sgd"], None),
        "Adam alone": (cost["adam"], None),
    }
    if "fused" in cost:
        parts["the whole update, fused"] = (cost["fused"], 3 * row + backwards)
    table = Table(title=f"One update of a mini-batch of {BATCH}, {options.agents} agents on a core")
    for heading in ("part", "µs per agent", "share", "multiply-adds per ns"):
        table.add_column(heading, justify="left" if heading == "part" else "right")
    for name, (microseconds, count) in parts.items():
        table.add_row(
            name,
            f"{microseconds:.1f}",
            f"{100 * microseconds / cost['whole']:.0f}%",
            f"{count / microseconds / 1e3:.1f}" if count else "",
        )
    table.add_row("a large product of matrices", "", "", f"{peak('highest') / 1e9:.1f}")
    Console(width=100).print(table)


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
