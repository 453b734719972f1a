"""Simulated rows with discrete actions: the model is asked beforehand, for every action.

The model does not change within a time step, so that one call serves all n updates, each of which
then picks the ε-greedy action with the Q of that moment.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from hcdyna.numerics.randomness import below, chance
from hcdyna.planning.asking import ask
from hcdyna.types import Agent, Array, Key, Scene, Transition


class Asked(NamedTuple):
    """What the model answered for the states of a mini-batch."""

    states: Array
    """[m, d] from search-control"""
    reward: Array
    """[m, actions] of each action there …"""
    discount: Array
    """[m, actions] … γ·(1 − terminated) …"""
    next_states: Array
    """[m, actions, d] … and where it leads"""
    explore: Array
    """[m] whether the ε-greedy action is a random one …"""
    random_action: Array
    """[m] … and which"""


def prepare(
    model_key: Key,
    action_key: Key,
    states: Array,
    action: Array | None,
    scene: Scene,
    epsilon: Array | float,
) -> tuple[Asked, Array | None]:
    """Ask the model for states [m, d]; `action` [m] is to be taken there, or else ε-greedy ones.

    Also the share [m] of a state's outcomes that the model does not know; None: it knows all.
    """
    m, spec = len(states), scene.env.spec
    num_actions = spec.num_actions or 0
    every_action = jax.vmap(partial(ask, scene=scene), (None, None, 0))
    every_state = jax.vmap(every_action, (0, 0, None))
    keys = jax.random.split(model_key, m)
    outcome, doubtful = every_state(keys, states, jnp.arange(num_actions))
    explore, random_action = jax.random.bits(action_key, (m, 2)).T
    asked = Asked(
        states=states,
        reward=outcome.reward,
        discount=spec.discounts(outcome.terminated),
        next_states=outcome.next_obs,
        explore=chance(explore, epsilon) if action is None else jnp.ones(m, bool),
        random_action=below(random_action, num_actions) if action is None else action,
    )
    return asked, None if doubtful is None else jnp.mean(doubtful.astype(jnp.float32), axis=1)


def complete(agent: Agent, state: Any, rows: Asked, scene: Scene) -> tuple[Transition, None]:
    """Transitions [m, …] with the ε-greedy action of the agent as it is now; what the model does
    not know was dealt with before."""
    greedy = jax.vmap(agent.greedy, (None, 0))(state, rows.states)
    action = jnp.where(rows.explore, rows.random_action, greedy)
    transitions = Transition(
        obs=rows.states,
        action=action,
        reward=choose(rows.reward, action),
        discount=choose(rows.discount, action),
        next_obs=choose(rows.next_states, action),
    )
    return transitions, None


def choose(table: Array, action: Array) -> Array:
    """Row `action` [m] of each `table` [m, actions, …]; a masked sum, since gathers are slow."""
    mask = jax.nn.one_hot(action, table.shape[1], dtype=bool)
    mask = mask.reshape(mask.shape + (1,) * (table.ndim - 2))
    return jnp.sum(jnp.where(mask, table, 0), axis=1, dtype=table.dtype)
