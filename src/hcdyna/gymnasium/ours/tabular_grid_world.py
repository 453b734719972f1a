"""TabularGridWorld for Gymnasium."""

from typing import Any

import numpy as np

from hcdyna.environments.tabular_grid_world import DIRECTIONS, TabularGridWorld
from hcdyna.gymnasium.ours.domain import Domain
from hcdyna.gymnasium.ours.drawing import GOAL, START, Picture, Region


class TabularGridWorldEnv(Domain):
    """size × size cells with slippery moves; a state is the integer column·size + row."""

    settings_class = TabularGridWorld

    def _start(self) -> int:
        return 0

    def _outcome(self, action: int) -> tuple[int, Any, bool]:
        direction, size = action, self.settings.size
        if self.np_random.random(dtype=np.float32) >= np.float32(self.settings.success):
            direction = int(self.np_random.integers(len(DIRECTIONS)))
        right, up = DIRECTIONS[direction]
        column, row = divmod(self.state, size)
        column = min(max(column + int(right), 0), size - 1)
        row = min(max(row + int(up), 0), size - 1)
        state = column * size + row
        return state, self._noisy(-1.0), state == size**2 - 1

    def _position(self) -> tuple[float, float]:
        column, row = divmod(self.state, self.settings.size)
        return (column + 0.5) / self.settings.size, (row + 0.5) / self.settings.size

    def _draw(self) -> Picture:
        cell = 1 / self.settings.size
        start = Region((0.0, 0.0, cell, cell), START, "start")
        goal = Region((1 - cell, 1 - cell, 1.0, 1.0), GOAL, "goal")
        return Picture([start, goal], self.settings.size)
