"""Mazes: GridWorld's square with other walls."""

from dataclasses import dataclass
from typing import Literal

import jax.numpy as jnp
import numpy as np

from hcdyna.environments.grid_world import DIRECTIONS, MOVE, Wall, square_world
from hcdyna.settings import check, number
from hcdyna.settings.fields import MOST
from hcdyna.types import Array, Environment, Key, Spec

LAYOUTS: dict[str, tuple[Wall, ...]] = {
    "three holes": ((0.2, 0.3, 0.4, 0.5), (0.4, 0.5, 0.9, 1.0), (0.7, 0.8, 0.1, 0.2)),
    "zigzag": ((0.25, 0.35, 0.8, 1.0), (0.65, 0.75, 0.0, 0.2)),
}
"""The first is the maze of the authors' later code, for frequency-based search-control."""


@dataclass(frozen=True)
class Maze:
    """The unit square with several walls and four moves of 0.05; −1 a step until the far corner."""

    layout: Literal["three holes", "zigzag"] = "three holes"
    """three holes: narrow ones, at different heights; zigzag: above one wall and below another."""
    time_limit: int = number(2_000, at_least=1, at_most=MOST)
    """Steps after which an episode is truncated."""
    discount: float = number(0.99, at_least=0, at_most=1)
    """γ, the discount factor."""

    def __post_init__(self) -> None:
        check(self)

    def build(self) -> Environment:
        def displacement(key: Key, action: Array) -> Array:
            return MOVE * jnp.asarray(DIRECTIONS)[action]

        low, high = np.zeros(2, np.float32), np.ones(2, np.float32)
        spec = Spec("Maze", low, high, self.discount, self.time_limit, num_actions=4)
        return square_world(spec, displacement, LAYOUTS[self.layout], -1.0, 0.0)
