"""Any compiled environment as a Gymnasium one, for every library that knows Gymnasium."""

from collections.abc import Callable
from typing import Any

import gymnasium
import jax
import numpy as np
from gymnasium import spaces

from hcdyna.settings.errors import SettingsError
from hcdyna.types import Environment, Spec


class AsGymnasium(gymnasium.Env):
    """What `environment.build()` makes, as for `Settings`, behind Gymnasium's interface. The seeds
    of its random numbers are drawn from `np_random`."""

    state: Any
    """Where the agent is: the last observation."""

    def __init__(self, environment: Any) -> None:
        self.settings, env = environment, environment.build()
        self.observation_space, self.action_space = spaces_of(env.spec)
        self._compiled_start, self._compiled_step = compiled(env)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode, in `options["state"]` if that is given."""
        super().reset(seed=seed)
        if options and "state" in options:
            self.state = self._checked_state(options["state"])
        else:
            self.state = self._start()
        return self._observation(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Never truncated here: `gymnasium.make` and `wrappers.TimeLimit` add a time limit."""
        self.state, reward, terminated = self._outcome(self._checked_action(action))
        return self._observation(), float(reward), bool(terminated), False, {}

    def _start(self) -> Any:
        """A start state."""
        return self._own(self._compiled_start(self._seed()))

    def _outcome(self, action: Any) -> tuple[Any, float, bool]:
        """Next state, reward, and whether the episode has ended."""
        state, reward, terminated = self._compiled_step(self._seed(), self.state, action)
        return self._own(state), reward, terminated

    def _seed(self) -> np.uint32:
        return self.np_random.integers(2**32, dtype=np.uint32)

    def _own(self, state: Any) -> Any:
        """An array of the state space, or a whole number."""
        return np.array(state) if isinstance(self.observation_space, spaces.Box) else int(state)

    def _observation(self) -> Any:
        """A copy, because it is the caller's to change."""
        return self._own(self.state)

    def _checked_state(self, state: Any) -> Any:
        """A state that the caller wishes to start in."""
        if isinstance(self.observation_space, spaces.Box):
            state = np.array(state, self.observation_space.dtype)
        if not self.observation_space.contains(state):
            raise SettingsError(f"options['state'] = {state}: must lie in {self.observation_space}")
        return self._own(state)

    def _checked_action(self, action: Any) -> Any:
        """An index, for −1 must not count from the end, or numbers, which may lie beyond ±1."""
        space: Any = self.action_space
        if isinstance(space, spaces.Discrete):
            if not space.contains(action):
                most = space.n - 1
                raise SettingsError(f"action = {action!r}: must be a whole number from 0 to {most}")
            return int(action)
        numbers = np.asarray(action, np.float32)
        if numbers.shape != space.shape or np.isnan(numbers).any():
            size = space.shape[0]
            raise SettingsError(f"action = {action}: must be an array of {size} from -1 to 1")
        return numbers


def compiled(env: Environment) -> tuple[Callable[[Any], Any], Callable[[Any, Any, Any], Any]]:
    """seed → start state, and seed, state, action → Outcome; JAX starts with the first call."""
    return (
        jax.jit(lambda seed: env.reset(jax.random.key(seed))),
        jax.jit(lambda seed, obs, action: env.dynamics(jax.random.key(seed), obs, action)),
    )


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
