"""Simulated rows with continuous actions: the model is asked within the updates.

There is no asking it beforehand for the outcome of every action, and the action is known only when
the update comes, since the policy has changed by then.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from hcdyna.planning.asking import ask
from hcdyna.types import Agent, Array, Key, Scene, Transition


class ToAsk(NamedTuple):
    """What it takes to ask the model about the states of a mini-batch."""

    states: Array
    """[m, d] from search-control"""
    action: Array | None
    """[m, size] to be taken there; None: that of the behaviour"""
    normal: Array
    """[m, size] standard normal numbers, from which the actions there get their noise …"""
    keys: Key
    """[m] … and the model its randomness"""


def prepare(
    model_key: Key,
    action_key: Key,
    states: Array,
    action: Array | None,
    scene: Scene,
    epsilon: Array | float,
) -> tuple[ToAsk, None]:
    """All random numbers for states [m, d]; ε = 0 means actions without noise. What the model does
    not know, it will say when it is asked."""
    m = len(states)
    normal = jax.random.normal(action_key, (m, scene.env.spec.action_size or 0))
    normal = jnp.where(jnp.asarray(epsilon) > 0, normal, 0.0)
    return ToAsk(states, action, normal, jax.random.split(model_key, m)), None


def complete(
    agent: Agent, state: Any, rows: ToAsk, scene: Scene
) -> tuple[Transition, Array | None]:
    """Transitions [m, …] with an action of the behaviour as it is now, and which [m] of them the
    model does not know; None: it knows all."""
    if rows.action is not None:
        action = rows.action
    elif agent.explore is None:
        action = jax.vmap(agent.greedy, (None, 0))(state, rows.states)
    else:
        action = jax.vmap(agent.explore, (None, 0, 0))(state, rows.states, rows.normal)
    outcome, doubtful = jax.vmap(partial(ask, scene=scene))(rows.keys, rows.states, action)
    discount = scene.env.spec.discounts(outcome.terminated)
    rows_now = Transition(rows.states, action, outcome.reward, discount, outcome.next_obs)
    return rows_now, doubtful
