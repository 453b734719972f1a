"""A ring of the most recent items: the replay buffer and the search-control queue alike."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from hcdyna.numerics.randomness import below
from hcdyna.types import Array, Key, Spec, Transition


class Ring(NamedTuple):
    """`data` holds pytrees of arrays [capacity, …]; `total` counts all items ever added."""

    data: Any
    total: Array

    @property
    def capacity(self) -> int:
        return jax.tree.leaves(self.data)[0].shape[0]

    @property
    def size(self) -> Array:
        return jnp.minimum(self.total, self.capacity)


def init(item: Any, capacity: int) -> Ring:
    """An empty ring for items shaped like `item`."""
    data = jax.tree.map(lambda x: jnp.zeros((capacity, *jnp.shape(x)), jnp.result_type(x)), item)
    return Ring(data, jnp.zeros((), jnp.int32))


def of_steps(spec: Spec, capacity: int) -> Ring:
    """An empty ring for transitions."""
    obs, real = jnp.asarray(spec.example_obs()), jnp.zeros(())
    return init(Transition(obs, jnp.asarray(spec.example_action()), real, real, obs), capacity)


def extend(ring: Ring, items: Any, keep: Array) -> Ring:
    """Add those of `items` [m, …] where `keep` [m], in order; the oldest make room.

    What is not kept, or would leave again within this call, is sent to an index past the end and
    dropped there: a `cond` or `select` around the write would copy the whole ring.
    """
    order = jnp.cumsum(keep)
    stays = keep & (order[-1:] - order < ring.capacity)
    index = jnp.where(stays, (ring.total + order - 1) % ring.capacity, ring.capacity)
    data = jax.tree.map(lambda old, new: old.at[index].set(new, mode="drop"), ring.data, items)
    total = ring.total + jnp.sum(keep, dtype=jnp.int32)
    # Only `total % capacity` and `total ≥ capacity` matter: fold it back long before int32 ends.
    fold = (2**30 // ring.capacity) * ring.capacity
    return Ring(data, jnp.where(total >= fold + ring.capacity, total - fold, total))


def sample(key: Key, ring: Ring, n: int) -> Any:
    """`n` items [n, …], uniform with replacement. An empty ring gives its zeros."""
    return take(ring, jax.random.bits(key, (n,)))


def take(ring: Ring, bits: Array) -> Any:
    """The items [n, …] that random uint32 `bits` [n] fall on."""
    index = below(bits, jnp.maximum(ring.size, 1))
    return jax.tree.map(lambda x: x[index], ring.data)


def newest(ring: Ring) -> Any:
    """The item added last."""
    return jax.tree.map(lambda x: x[(ring.total - 1) % ring.capacity], ring.data)
