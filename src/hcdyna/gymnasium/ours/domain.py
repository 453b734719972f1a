"""What our own domains add to the adapter: settings by keyword, steps in NumPy, and pictures.

Calling a compiled function for one step at a time takes over ten times as long as NumPy, and starts
JAX. The tests hold the two equal, bit for bit.
"""

from abc import abstractmethod
from collections import deque
from typing import Any, ClassVar

import gymnasium
import numpy as np

from hcdyna.gymnasium.ours.adapter import AsGymnasium
from hcdyna.gymnasium.ours.drawing import Picture
from hcdyna.gymnasium.ours.window import Window
from hcdyna.settings.errors import SettingsError

PATH = 80
"""So many recent positions are drawn."""
ELSEWHERE = {
    "time_limit": "give gymnasium.make the argument max_episode_steps instead",
    "discount": "with Gymnasium, the discount is a setting of the algorithm",
}
"""Settings of our domains that have another place in Gymnasium."""


class Domain(AsGymnasium):
    """One of our domains; a subclass has `_start`, `_outcome`, and how it looks."""

    metadata: dict[str, Any] = {"render_modes": ["human", "rgb_array"], "render_fps": 20}  # noqa: RUF012
    settings_class: ClassVar[type]
    """The domain's settings, whose fields are the keyword arguments of the environment."""

    def __init__(self, render_mode: str | None = None, **settings: Any) -> None:
        for name in ELSEWHERE.keys() & settings:
            raise SettingsError(f"{name} = {settings[name]!r}: {ELSEWHERE[name]}")
        modes = self.metadata["render_modes"]
        if render_mode not in (None, *modes):
            raise SettingsError(f"render_mode = {render_mode!r}: must be {' or '.join(modes)}")
        super().__init__(self.settings_class(**settings))
        self.render_mode = render_mode
        self._path: deque[tuple[float, float]] = deque(maxlen=PATH)
        self._picture: Picture | None = None
        self._window: Window | None = None
        if render_mode == "human":
            self._window = Window(type(self).__name__, self.metadata["render_fps"])

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        answer = super().reset(seed=seed, options=options)
        self._path.clear()
        self._arrive()
        return answer

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        answer = super().step(action)
        self._arrive()
        return answer

    def render(self) -> Any:
        """The picture [512, 512, 3] for "rgb_array"; "human" has shown it already."""
        if self.render_mode is None:
            gymnasium.logger.warn(
                'render() shows nothing without a mode: gymnasium.make(…, render_mode="rgb_array")'
            )
            return None
        return self._frame() if self.render_mode == "rgb_array" else None

    def close(self) -> None:
        if self._window is not None:
            self._window.close()

    def _noisy(self, reward: float) -> np.float32:
        deviation = self.settings.reward_noise
        if not deviation:
            return np.float32(reward)
        return np.float32(reward) + deviation * self.np_random.standard_normal(dtype=np.float32)

    def _arrive(self) -> None:
        if self.render_mode is not None:
            self._path.append(self._position())
        if self._window is not None:
            self._window.show(self._frame())

    def _frame(self) -> np.ndarray:
        if self._picture is None:
            self._picture = self._draw()
        return self._picture.frame(self._path)

    @abstractmethod
    def _position(self) -> tuple[float, float]:
        """Where in the unit square the state is drawn."""

    @abstractmethod
    def _draw(self) -> Picture:
        """The world without the agent."""
