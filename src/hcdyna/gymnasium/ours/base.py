"""What our Gymnasium environments share: spaces, seeding, noise of rewards, rendering.

A step is computed by NumPy and not by the JAX dynamics, since calling a compiled function for one
step at a time takes over ten times as long. The tests hold the two equal, bit for bit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces

from hcdyna.gymnasium.ours.drawing import Picture
from hcdyna.gymnasium.ours.window import Window
from hcdyna.settings.errors import SettingsError
from hcdyna.types import Spec

PATH = 80
"""So many recent positions are drawn."""
ELSEWHERE = {
    "time_limit": "give gymnasium.make the argument max_episode_steps instead",
    "discount": "with Gymnasium, the discount is a setting of the algorithm",
}
"""Settings of our domains that have another place in Gymnasium."""


class World(gymnasium.Env, ABC):
    """One of our domains. A subclass knows how it starts, what a step does and how it looks."""

    metadata: dict[str, Any] = {"render_modes": ["human", "rgb_array"], "render_fps": 20}  # noqa: RUF012
    settings_class: ClassVar[type]
    """The domain's settings, whose fields are the keyword arguments of the environment."""
    state: Any
    """Where the agent is: the last observation."""

    def __init__(self, render_mode: str | None = None, **settings: Any) -> None:
        for name in ELSEWHERE.keys() & settings:
            raise SettingsError(f"{name} = {settings[name]!r}: {ELSEWHERE[name]}")
        modes = self.metadata["render_modes"]
        if render_mode not in (None, *modes):
            raise SettingsError(f"render_mode = {render_mode!r}: must be {' or '.join(modes)}")
        self.render_mode = render_mode
        self.settings = self.settings_class(**settings)
        self.observation_space, self.action_space = spaces_of(self.settings.build().spec)
        self._path: deque[tuple[float, float]] = deque(maxlen=PATH)
        self._picture: Picture | None = None
        self._window: Window | None = None
        if render_mode == "human":
            self._window = Window(type(self).__name__, self.metadata["render_fps"])

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode, in `options["state"]` if that is given."""
        super().reset(seed=seed)
        if options and "state" in options:
            self.state = self._checked(options["state"])
        else:
            self.state = self._start()
        self._path.clear()
        self._arrive()
        return self._observation(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Never truncated here: `gymnasium.make` adds the time limit."""
        self.state, mean_reward, terminated = self._outcome(action)
        reward = np.float32(mean_reward)
        if self.settings.reward_noise:
            reward += self.settings.reward_noise * self.np_random.standard_normal(dtype=np.float32)
        self._arrive()
        return self._observation(), float(reward), bool(terminated), False, {}

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

    def _arrive(self) -> None:
        if self.render_mode is not None:
            self._path.append(self._position())
        if self._window is not None:
            self._window.show(self._frame())

    def _frame(self) -> np.ndarray:
        if self._picture is None:
            self._picture = self._draw()
        return self._picture.frame(self._path)

    def _observation(self) -> Any:
        """A copy, because it is the caller's to change."""
        return self.state.copy() if isinstance(self.state, np.ndarray) else self.state

    def _checked(self, state: Any) -> Any:
        """A state that the caller wishes to start in."""
        if isinstance(self.observation_space, spaces.Box):
            state = np.array(state, self.observation_space.dtype)
        if not self.observation_space.contains(state):
            raise SettingsError(f"options['state'] = {state}: must lie in {self.observation_space}")
        return state if isinstance(self.observation_space, spaces.Box) else int(state)

    @abstractmethod
    def _start(self) -> Any:
        """A start state, drawn from `self.np_random`."""

    @abstractmethod
    def _outcome(self, action: Any) -> tuple[Any, float, bool]:
        """Next state, reward without noise, and whether the episode has ended."""

    @abstractmethod
    def _position(self) -> tuple[float, float]:
        """Where in the unit square the state is drawn."""

    @abstractmethod
    def _draw(self) -> Picture:
        """The world without the agent."""


def spaces_of(spec: Spec) -> tuple[spaces.Space, spaces.Space]:
    """Observation space and action space."""
    observations: spaces.Space
    actions: spaces.Space
    if spec.num_states is None:
        observations = spaces.Box(spec.low, spec.high, dtype=np.float32)
    else:
        observations = spaces.Discrete(spec.num_states)
    if spec.num_actions is None:
        actions = spaces.Box(-1.0, 1.0, (spec.action_size or 0,), np.float32)
    else:
        actions = spaces.Discrete(spec.num_actions)
    return observations, actions


def checked_choice(space: Any, action: Any) -> int:
    """A discrete action as an index; −1 must not count from the end."""
    if not space.contains(action):
        raise SettingsError(f"action = {action!r}: must be a whole number from 0 to {space.n - 1}")
    return int(action)
