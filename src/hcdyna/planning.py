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
from hcdyna.continuous import ContinuousBatches, action_noise, simulate
from hcdyna.kernels.surface import Surface
from hcdyna.randomness import below, chance
from hcdyna.settings import Training
from hcdyna.types import Agent, Array, Info, Key, Pair, Scene, SearchControl, Transition
from hcdyna.varying import most

COIN = 0x434F494E
"""Sets the random numbers apart that decide where a row of a mini-batch comes from."""


class MiniBatches(NamedTuple):
    """The n mini-batches of one time step with all their random numbers: what `plan` consumes.

    Of each batch of b rows, the first m = ρb are simulated from search-control states and the rest
    replayed. The model does not change within a time step, so it is asked beforehand for the
    outcome of every action, and the update picks the ε-greedy one with the Q of that moment.
    """

    replayed: Transition
    """[n, b − m, …], or [n, b, …] where rows may have to stand in for simulated ones"""
    simulated: Array | None
    """[n, m] whether a row is simulated, or else replayed; None: all m are"""
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


def draw_mini_batches(
    key: Key, search_control: SearchControl, search_state: Any, scene: Scene, training: Training
) -> MiniBatches | ContinuousBatches | Transition:
    """Draw all that the n updates of a time step need; only replay if nothing is to be simulated.

    Each mini-batch has a key of its own, and the first rows of a longer draw are those of a shorter
    one. So a batch is the same whether n and ρ are fixed or vary within the program.
    """
    n = most(training.planning_steps)

    def draw(key: Key, batch: Array) -> MiniBatches | ContinuousBatches | Transition:
        view = scene._replace(batch=batch)
        return draw_mini_batch(key, search_control, search_state, view, training)

    return jax.vmap(draw)(jax.random.split(key, n), jnp.arange(n))


def draw_mini_batch(
    key: Key, search_control: SearchControl, search_state: Any, scene: Scene, training: Training
) -> MiniBatches | ContinuousBatches | Transition:
    """One of them."""
    replay_key, state_key, model_key, action_key = jax.random.split(key, 4)
    m, simulated = simulated_rows(key, search_control, search_state, training)

    def replayed_rows(rows: int) -> Transition:
        """From the last one on, so that the last rows are the same however many are needed."""
        return ring.take(scene.replay, jax.random.bits(replay_key, (rows,))[::-1])

    replayed = replayed_rows(training.batch_size - (m if simulated is None else 0))
    if search_control.sample is None or m == 0:
        return replayed
    spec = scene.env.spec
    states = search_control.sample(state_key, search_state, scene, m)
    states, action = states if isinstance(states, Pair) else (states, None)
    model_keys = jax.random.split(model_key, m)
    if spec.num_actions is None:
        normal = action_noise(action_key, spec, m, training.epsilon)
        return ContinuousBatches(replayed, simulated, states, normal, model_keys)
    every_action = jax.vmap(scene.predict, (None, None, 0))
    outcome = jax.vmap(every_action, (0, 0, None))(model_keys, states, jnp.arange(spec.num_actions))
    explore, random_action = jax.random.bits(action_key, (m, 2)).T
    return MiniBatches(
        replayed=replayed,
        simulated=simulated,
        states=states,
        reward=outcome.reward,
        discount=spec.discount * (1.0 - outcome.terminated),
        next_states=outcome.next_obs,
        explore=chance(explore, training.epsilon) if action is None else jnp.ones(m, bool),
        random_action=below(random_action, spec.num_actions) if action is None else action,
    )


def simulated_rows(
    key: Key, search_control: SearchControl, search_state: Any, training: Training
) -> tuple[int, Array | None]:
    """m, and which of the m rows are simulated in truth; None: all of them.

    Where ρb is not whole, a coin decides for each row, and where ρ varies within the program, its
    value does: then m = b.
    """
    b, rho = training.batch_size, training.mixing_rate
    if search_control.sample is None:
        return 0, None
    ready = None if search_control.ready is None else search_control.ready(search_state)
    fixed = isinstance(rho, int | float)
    if fixed and math.isclose(rho * b, round(rho * b), abs_tol=1e-9):
        m = round(rho * b)
        return m, None if ready is None else jnp.broadcast_to(ready, m)
    share = jnp.asarray(rho, jnp.float32) * b
    heads = chance(jax.random.bits(jax.random.fold_in(key, COIN), (b,)), rho)
    whole = jnp.abs(share - jnp.round(share)) < 1e-4
    taken = jnp.where(whole, jnp.arange(b) < jnp.round(share), heads)
    return b, taken if ready is None else taken & ready


def plan(
    agent: Agent, state: Any, batches: Any, scene: Scene | None = None, count: Array | None = None
) -> tuple[Any, Info]:
    """The planning updates of a time step; pure, with its random numbers in `batches` [n, …].

    `count` says how many of them to make where n varies within the program. With continuous actions
    the model of `scene` is asked on the way. A value that shows its parameters says that there is a
    fused version.
    """
    if scene is not None and isinstance(scene.value, Surface):
        from hcdyna.kernels.plan import covers
        from hcdyna.kernels.plan import plan as fused_plan

        if covers(batches):
            return fused_plan(scene.value.perceptron, scene.env, state, batches, count)

    def step(state: Any, batch: Any) -> tuple[Any, Info]:
        if isinstance(batch, MiniBatches):
            batch = complete(agent, state, batch)
        elif isinstance(batch, ContinuousBatches):
            assert scene is not None, "continuous actions: the model must be at hand"
            batch = mix(simulate(agent, state, batch, scene), batch)
        return agent.update(state, batch)

    if count is None:
        state, info = jax.lax.scan(step, state, batches)
        return state, jax.tree.map(lambda x: x[-1], info)

    def step_if_due(carry: Any, batch: Any) -> tuple[Any, None]:
        index, old = carry[0], carry[1:]
        new = step(old[0], batch)
        kept = jax.tree.map(lambda x, y: jnp.where(index < count, x, y), new, old)
        return (index + 1, *kept), None

    _, shapes = jax.eval_shape(step, state, jax.tree.map(lambda x: x[0], batches))
    nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
    (_, state, info), _ = jax.lax.scan(step_if_due, (jnp.int32(0), state, nothing), batches)
    return state, info


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
    replayed = batch.replayed
    if batch.simulated is not None:
        m = batch.states.shape[0]
        instead = jax.tree.map(lambda x: x[:m], replayed)
        replayed = jax.tree.map(lambda x: x[m:], replayed)
        simulated = jax.tree.map(partial(where_row, batch.simulated), simulated, instead)
    return jax.tree.map(lambda *rows: jnp.concatenate(rows), simulated, replayed)


def where_row(condition: Array, x: Array, y: Array) -> Array:
    """Rows of x [m, …] where `condition` [m], else of y."""
    return jnp.where(condition.reshape(condition.shape + (1,) * (x.ndim - 1)), x, y)


def choose(table: Array, action: Array) -> Array:
    """Row `action` [m] of each `table` [m, actions, …]; a masked sum, since gathers are slow."""
    mask = jax.nn.one_hot(action, table.shape[1], dtype=bool)
    mask = mask.reshape(mask.shape + (1,) * (table.ndim - 2))
    return jnp.sum(jnp.where(mask, table, 0), axis=1, dtype=table.dtype)
