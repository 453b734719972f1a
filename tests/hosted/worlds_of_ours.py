"""Small Gymnasium environments, good ones and bad ones, registered when this is imported."""

import os
import time

import gymnasium
import numpy as np
from gymnasium import spaces


class Walk(gymnasium.Env):
    """Along a line from 0; the end is at 1. Options make it fail in many ways."""

    def __init__(self, fault=None, at=150, continuous=False, bounded=True, limit=30):
        size = 1.0 if bounded else np.inf
        self.observation_space = spaces.Box(-size, size, (2,), np.float32)
        self.action_space = (
            spaces.Box(-2.0, 2.0, (1,), np.float32) if continuous else spaces.Discrete(3, start=5)
        )
        self.fault, self.at, self.limit, self.steps = fault, at, limit, 0

    def _obs(self):
        return np.array([self.place, np.sin(self.place)], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if self.fault == "hangs" and self.steps >= self.at:
            time.sleep(30)
        self.place, self.age = float(self.np_random.uniform(-0.1, 0.1)), 0
        return self._obs() if self.fault == "old" else (self._obs(), {})

    def step(self, action):
        assert self.action_space.contains(action), action
        move = float(action[0]) / 2 if isinstance(action, np.ndarray) else action - 6
        self.place = float(np.clip(self.place + 0.1 * move, -1, 1))
        self.steps, self.age = self.steps + 1, self.age + 1
        if self.fault == "slow":
            time.sleep(0.003)
        obs, reward, end = self._obs(), -1.0, self.place >= 0.95
        if self.fault and self.steps >= self.at:
            if self.fault == "raises":
                raise OSError("the motor is gone")
            if self.fault == "dies":
                os._exit(3)
            if self.fault == "not finite":
                obs[1] = np.nan
            if self.fault == "shape":
                obs = obs[:1]
            if self.fault == "dtype":
                obs = obs.astype(np.float64)
            if self.fault == "reward":
                reward = float("nan")
        return obs, reward, bool(end), self.age >= self.limit, {}


class Pictures(gymnasium.Env):
    observation_space = spaces.Box(0, 255, (8, 8, 3), np.uint8)
    action_space = spaces.Discrete(2)


class ManyButtons(gymnasium.Env):
    observation_space = spaces.Box(0, 1, (2,), np.float32)
    action_space = spaces.MultiDiscrete([2, 3])


for name, entry, options in [
    ("Walk-v0", Walk, {}),
    ("WalkContinuous-v0", Walk, {"continuous": True}),
    ("WalkEndless-v0", Walk, {"bounded": False}),
    ("Raises-v0", Walk, {"fault": "raises"}),
    ("NotFinite-v0", Walk, {"fault": "not finite"}),
    ("Shape-v0", Walk, {"fault": "shape"}),
    ("Dtype-v0", Walk, {"fault": "dtype"}),
    ("Reward-v0", Walk, {"fault": "reward"}),
    ("Hangs-v0", Walk, {"fault": "hangs"}),
    ("Slow-v0", Walk, {"fault": "slow"}),
    ("Old-v0", Walk, {"fault": "old"}),
    ("Dies-v0", Walk, {"fault": "dies"}),
    ("Pictures-v0", Pictures, {}),
    ("ManyButtons-v0", ManyButtons, {}),
]:
    if name not in gymnasium.registry:
        gymnasium.register(name, entry_point=entry, kwargs=options, disable_env_checker=True)
