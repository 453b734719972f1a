"""Small Gymnasium environments, good ones and bad ones, registered when this is imported."""

import os
import sys
import threading
import time
from typing import ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces


class Stop(BaseException):
    """No Exception."""


class Speechless(Exception):
    def __str__(self):
        raise ValueError("no words")


class Touchy(float):
    """A number that does not let itself be shown."""

    def __abs__(self):
        raise ValueError("leave me alone")

    __repr__ = __float__ = __abs__


def fails(fault, answer):
    """What `step` does instead of answering, or answers instead."""
    obs = answer[0]
    if fault == "raises":
        raise OSError("the motor is gone")
    if fault == "stops":
        raise Stop("enough")
    if fault == "interrupts":
        raise KeyboardInterrupt
    if fault == "speechless":
        raise Speechless
    if fault == "exits":
        sys.exit(0)
    if fault == "dies":
        os._exit(0)
    if fault == "freezes":
        time.sleep(600)
    changed = {
        "not finite": lambda: {"obs": obs * np.float32(np.nan)},
        "shape": lambda: {"obs": obs[:1]},
        "dtype": lambda: {"obs": obs.astype(np.float64)},
        "list": lambda: {"obs": obs.tolist()},
        "reward": lambda: {"reward": float("nan")},
        "complex": lambda: {"reward": np.complex64(1)},
        "bools": lambda: {"reward": np.array([True, False])},
        "large": lambda: {"reward": 1e39},
        "huge": lambda: {"reward": 10**400},
        "endless": lambda: {"reward": 10**5000},
        "time": lambda: {"reward": np.timedelta64(3)},
        "masked": lambda: {"obs": np.ma.masked_array(obs * np.float32(np.nan), [True, False])},
        "touchy": lambda: {"reward": Touchy(1.0)},
        "none": lambda: {"terminated": None},
        "text": lambda: {"terminated": "False"},
        "flags": lambda: {"truncated": np.array([True, False])},
        "zero": lambda: {"truncated": 0},
        "info": lambda: {"info": {"lock": threading.Lock()}},
        "bool": lambda: {"terminated": np.bool_(False), "truncated": np.array(False)},
    }[fault]()
    names = ("obs", "reward", "terminated", "truncated", "info")
    return tuple(changed.get(name, x) for name, x in zip(names, answer, strict=True))


class Walk(gymnasium.Env):
    """Along a line from 0; the end is at 1. Options make it fail in many ways.

    So does the variable WALK_FAULT, for worlds that shall fail only after training.
    """

    metadata: ClassVar = {"render_modes": ["rgb_array"]}
    made = 0

    def __init__(
        self,
        fault=None,
        at=150,
        continuous=False,
        bounded=True,
        limit=30,
        end=0.95,
        restless=False,
        render_mode=None,
    ):
        size = 1.0 if bounded else np.inf
        self.restless = restless
        self.observation_space = spaces.Box(-size, size, (3 if restless else 2,), np.float32)
        self.action_space = (
            spaces.Box(-2.0, 2.0, (1,), np.float32) if continuous else spaces.Discrete(3, start=5)
        )
        mood = os.environ.get("WALK_FAULT", "")
        self.fault, self.at = (mood, 5) if mood else (fault, at)
        self.limit, self.end, self.render_mode = limit, end, render_mode
        self.steps = self.resets = 0
        Walk.made += 1
        self.number = Walk.made

    def _obs(self):
        more = [self.number * self.place] if self.restless else []
        return np.array([self.place, np.sin(self.place), *more], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.resets += 1
        if self.fault == "hangs" and self.steps >= self.at:
            time.sleep(30)
        if self.fault == "second reset" and self.resets > 1:
            raise OSError("once is enough")
        self.place, self.age = float(self.np_random.uniform(-0.1, 0.1)), 0
        return self._obs() if self.fault == "old" else (self._obs(), {})

    def step(self, action):
        assert self.action_space.contains(action), action
        move = float(action[0]) / 2 if isinstance(action, np.ndarray) else action - 6
        self.place = float(np.clip(self.place + 0.1 * move, -1, 1))
        self.steps, self.age = self.steps + 1, self.age + 1
        if self.fault == "slow":
            time.sleep(0.003)
        reward = self.place if self.fault == "pays" else -1.0
        answer = self._obs(), reward, bool(self.place >= self.end), self.age >= self.limit, {}
        if self.fault in (
            None,
            "hangs",
            "slow",
            "old",
            "pays",
            "second reset",
            "close",
            "never closes",
        ):
            return answer
        return fails(self.fault, answer) if self.steps >= self.at else answer

    def render(self):
        return np.zeros((4, 4, 3), np.uint8)

    def close(self):
        if self.fault == "close":
            raise OSError("it is stuck")
        if self.fault == "never closes":
            time.sleep(600)


class NoSpaces(gymnasium.Env):
    action_space = spaces.Discrete(2)


class Empty(gymnasium.Env):
    observation_space = spaces.Box(0, 1, (0,), np.float32)
    action_space = spaces.Discrete(2)


class ExitsAtOnce(gymnasium.Env):
    def __init__(self):
        sys.exit(0)


class DiesAtOnce(gymnasium.Env):
    def __init__(self):
        os._exit(0)


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
    ("Endless-v0", Walk, {"limit": 10**9, "end": 2.0}),
    ("Short-v0", Walk, {"limit": 5, "fault": "pays"}),
    ("Pays-v0", Walk, {"fault": "pays"}),
    ("Restless-v0", Walk, {"restless": True, "bounded": False}),
    ("SecondReset-v0", Walk, {"fault": "second reset", "limit": 10**9}),
    ("Close-v0", Walk, {"fault": "close"}),
    ("NeverCloses-v0", Walk, {"fault": "never closes"}),
    ("At21-v0", Walk, {"fault": "raises", "at": 21}),
    ("NoSpaces-v0", NoSpaces, {}),
    ("Empty-v0", Empty, {}),
    ("ExitsAtOnce-v0", ExitsAtOnce, {}),
    ("DiesAtOnce-v0", DiesAtOnce, {}),
    ("Pictures-v0", Pictures, {}),
    ("ManyButtons-v0", ManyButtons, {}),
]:
    if name not in gymnasium.registry:
        gymnasium.register(name, entry_point=entry, kwargs=options, disable_env_checker=True)
