"""GridWorld: cross a square through the hole in a wall (Figure 1a), with four moves or any move."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.environments.base import with_reward_noise
from hcdyna.settings import check, number
from hcdyna.settings.fields import MOST
from hcdyna.types import Array, Box, Environment, Key, Outcome, Spec

MOVE = 0.05
START = 0.05
"""Episodes start uniformly on [0, START]²."""
GOAL = 0.95
"""Episodes end on [GOAL, 1]²."""
WALL = (0.5, 0.6)
"""The wall stands at these x, at every height but the hole."""
HOLE = (0.4, 0.5)
Wall = tuple[float, float, float, float]
"""Left and right edge of a wall, bottom and top of the hole in it."""
WALL_WITH_HOLE: Wall = (*WALL, *HOLE)
DIRECTIONS = np.array([[0, 1], [0, -1], [-1, 0], [1, 0]], np.float32)
"""Up, down, left, right."""


@dataclass(frozen=True)
class GridWorld:
    """The unit square with a wall and four moves of 0.05; −1 a step until the far corner."""

    wall: bool = True
    """A wall in the middle with a hole in it; off: an empty square."""
    move_noise: float = number(0.0, at_least=0)
    """Standard deviation of the length of a move."""
    goal_reward: float = -1.0
    """Reward of the step that reaches the goal."""
    reward_noise: float = number(0.0, at_least=0)
    """Standard deviation of the noise on every reward."""
    time_limit: int = number(2_000, at_least=1, at_most=MOST)
    """Steps after which an episode is truncated."""
    discount: float = number(0.99, at_least=0, at_most=1)
    """γ, the discount factor."""

    def __post_init__(self) -> None:
        check(self)

    def build(self) -> Environment:
        def displacement(key: Key, action: Array) -> Array:
            # A constant length stays out of the compiled random numbers altogether.
            noise = self.move_noise * jax.random.normal(key) if self.move_noise else 0.0
            return (MOVE + noise) * jnp.asarray(DIRECTIONS)[action]

        spec = _spec(self, "GridWorld")._replace(num_actions=4)
        walls = (WALL_WITH_HOLE,) if self.wall else ()
        return square_world(spec, displacement, walls, self.goal_reward, self.reward_noise)


@dataclass(frozen=True)
class GridWorldContinuous:
    """The same square with actions in [−1, 1]², each a move of 0.05·action."""

    wall: bool = True
    """A wall in the middle with a hole in it; off: an empty square."""
    goal_reward: float = -1.0
    """Reward of the step that reaches the goal."""
    reward_noise: float = number(0.0, at_least=0)
    """Standard deviation of the noise on every reward."""
    time_limit: int = number(2_000, at_least=1, at_most=MOST)
    """Steps after which an episode is truncated."""
    discount: float = number(0.99, at_least=0, at_most=1)
    """γ, the discount factor."""

    def __post_init__(self) -> None:
        check(self)

    def build(self) -> Environment:
        def displacement(key: Key, action: Array) -> Array:
            return MOVE * jnp.clip(action, -1.0, 1.0)

        spec = _spec(self, "GridWorldContinuous")._replace(action_size=2)
        walls = (WALL_WITH_HOLE,) if self.wall else ()
        return square_world(spec, displacement, walls, self.goal_reward, self.reward_noise)


def _spec(settings: GridWorld | GridWorldContinuous, name: str) -> Spec:
    return Spec(
        name=name,
        low=np.zeros(2, np.float32),
        high=np.ones(2, np.float32),
        discount=settings.discount,
        time_limit=settings.time_limit,
    )


def square_world(
    spec: Spec,
    displacement: Callable[[Key, Array], Array],
    walls: Sequence[Wall],
    goal_reward: float,
    reward_noise: float,
) -> Environment:
    """The unit square, from its lower left to its upper right corner. A move that would end in one
    of the walls leaves the agent where it was."""
    box = Box(spec.low, spec.high)

    def dynamics(key: Key, obs: Array, action: Array) -> Outcome:
        end = obs + displacement(key, action)
        blocked = jnp.zeros((), bool)
        for wall in walls:
            blocked |= in_wall(end, wall)
        next_obs = box(jnp.where(blocked, obs, end))
        terminated = at_goal(next_obs)
        return Outcome(next_obs, jnp.where(terminated, goal_reward, -1.0), terminated)

    env = Environment(
        spec,
        reset=lambda key: jax.random.uniform(key, (2,), maxval=START),
        dynamics=dynamics,
        project=box,
        terminal=at_goal,
    )
    return with_reward_noise(env, reward_noise)


def in_wall(obs: Array, wall: Wall = WALL_WITH_HOLE) -> Array:
    """Whether a point lies in a wall."""
    (x, y), (left, right, bottom, top) = (obs[0], obs[1]), wall
    return (x >= left) & (x <= right) & ~((y >= bottom) & (y <= top))


def at_goal(obs: Array) -> Array:
    """Whether a point lies in the goal area."""
    return jnp.all(obs >= GOAL)


def regions(environment: Any) -> list[tuple[str, float, float, float, float]]:
    """What stands in the square, to be drawn: name, left, right, bottom, top; nothing if these are
    the settings of another world."""
    if not isinstance(environment, GridWorld | GridWorldContinuous):
        return []
    found = [("start", 0.0, START, 0.0, START), ("goal", GOAL, 1.0, GOAL, 1.0)]
    heights = ((0.0, HOLE[0]), (HOLE[1], 1.0)) if environment.wall else ()
    return found + [("wall", *WALL, low, high) for low, high in heights]
