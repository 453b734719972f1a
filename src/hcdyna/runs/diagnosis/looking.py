"""Ask model and world about the states that an agent has visited, and those that it plans from."""

import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from hcdyna.dyna import DynaState, scene_of
from hcdyna.gymnasium.theirs.environment import on_host
from hcdyna.gymnasium.theirs.seen import as_seen
from hcdyna.numerics import ring
from hcdyna.planning import actions_of, draw_mini_batches, usable_states
from hcdyna.planning.budget import budget_of
from hcdyna.settings import Settings, part_of, with_numbers
from hcdyna.types import Agent, Array, Environment, Key, Outcome, Scene, SearchControl, Transition

STREAM = 0x444941
"""Sets these random numbers apart from those of training with the same seed."""
PLANNED = 2_048
"""Planned rows to look at, at least."""
AT_ONCE = 1_024
"""Rows that are asked about at once: a replay buffer holds many."""


class Said(NamedTuple):
    """What is said about states and actions [rows, …]; None where nobody can say."""

    value: Array
    """V̂(s) of the agent"""
    taken: Array | None
    """its Q̂(s, a)"""
    model: Outcome | None
    world: Outcome | None
    again: Outcome | None
    """by the world, asked a second time: it may be stochastic"""
    spread: Array | None
    """of the members of an ensemble"""
    doubtful: Array | None
    """whether the model does not know the outcome"""
    ends_there: Array | None
    """whether an episode ends in the model's next state, where the environment tells"""


class Planned(NamedTuple):
    """The rows that search-control gives to planning [rows, …]."""

    rows: Transition
    """with the outcomes that planning takes"""
    used: Array
    """whether the row is learned from; else a replayed one took its place"""
    share: Array
    """of a mini-batch that is such rows"""
    whole: Array
    """whether search-control hands out whole transitions, and nobody else asks the model"""
    competent: Array
    """whether planning uses the model at all"""
    impossible: Array
    """share of the states that can't be"""
    said: Said


def look(
    static: Settings,
    numbers: dict[str, Array],
    state: DynaState,
    visited: Transition,
    seen: Any,
    scale: Any,
    seed: Array,
) -> tuple[Said, Planned | None]:
    """What is said about the `visited` steps [rows, …] of one agent and about those that it would
    plan with now; None: it plans with none.

    `seen` and `scale` are those of its `AgentLife`.
    """
    settings = with_numbers(static, numbers)
    env = world_of(settings, seen, scale)
    agent, model, strategy = (
        part_of(settings, choice, env) for choice in ("agent", "model", "search_control")
    )
    scene = scene_of(env, agent, model, settings.training, state, ring.newest(state.replay))
    hosted, asks = on_host(settings.environment) is not None, strategy.sample is not None
    key = jax.random.fold_in(jax.random.key(seed), STREAM)
    visited_key, draw_key, planned_key = jax.random.split(key, 3)

    def say(row: tuple[Key, Array, Array]) -> Said:
        key, obs, action = row
        model_key, world_key, again_key = jax.random.split(key, 3)
        outcome = scene.predict(model_key, obs, action) if asks else None
        doubt, spread = (scene.doubt, scene.spread) if asks else (None, None)
        doubtful = None if doubt is None or outcome is None else doubt(obs, action, outcome)
        if doubtful is not None:
            doubtful |= ~usable_states(obs[None], scene)[0]
        return Said(
            value=scene.value(obs),
            taken=None if scene.q is None else scene.q(obs, action),
            model=outcome,
            world=None if hosted else env.dynamics(world_key, obs, action),
            again=None if hosted else env.dynamics(again_key, obs, action),
            spread=None if spread is None else spread(obs, action),
            doubtful=doubtful,
            ends_there=None
            if env.terminal is None or outcome is None
            else jnp.asarray(env.terminal(outcome.next_obs)),
        )

    def say_of_all(key: Key, rows: Transition) -> Said:
        keys = jax.random.split(key, len(rows.reward))
        return jax.lax.map(say, (keys, rows.obs, rows.action), batch_size=AT_ONCE)

    drawn = draw(draw_key, settings, agent, strategy, state, scene)
    planned = None
    if drawn is not None:
        planned = Planned(*drawn, say_of_all(planned_key, drawn[0]))
    return say_of_all(visited_key, visited), planned


def draw(
    key: Key,
    settings: Settings,
    agent: Agent,
    strategy: SearchControl,
    state: DynaState,
    scene: Scene,
) -> tuple[Transition, Array, Array, Array, Array, Array] | None:
    """All of `Planned` but what is said about it; None: nothing is planned."""
    training = settings.training
    rows_each = training.mixing_rate * training.batch_size
    if strategy.sample is None or training.planning_steps == 0 or rows_each == 0:
        return None
    count = math.ceil(PLANNED / max(rows_each, 1))
    budget = budget_of(training)._replace(most=count)
    batches = draw_mini_batches(
        key, strategy, state.search_control, scene, budget, training.epsilon
    )
    rows, doubtful, used = batches.rows, None, batches.simulated
    whole = isinstance(rows, Transition)
    if not whole:
        complete = functools.partial(actions_of(scene.env.spec).complete, agent, state.agent)
        rows, doubtful = jax.vmap(lambda batch: complete(batch, scene))(rows)
    if used is None:
        used = jnp.ones(rows.reward.shape, bool)
    if doubtful is not None and scene.instead is None:
        used &= ~doubtful
    share = jnp.sum(used) / (count * training.batch_size)
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), rows)
    competent = True if scene.competent is None else scene.competent()
    impossible = 0.0 if scene.can_be is None else jnp.mean(~jax.vmap(scene.can_be)(flat.obs))
    about_all = (jnp.asarray(x) for x in (whole, competent, impossible))
    return flat, used.reshape(-1), share, *about_all


def world_of(settings: Settings, seen: Any, scale: Any) -> Environment:
    """The environment as the agent knows it."""
    hosted = on_host(settings.environment)
    return settings.environment.build() if hosted is None else as_seen(hosted, seen, scale)


@functools.lru_cache(maxsize=4)
def compiled(static: Settings) -> Any:
    """`look` as a program, one for all agents whose settings differ in numbers alone."""
    return jax.jit(functools.partial(look, static))
