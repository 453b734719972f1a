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
    """The n mini-batches of one time step: see `planning.MiniBatches`."""

    replayed: Transition
    """[n, b − m, …], or [n, b, …] where rows may have to stand in for simulated ones"""
    simulated: Array | None
    """[n, m] whether a row is simulated, or else replayed; None: all m are"""
    states: Array
    """[n, m, d] from search-control"""
    normal: Array
    """[n, m, size] standard normal numbers, from which the actions there get their noise …"""
    keys: Key
    """[n, m] … and the model its randomness"""


def action_noise(key: Key, spec: Spec, rows: int, epsilon: Array | float) -> Array:
    """`normal` of one mini-batch; ε = 0 means actions without noise."""
    normal = jax.random.normal(key, (rows, spec.action_size or 0))
    return jnp.where(jnp.asarray(epsilon) > 0, normal, 0.0)


def simulate(agent: Agent, state: Any, batch: ContinuousBatches, scene: Scene) -> Transition:
    """The m simulated rows of one mini-batch: actions of the behaviour as it is now."""
    if agent.explore is None:
        action = jax.vmap(agent.greedy, (None, 0))(state, batch.states)
    else:
        action = jax.vmap(agent.explore, (None, 0, 0))(state, batch.states, batch.normal)
    outcome = jax.vmap(scene.predict)(batch.keys, batch.states, action)
    discount = scene.env.spec.discount * (1.0 - outcome.terminated)
    return Transition(batch.states, action, outcome.reward, discount, outcome.next_obs)
