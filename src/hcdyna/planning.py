"""The planning updates of a time step: what they are drawn from, and the updates themselves.

`draw_mini_batches` makes all random choices, `plan` is then a deterministic function of them, so
that a faster version can stand behind the same interface.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from hcdyna import ring
from hcdyna.continuous import ContinuousBatches, random_numbers, simulate
from hcdyna.kernels.surface import Surface
from hcdyna.randomness import below, chance
from hcdyna.settings import Training
from hcdyna.types import Agent, Array, Info, Key, Pair, Scene, SearchControl, Transition

COIN = 0x434F494E
"""Sets the random numbers apart that decide where a row of a mini-batch comes from."""


class MiniBatches(NamedTuple):
    """The n mini-batches of one time step with all their random numbers: what `plan` consumes.

    Of each batch of b, m = ρb rows are simulated from search-control states and b − m replayed. The
    model does not change within a time step, so it is asked beforehand for the outcome of every
    action, and the update picks the ε-greedy one with the Q of that moment.
    """

    replayed: Transition
    """[n, b − m, …]"""
    states: Array
    """[n, m, d] from search-control"""
    reward: Array
    """[n, m, actions] of each action there …"""
    discount: Array
    """[n, m, actions] … γ·(1 − terminated) …"""
    next_states: Array
    """[n, m, actions, d] … and where it leads"""
    explore: Array
    """[n, m] whether the ε-greedy action is a random one …"""
    random_action: Array
    """[n, m] … and which"""
    ready: Array | None
    """[n] whether search-control has states to offer, the same for all; None: it always has.
    [n, m] whether a row is taken from there, where ρb is not whole and m = b"""
    fallback: Transition | None
    """[n, m, …] replayed rows to use otherwise"""


def draw_mini_batches(
    key: Key, search_control: SearchControl, search_state: Any, scene: Scene, training: Training
) -> MiniBatches | ContinuousBatches | Transition:
    """Draw all that the n updates of a time step need; only replay if nothing is to be simulated.

    Rows of a mini-batch are drawn independently, so those of all n come out of one draw.
    """
    replay_key, state_key, model_key, action_key, fallback_key = jax.random.split(key, 5)
    n, b = training.planning_steps, training.batch_size
    share = 0.0 if search_control.sample is None else training.mixing_rate * b
    # Where ρb is not whole, all rows are drawn from either source, and a coin decides for each.
    whole = math.isclose(share, round(share), abs_tol=1e-9)
    m = round(share) if whole else b

    def by_batch(rows: Any) -> Any:
        return jax.tree.map(lambda x: x.reshape(n, x.shape[0] // n, *x.shape[1:]), rows)

    replayed = by_batch(ring.sample(replay_key, scene.replay, n * (b - m)))
    if search_control.sample is None or m == 0:
        return replayed
    spec = scene.env.spec
    states = search_control.sample(state_key, search_state, scene, n * m)
    states, action = states if isinstance(states, Pair) else (states, None)
    ready, fallback = None, None
    if search_control.ready is not None:
        ready = jnp.broadcast_to(search_control.ready(search_state), n)
    if not whole:
        coin = jax.random.bits(jax.random.fold_in(key, COIN), (n, m))
        heads = chance(coin, training.mixing_rate)
        ready = heads if ready is None else heads & ready[:, None]
    if ready is not None:
        fallback = by_batch(ring.sample(fallback_key, scene.replay, n * m))
    if spec.num_actions is None:
        normal, keys = random_numbers(action_key, model_key, spec, (n, m), training.epsilon)
        return ContinuousBatches(replayed, by_batch(states), normal, keys, ready, fallback)
    every_action = jax.vmap(scene.predict, (None, None, 0))
    outcome = jax.vmap(every_action, (0, 0, None))(
        jax.random.split(model_key, n * m), states, jnp.arange(spec.num_actions)
    )
    explore, random_action = jax.random.bits(action_key, (2, n, m))
    return MiniBatches(
        replayed=replayed,
        states=by_batch(states),
        reward=by_batch(outcome.reward),
        discount=by_batch(spec.discount * (1.0 - outcome.terminated)),
        next_states=by_batch(outcome.next_obs),
        explore=chance(explore, training.epsilon) if action is None else jnp.ones((n, m), bool),
        random_action=(
            below(random_action, spec.num_actions) if action is None else by_batch(action)
        ),
        ready=ready,
        fallback=fallback,
    )


def plan(agent: Agent, state: Any, batches: Any, scene: Scene | None = None) -> tuple[Any, Info]:
    """The planning updates of a time step; pure, with its random numbers in `batches` [n, …].

    With continuous actions the model of `scene` is asked on the way. A value that shows its
    parameters says that there is a fused version.
    """
    if scene is not None and isinstance(scene.value, Surface) and fused_plan_covers(batches):
        from hcdyna.kernels.plan import plan as fused_plan

        return fused_plan(scene.value.perceptron, scene.env, state, batches)

    def step(state: Any, batch: Any) -> tuple[Any, Info]:
        if isinstance(batch, MiniBatches):
            batch = complete(agent, state, batch)
        elif isinstance(batch, ContinuousBatches):
            assert scene is not None, "continuous actions: the model must be at hand"
            batch = mix(simulate(agent, state, batch, scene), batch)
        return agent.update(state, batch)

    state, info = jax.lax.scan(step, state, batches)
    return state, jax.tree.map(lambda x: x[-1], info)


def fused_plan_covers(batches: Any) -> bool:
    """The kernel has no rows to fall back to where search-control has nothing to offer."""
    if isinstance(batches, MiniBatches):
        return batches.ready is None
    return isinstance(batches, Transition)


def complete(agent: Agent, state: Any, batch: MiniBatches) -> Transition:
    """One mini-batch [b, …]: ε-greedy simulated rows first, then replayed ones."""
    greedy = jax.vmap(agent.greedy, (None, 0))(state, batch.states)
    action = jnp.where(batch.explore, batch.random_action, greedy)
    simulated = Transition(
        obs=batch.states,
        action=action,
        reward=choose(batch.reward, action),
        discount=choose(batch.discount, action),
        next_obs=choose(batch.next_states, action),
    )
    return mix(simulated, batch)


def mix(simulated: Transition, batch: MiniBatches | ContinuousBatches) -> Transition:
    """One mini-batch [b, …] of simulated and replayed rows."""
    if batch.ready is not None:
        simulated = jax.tree.map(partial(where_row, batch.ready), simulated, batch.fallback)
    return jax.tree.map(lambda *rows: jnp.concatenate(rows), simulated, batch.replayed)


def where_row(condition: Array, x: Array, y: Array) -> Array:
    """Rows of x [m, …] where `condition` [m], else of y; one condition [] stands for all rows."""
    return jnp.where(condition.reshape(condition.shape + (1,) * (x.ndim - 1)), x, y)


def choose(table: Array, action: Array) -> Array:
    """Row `action` [m] of each `table` [m, actions, …]; a masked sum, since gathers are slow."""
    mask = jax.nn.one_hot(action, table.shape[1], dtype=bool)
    mask = mask.reshape(mask.shape + (1,) * (table.ndim - 2))
    return jnp.sum(jnp.where(mask, table, 0), axis=1, dtype=table.dtype)
