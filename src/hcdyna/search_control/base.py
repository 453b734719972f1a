"""Adapters that lift a one-line idea to a search-control strategy.

`drawn` is for strategies that draw fresh states for every planning update, `queued` for those that
fill a queue once a time step. `with_value` lets any strategy look at another value function.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax

from hcdyna.numerics import ring
from hcdyna.types import Array, Info, Key, Pair, Rows, Scene, SearchControl, Transition


def drawn(draw: Callable[[Key, Scene, int], Array | Pair | Rows]) -> SearchControl:
    """A strategy from `draw(key, scene, n) → obs [n, d]`, a Pair of these and actions, or Rows."""
    return SearchControl(
        init=lambda obs: (),
        observe=lambda state, transition: state,
        update=lambda key, state, scene: (state, {}),
        ready=None,
        sample=lambda key, state, scene, n: draw(key, scene, n),
    )


class Queued(NamedTuple):
    """The queue B_sc, and whatever running statistics the strategy keeps."""

    queue: ring.Ring
    statistics: Any


def queue_of(state: Any) -> ring.Ring | None:
    """The queue of states in a strategy's state, for whoever looks on; None: it has none."""
    found = getattr(state, "queue", None)
    of_states = isinstance(found, ring.Ring) and jax.tree_util.all_leaves([found.data])
    return found if of_states else None


def queued(
    propose: Callable[[Key, Any, Scene], tuple[Array, Array, Info]],
    capacity: int,
    init: Callable[[Array], Any] = lambda obs: (),
    observe: Callable[[Any, Transition], Any] = lambda statistics, transition: statistics,
    never_empty: bool = False,
) -> SearchControl:
    """A strategy from `propose(key, statistics, scene) → states [m, d], accepted [m], info`.

    The accepted states enter a first-in, first-out queue of `capacity`, from which planning draws
    uniformly. `init(obs)` and `observe(statistics, transition)` keep running statistics. Set
    `never_empty` if every proposal has an accepted state: then no rows are drawn for an empty
    queue.
    """

    def update(key: Key, state: Queued, scene: Scene) -> tuple[Queued, Info]:
        states, accepted, info = propose(key, state.statistics, scene)
        queue = ring.extend(state.queue, states, accepted)
        info = info | {"accepted": accepted.mean(), "queue_size": queue.size.astype("float32")}
        return state._replace(queue=queue), info

    return SearchControl(
        init=lambda obs: Queued(ring.init(obs, capacity), init(obs)),
        observe=lambda state, transition: state._replace(
            statistics=observe(state.statistics, transition)
        ),
        update=update,
        ready=None if never_empty else lambda state: state.queue.total > 0,
        sample=lambda key, state, scene, n: ring.sample(key, state.queue, n),
    )


def with_value(strategy: SearchControl, value: Callable[[Array], Array]) -> SearchControl:
    """The same strategy on another value function, such as V*."""
    if strategy.sample is None:
        return strategy
    sample = strategy.sample

    def seen(scene: Scene) -> Scene:
        climb = scene.climb and partial(scene.climb, criterion=value)
        return scene._replace(value=value, climb=climb)

    return strategy._replace(
        update=lambda key, state, scene: strategy.update(key, state, seen(scene)),
        sample=lambda key, state, scene, n: sample(key, state, seen(scene), n),
    )
