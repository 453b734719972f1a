"""The planning updates of a time step: what they are drawn from, and the updates themselves.

`draw_mini_batches` makes all random choices, `plan` is then a function of them, so that a faster
version can stand behind the same interface.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from hcdyna.numerics import ring
from hcdyna.planning import continuous, discrete
from hcdyna.planning.budget import Budget, simulated_rows
from hcdyna.settings.errors import SettingsError
from hcdyna.types import Agent, Array, Info, Key, Pair, Rows, Scene, SearchControl, Spec, Transition

TOLD = "td_error"
"""The entry of an update's info that strategies may ask to be told."""


class MiniBatches(NamedTuple):
    """The n mini-batches of one time step with all their random numbers: what `plan` consumes.

    Of each batch of b rows, the first m = ρb come from search-control and the rest are replayed.
    """

    replayed: Transition
    """[n, b − m, …], or [n, b, …] where rows may have to stand in for others"""
    simulated: Array | None
    """[n, m] whether a row comes from search-control, or else is replayed; None: all m do"""
    rows: Any
    """[n, m, …] `discrete.Asked`, `continuous.ToAsk`, or whole Transitions; None: m = 0"""
    weight: Array | None = None
    """[n, m] how much these count; None: as much as the others"""
    tag: Array | None = None
    """[n, m] by which the strategy knows them again"""
    doubtful: Array | None = None
    """[n, m] share of a row's outcomes that the model does not know; None: not asked yet"""


def actions_of(spec: Spec) -> Any:
    """How rows get their actions: the module `discrete` or `continuous`."""
    return continuous if spec.num_actions is None else discrete


def draw_mini_batches(
    key: Key,
    search_control: SearchControl,
    search_state: Any,
    scene: Scene,
    budget: Budget,
    epsilon: Array | float,
) -> MiniBatches:
    """Draw all that the n updates of a time step need.

    Each mini-batch has a key of its own, and the first rows of a longer draw are those of a shorter
    one. So a batch is the same whether n and ρ are fixed or vary within the program.
    """

    def draw(key: Key, batch: Array) -> MiniBatches:
        view = scene._replace(batch=batch)
        return draw_mini_batch(key, search_control, search_state, view, budget, epsilon)

    return jax.vmap(draw)(jax.random.split(key, budget.most), jnp.arange(budget.most))


def draw_mini_batch(
    key: Key,
    search_control: SearchControl,
    search_state: Any,
    scene: Scene,
    budget: Budget,
    epsilon: Array | float,
) -> MiniBatches:
    """One of them."""
    replay_key, state_key, model_key, action_key = jax.random.split(key, 4)
    m, simulated = simulated_rows(key, search_control, search_state, budget)
    gives_way = scene.doubt is not None and scene.instead is None
    asks = gives_way or scene.competent is not None or scene.can_be is not None
    if asks and simulated is None and m > 0:
        simulated = jnp.ones(m, bool)
    # From the last one on, so that the last rows are the same however many are needed.
    count = budget.batch_size - (m if simulated is None else 0)
    replayed = ring.take(scene.replay, jax.random.bits(replay_key, (count,))[::-1])
    if search_control.sample is None or m == 0:
        return MiniBatches(replayed, None, None)
    found = search_control.sample(state_key, search_state, scene, m)
    if isinstance(found, Rows):
        return MiniBatches(replayed, simulated, *found)
    # Else XLA would look each state up again for every number that the model computes from it.
    found = jax.lax.optimization_barrier(found)
    states, action = found if isinstance(found, Pair) else (found, None)
    prepare = actions_of(scene.env.spec).prepare
    rows, doubtful = prepare(model_key, action_key, states, action, scene, epsilon)
    if simulated is not None:
        usable = usable_states(states, scene)
        simulated &= usable
        doubtful = None if doubtful is None else jnp.where(usable, doubtful, 1.0)
    if gives_way and doubtful is not None:
        simulated &= doubtful == 0
    return MiniBatches(replayed, simulated, rows, doubtful=doubtful)


def usable_states(states: Array, scene: Scene) -> Array:
    """From which of the states [m, d] the model is to be planned with."""
    usable = jnp.ones(len(states), bool)
    if scene.competent is not None:
        usable &= scene.competent()
    if scene.can_be is not None:
        usable &= jax.vmap(scene.can_be)(states)
    return usable


def plan(
    key: Key,
    agent: Agent,
    state: Any,
    batches: MiniBatches,
    scene: Scene,
    count: Array | None = None,
    tell: bool = False,
) -> tuple[Any, Info]:
    """The planning updates of a time step; what they draw on is in `batches` [n, …].

    `count` says how many of them to make where n varies within the program. To `tell`, the info
    holds the TD errors [n, b] of all rows.
    """
    if agent.plan is not None and not (tell or isinstance(batches.rows, Transition)):
        found = agent.plan(state, batches, count)
        if found is not None:
            return found

    def step(state: Any, turn: tuple[Array, MiniBatches]) -> tuple[Any, Info]:
        batch, weight, doubtful = complete(agent, state, turn[1], scene)
        state, info = agent.update(jax.random.fold_in(key, turn[0]), state, batch, weight)
        return state, info | ({} if doubtful is None else {"doubtful": jnp.mean(doubtful)})

    turns = (jnp.arange(len(batches.replayed.reward)), batches)
    if count is None:
        state, info = jax.lax.scan(step, state, turns)
        return state, {name: x if name == TOLD else x[-1] for name, x in info.items()}

    def step_if_due(carry: Any, turn: Any) -> tuple[Any, Any]:
        new = step(carry[0], turn)
        kept = jax.tree.map(lambda x, y: jnp.where(turn[0] < count, x, y), new, carry)
        return kept, kept[1].get(TOLD)

    _, shapes = jax.eval_shape(step, state, jax.tree.map(lambda x: x[0], turns))
    nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
    (state, info), told = jax.lax.scan(step_if_due, (state, nothing), turns)
    return state, info | ({} if told is None else {TOLD: told})


def complete(
    agent: Agent, state: Any, batch: MiniBatches, scene: Scene
) -> tuple[Transition, Array | None, Array | None]:
    """One mini-batch [b, …], the rows of search-control first, how much each row counts, and which
    of the simulated rows the model did not know when it was asked now."""
    if batch.rows is None:
        return batch.replayed, None, None
    rows, doubtful, simulated = batch.rows, None, batch.simulated
    if not isinstance(rows, Transition):
        rows, doubtful = actions_of(scene.env.spec).complete(agent, state, rows, scene)
    if doubtful is not None:
        doubtful |= ~usable_states(rows.obs, scene)
    if doubtful is not None and scene.instead is None:
        simulated &= ~doubtful
    replayed, weight = batch.replayed, batch.weight
    if simulated is not None:
        m = len(rows.reward)
        instead, replayed = (jax.tree.map(lambda x: x[:m], replayed),
                             jax.tree.map(lambda x: x[m:], replayed))  # fmt: skip
        rows = jax.tree.map(partial(where_row, simulated), rows, instead)
        weight = None if weight is None else jnp.where(simulated, weight, 1.0)
    whole = jax.tree.map(lambda *parts: jnp.concatenate(parts), rows, replayed)
    if weight is not None:
        weight = jnp.concatenate([weight, jnp.ones(len(replayed.reward))])
    return whole, weight, doubtful


def tell_errors(
    search_control: SearchControl, search_state: Any, batches: MiniBatches, info: Info, n: Any
) -> Any:
    """The strategy's state after it was told how wrong its rows turned out."""
    learned = search_control.learned
    assert learned is not None
    if TOLD not in info:
        raise SettingsError(f"agent: its updates tell no {TOLD}, which this search control needs")
    if batches.tag is None:
        raise SettingsError("search_control: rows without tags can't be told their TD errors")
    used = jnp.ones(batches.tag.shape, bool) if batches.simulated is None else batches.simulated
    if n is not None:
        used &= (jnp.arange(len(used)) < n)[:, None]
    tags = jnp.where(used, batches.tag, -1)
    return learned(search_state, tags.reshape(-1), info[TOLD][:, : tags.shape[1]].reshape(-1))


def where_row(condition: Array, x: Array, y: Array) -> Array:
    """Rows of x [m, …] where `condition` [m], else of y."""
    return jnp.where(condition.reshape(condition.shape + (1,) * (x.ndim - 1)), x, y)
