"""How much memory a run needs, before anything is compiled."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from hcdyna.dyna import build
from hcdyna.numerics import ring
from hcdyna.numerics.memory import amount, available, demand, free_memory, size, working
from hcdyna.settings import Settings
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.plain import fields_of
from hcdyna.settings.words import count
from hcdyna.training.evaluation import evaluate_agent

KNOWN: dict[Settings, tuple[int, int]] = {}
"""`in_a_step` of programs that were asked for before: it takes a third of a second."""
ON_THE_HOST = 500
"""Bytes that an evaluation, and each agent in it, take in Python, beside the returns themselves."""


def needed(shapes: Any) -> dict[str, int]:
    """Bytes by what takes them: replay, search-control, the rest."""
    dyna = shapes.dyna
    parts = {"replay": size(dyna.replay), "search-control": size(dyna.search_control)}
    return parts | {"the rest": size(shapes) - sum(parts.values())}


def summary(shapes: Any, agents: int) -> str:
    """One line for people."""
    parts = needed(shapes)
    listed = ", ".join(f"{name} {amount(number)}" for name, number in parts.items())
    return f"Memory: about {amount(sum(parts.values()))} for {count(agents, 'agent')} ({listed})"


def demand_enough(shapes: Any, static: Settings, settings: Settings, agents: int) -> None:
    """Raise SettingsError, naming what to lower, if there is less than the run needs. `settings`
    are those of the agents that need most, `static` what all of them share."""
    training, evaluation = settings.training, settings.evaluation
    if static not in KNOWN:
        KNOWN[static] = in_a_step(settings)
    learning, playing = KNOWN[static]
    parts = needed(shapes) | {"a time step": agents * learning, "an evaluation": agents * playing}
    queues = queue_sizes(settings.search_control, "search_control")
    advice = {
        "replay": f"training.replay_size = {training.replay_size}",
        "search-control": next(queues, "the sizes of search-control"),
        "the rest": "the sizes of the networks",
        "a time step": f"training.planning_steps = {training.planning_steps}, training.batch_size "
        f"= {training.batch_size}, or the sizes of search-control and networks",
        "an evaluation": f"evaluation.episodes = {evaluation.episodes}",
    }
    demand(parts, available(), advice, agents)
    curves = (1 + training.steps // evaluation.every) * (
        ON_THE_HOST + agents * (ON_THE_HOST + 8 * evaluation.episodes)
    )
    advice = {"curves": f"evaluation.episodes = {evaluation.episodes}, or evaluate less often"}
    demand({"curves": curves}, free_memory(), advice, agents)


def queue_sizes(part: Any, at: str) -> Iterator[str]:
    """The fields of a strategy, and of those that it is made of, that say how long a queue is."""
    for name, value in fields_of(part).items():
        if name == "queue_size":
            yield f"{at}.{name} = {value}"
        yield from queue_sizes(value, f"{at}.{name}")


def in_a_step(settings: Settings) -> tuple[int, int]:
    """Bytes that a time step of learning, and an evaluation, take for one agent beside its state.

    Nothing is compiled or made: the programs are only written down. Kernels would have to be
    compiled, and need less memory than the plain programs.
    """
    settings = replace(settings, training=replace(settings.training, kernels="off"))
    _, dyna = build(settings)
    key = jax.eval_shape(lambda: jax.random.key(0))
    state = jax.eval_shape(dyna.init, key)
    transition = jax.eval_shape(ring.newest, state.replay)
    rings = (state.replay, state.search_control)  # written in place
    learning = working(dyna.learn, key, state, transition, in_place=rings)
    try:
        seed = jax.ShapeDtypeStruct((), jnp.uint32)
        playing = working(partial(evaluate_agent, settings), state, seed, seed, in_place=rings)
    except SettingsError:  # an environment on the host plays one episode at a time
        playing = 0
    return learning, playing
