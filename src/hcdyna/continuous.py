"""Planning with continuous actions: the model is asked within the updates.

There is no asking it beforehand for the outcome of every action, and the action is known only when
the update comes, since the policy has changed by then.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from hcdyna.types import Agent, Array, Key, Scene, Spec, Transition


class ContinuousBatches(NamedTuple):
    """The n mini-batches of one time step, with b − m replayed and m simulated rows each."""

    replayed: Transition
    """[n, b − m, …]"""
    states: Array
    """[n, m, d] from search-control"""
    normal: Array
    """[n, m, size] standard normal numbers, from which the actions there get their noise …"""
    keys: Key
    """[n, m] … and the model its randomness"""
    ready: Array | None
    """[n] whether search-control has states to offer, the same for all; None: it always has"""
    fallback: Transition | None
    """[n, m, …] replayed rows to use where it has none"""


def random_numbers(
    action_key: Key, model_key: Key, spec: Spec, shape: tuple[int, int], epsilon: Array | float
) -> tuple[Array, Key]:
    """`normal` and `keys` of mini-batches of `shape` [n, m]; ε = 0 means actions without noise."""
    normal = jax.random.normal(action_key, (*shape, spec.action_size or 0))
    return jnp.where(jnp.asarray(epsilon) > 0, normal, 0.0), jax.random.split(model_key, shape)


def simulate(agent: Agent, state: Any, batch: ContinuousBatches, scene: Scene) -> Transition:
    """The m simulated rows of one mini-batch: actions of the behaviour as it is now."""
    if agent.explore is None:
        action = jax.vmap(agent.greedy, (None, 0))(state, batch.states)
    else:
        action = jax.vmap(agent.explore, (None, 0, 0))(state, batch.states, batch.normal)
    outcome = jax.vmap(scene.predict)(batch.keys, batch.states, action)
    discount = scene.env.spec.discount * (1.0 - outcome.terminated)
    return Transition(batch.states, action, outcome.reward, discount, outcome.next_obs)
