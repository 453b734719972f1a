"""Prioritised replay (Schaul et al., 2016): learn more often from what was predicted badly."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from hcdyna.numerics import ring
from hcdyna.settings import Training, check, number
from hcdyna.types import Array, Key, Rows, Scene, SearchControl, Transition


@dataclass(frozen=True)
class PrioritisedReplay:
    """Replay transitions with probability ∝ p = (|δ| + floor)^α, where δ is their TD error when
    they were last learned from. New ones get the highest p in the buffer."""

    alpha: float = number(0.6, at_least=0)
    """α: exponent of the priority; 0 draws uniformly."""
    beta: float = number(0.4, at_least=0, static=True)
    """β: weights (lowest p / p)^β correct for non-uniform sampling, fully with 1; 0: no weights."""
    floor: float = number(0.01, above=0)
    """Added to |δ|, so that every transition can be drawn."""

    def __post_init__(self) -> None:
        check(self)

    def build(self, training: Training) -> SearchControl:
        def observe(state: ring.Ring, transition: Transition) -> ring.Ring:
            highest = jnp.where(state.total > 0, jnp.max(state.data), 1.0)
            return ring.extend(state, highest[None], jnp.ones(1, bool))  # turns as replay does

        def sample(key: Key, state: ring.Ring, scene: Scene, n: int) -> Rows:
            p, index = state.data, draw(key, state.data, n)
            lowest = jnp.min(jnp.where(p > 0, p, jnp.inf))
            weight = (lowest / p[index]) ** self.beta if self.beta > 0 else None
            return Rows(jax.tree.map(lambda x: x[index], scene.replay.data), weight, index)

        def learned(state: ring.Ring, tags: Array, td_errors: Array) -> ring.Ring:
            index = jnp.where(tags < 0, state.capacity, tags)  # past the end: dropped
            p = (jnp.abs(td_errors) + self.floor) ** self.alpha
            # A row may occur twice: the larger error counts, whichever is written first.
            cleared = state.data.at[index].set(0.0, mode="drop")
            return state._replace(data=cleared.at[index].max(p, mode="drop"))

        init = lambda obs: ring.init(jnp.zeros(()), training.replay_size)  # noqa: E731
        return SearchControl(init, observe, lambda k, state, s: (state, {}), None, sample, learned)


def draw(key: Key, p: Array, n: int) -> Array:
    """`n` indices with probability ∝ p, down a tree of sums (in a written order, for same bits)."""
    sums = [p]
    while len(sums[-1]) > 1:  # item i of one level is part of sum i % len(above) in that above
        sums.append(jnp.pad(sums[-1], (0, len(sums[-1]) % 2)).reshape(2, -1).sum(axis=0))
    index, randoms = jnp.zeros(n, jnp.int32), jax.random.uniform(key, (n, len(sums) - 1)).T
    for level, above, u in zip(sums[-2::-1], sums[:0:-1], randoms, strict=True):
        index += jnp.where(u * above[index] < level[index], 0, len(above))
    return index
