"""HC-Dyna on a lattice of discrete states, with V̂ or V*."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from hcdyna.numerics import ring
from hcdyna.search_control.base import queued
from hcdyna.search_control.lattice import lattice_climb
from hcdyna.search_control.surfaces import Surface, lattice_of, on_surface, values_of
from hcdyna.settings import check, number
from hcdyna.settings.fields import MOST
from hcdyna.types import Array, Environment, Info, Key, Scene, SearchControl


@dataclass(frozen=True)
class TabularHillClimbing:
    """Climb from a replay state to the steepest neighbours once per time step; queue the cells."""

    steps: int = number(80, at_least=1, at_most=1_000_000)
    """k, the number of climb steps per time step."""
    noise: float = number(0.05, at_least=0)
    """Standard deviation of the noise, where the lattice is [0, 1]²."""
    separate: bool = True
    """Queue a cell only if it is not the one queued before it in this climb."""
    surface: Surface = "estimate"
    """What to climb: V̂, V* by value iteration, or V* by the paper's recipe."""
    queue_size: int = number(100_000, at_least=1, at_most=MOST)
    """Capacity of the search-control queue in states; the oldest leave first."""

    def __post_init__(self) -> None:
        check(self)

    def build(self, env: Environment) -> SearchControl:
        lattice = lattice_of(env.spec, "tabular_hill_climbing")

        def propose(key: Key, statistics: tuple, scene: Scene) -> tuple[Array, Array, Info]:
            start_key, climb_key = jax.random.split(key)
            start = ring.sample(start_key, scene.replay, 1).obs[0]
            states = lattice_climb(
                climb_key, start, values_of(scene), lattice, steps=self.steps, noise=self.noise
            )
            # ε_a lies between 0 and the distance of two cells: what it keeps out is repetition.
            moved = jnp.concatenate([jnp.ones(1, bool), states[1:] != states[:-1]])
            return states, moved if self.separate else jnp.ones_like(moved), {}

        return on_surface(self.surface, env, queued(propose, self.queue_size, never_empty=True))
