"""Gibbs: plan from states drawn with probability ∝ exp(V/T), exactly, over all discrete states."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from hcdyna.search_control.base import queued
from hcdyna.search_control.surfaces import Surface, on_surface, values_of
from hcdyna.settings import check, number
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.fields import MOST
from hcdyna.types import Array, Environment, Info, Key, Scene, SearchControl


@dataclass(frozen=True)
class Gibbs:
    """Queue states drawn from the Gibbs distribution of the values, anew at every time step."""

    samples: int = number(80, at_least=1, at_most=1_000_000)
    """How many states enter the queue per time step; a climb of the study offers as many."""
    temperature: float = number(1.0, above=0)
    """T: the distribution is ∝ exp(V/T)."""
    surface: Surface = "estimate"
    """The values: V̂, V* by value iteration, or V* by the paper's recipe."""
    queue_size: int = number(100_000, at_least=1, at_most=MOST)
    """Capacity of the search-control queue in states; the oldest leave first."""

    def __post_init__(self) -> None:
        check(self)

    def build(self, env: Environment) -> SearchControl:
        if env.spec.num_states is None:
            raise SettingsError(
                f"search_control = gibbs: {env.spec.name} has a continuous state space; "
                "gibbs needs discrete states"
            )

        def propose(key: Key, statistics: tuple, scene: Scene) -> tuple[Array, Array, Info]:
            states = gibbs_sample(key, values_of(scene), self.temperature, self.samples)
            return states, jnp.ones(self.samples, bool), {}

        return on_surface(self.surface, env, queued(propose, self.queue_size, never_empty=True))


def gibbs_sample(key: Key, values: Array, temperature: float | Array, n: int) -> Array:
    """`n` states with probability ∝ exp(values/temperature); values [states] of any size."""
    weights = jnp.exp((values - values.max()) / temperature)  # the largest is 1: no overflow
    # A written order of summation, since the bits must not depend on how many agents share it.
    cumulative = jax.lax.associative_scan(jnp.add, weights)
    point = jax.random.uniform(key, (n,)) * cumulative[-1]
    found = jnp.searchsorted(cumulative, point, side="right")
    return jnp.minimum(found, len(values) - 1).astype(jnp.int32)
