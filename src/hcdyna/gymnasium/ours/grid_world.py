"""GridWorld for Gymnasium, with four moves or any move."""

from abc import abstractmethod
from typing import Any

import numpy as np

from hcdyna.environments import grid_world
from hcdyna.environments.grid_world import DIRECTIONS, GOAL, MOVE, START
from hcdyna.gymnasium.ours import drawing
from hcdyna.gymnasium.ours.domain import Domain
from hcdyna.gymnasium.ours.drawing import Picture, Region


class _Square(Domain):
    """The unit square with its wall; a subclass turns an action into a move."""

    def _start(self) -> np.ndarray:
        return self.np_random.random(2, dtype=np.float32) * np.float32(START)

    def _outcome(self, action: Any) -> tuple[np.ndarray, Any, bool]:
        end = self.state + self._displacement(action)
        if self.settings.wall and grid_world.in_wall(end):
            end = self.state
        state = end.clip(0.0, 1.0)
        terminated = (state >= GOAL).all()
        return state, self._noisy(self.settings.goal_reward if terminated else -1.0), terminated

    @abstractmethod
    def _displacement(self, action: Any) -> np.ndarray:
        """The move that an action asks for, before wall and box have their say."""

    def _position(self) -> tuple[float, float]:
        return float(self.state[0]), float(self.state[1])

    def _draw(self) -> Picture:
        colours = {"start": drawing.START, "goal": drawing.GOAL, "wall": drawing.WALL}
        found = [
            Region((left, bottom, right, top), colours[name], name * (name != "wall"))
            for name, left, right, bottom, top in grid_world.regions(self.settings)
        ]
        return Picture(found)


class GridWorldEnv(_Square):
    """Four moves of 0.05: up, down, left, right; −1 a step until the far corner."""

    settings_class = grid_world.GridWorld

    def _displacement(self, action: int) -> np.ndarray:
        if not self.settings.move_noise:
            return MOVE * DIRECTIONS[action]
        noise = self.settings.move_noise * self.np_random.standard_normal(dtype=np.float32)
        return (MOVE + noise) * DIRECTIONS[action]


class GridWorldContinuousEnv(_Square):
    """Actions in [−1, 1]², each a move of 0.05·action; actions outside are clipped."""

    settings_class = grid_world.GridWorldContinuous

    def _displacement(self, action: np.ndarray) -> np.ndarray:
        return MOVE * action.clip(-1.0, 1.0)
