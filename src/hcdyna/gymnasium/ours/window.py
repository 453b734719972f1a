"""A window on the screen, by pygame."""

import importlib
from typing import Any

import numpy as np
from gymnasium.error import DependencyNotInstalled


class Window:
    """Shows one frame after the other; opens with the first."""

    def __init__(self, title: str, frames_per_second: int) -> None:
        try:
            self._pygame: Any = importlib.import_module("pygame")
        except ImportError as error:
            raise DependencyNotInstalled(
                'render_mode="human" needs pygame: pip install "hcdyna[render]"'
            ) from error
        self._title = title
        self._frames_per_second = frames_per_second
        self._screen: Any = None

    def show(self, frame: np.ndarray) -> None:
        """frame [height, width, 3], held until it is time for the next."""
        pygame = self._pygame
        if self._screen is None:
            pygame.display.init()
            pygame.display.set_caption(self._title)
            self._screen = pygame.display.set_mode((frame.shape[1], frame.shape[0]))
            self._clock = pygame.time.Clock()
        pygame.surfarray.blit_array(self._screen, frame.swapaxes(0, 1))
        pygame.event.pump()
        pygame.display.flip()
        self._clock.tick(self._frames_per_second)

    def close(self) -> None:
        if self._screen is not None:
            self._pygame.display.quit()
            self._screen = None
