"""Uniform-Dyna: plan from anywhere."""

from dataclasses import dataclass

import jax

from hcdyna.numerics.randomness import below
from hcdyna.search_control.base import drawn
from hcdyna.types import Array, Environment, Key, Scene, SearchControl


@dataclass(frozen=True)
class Uniform:
    """Plan from states drawn uniformly from the whole state space: its box, then Π."""

    def build(self, env: Environment) -> SearchControl:
        return drawn(uniform_states)


def uniform_states(key: Key, scene: Scene, n: int) -> Array:
    """`n` states [n, d] from the environment's box, or from all states of a tabular one."""
    spec = scene.env.spec
    if spec.num_states is not None:
        return below(jax.random.bits(key, (n,)), spec.num_states)
    box = jax.random.uniform(key, (n, *spec.low.shape), minval=spec.low, maxval=spec.high)
    return jax.vmap(scene.env.project)(box)
