"""Environments of all agents on the host, with everything that they answer checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hcdyna.errors import RunError
from hcdyna.hosted.environment import Hosted, to_action
from hcdyna.hosted.failure import within
from hcdyna.hosted.processes import Remote, environments

RANDOM_STEPS = 1_000
"""For the scale of variables without bounds."""


class Scale(NamedTuple):
    """scaled = (obs − centre) / width"""

    centre: np.ndarray
    width: np.ndarray

    def __call__(self, obs: np.ndarray) -> np.ndarray:
        return ((obs - self.centre) / self.width).astype(np.float32)


class Step(NamedTuple):
    """What all environments answered to one action each; `obs` is the true final observation."""

    obs: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray


class Worlds:
    """One environment for each agent. After an episode's end it waits for `reset`."""

    def __init__(self, hosted: Hosted, seeds: list[int]) -> None:
        self.hosted, self.seeds = hosted, seeds
        self.envs = environments(hosted, len(seeds))
        self.space: Any = self.envs[0].observation_space
        self.scale = scale_of(hosted) if hosted.scaling else None
        self.steps = 0

    def reset(self, index: int, first: bool = False) -> np.ndarray:
        """A new episode of one agent; the first one is seeded."""
        env, seed = self.envs[index], self.seeds[index] if first else None

        def patiently() -> Any:
            return within(self.hosted, lambda: env.reset(seed=seed), self.steps)

        answer = self._ask("reset", patiently)
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise self._wrong("reset", "did not return (obs, info)")
        return self._seen(answer[0], "reset")

    def step(self, actions: np.ndarray) -> Step:
        """One step of all agents."""
        self.steps += 1
        given = [to_action(env.action_space, x) for env, x in zip(self.envs, actions, strict=True)]
        self._ask("step", lambda: ask_ahead(self.envs, given))
        rows = [self._step(env, action) for env, action in zip(self.envs, given, strict=True)]
        obs, reward, terminated, truncated = zip(*rows, strict=True)
        return Step(
            np.stack(obs), np.array(reward, np.float32), np.array(terminated), np.array(truncated)
        )

    def close(self) -> None:
        for env in self.envs:
            env.close()

    def _step(self, env: Any, action: Any) -> tuple:
        answer = self._ask("step", lambda: env.step(action))
        if not isinstance(answer, tuple) or len(answer) != 5:
            raise self._wrong("step", "did not return (obs, reward, terminated, truncated, info)")
        obs, reward, terminated, truncated, _ = answer
        if not isinstance(reward, int | float | np.number) or not np.isfinite(reward):
            raise self._wrong("step", f"returned the reward {reward!r}; must be a finite number")
        return self._seen(obs, "step"), float(reward), bool(terminated), bool(truncated)

    def _seen(self, obs: Any, where: str) -> np.ndarray:
        shape, dtype = self.space.shape, self.space.dtype
        found = getattr(obs, "dtype", None)
        if getattr(obs, "shape", None) != shape:
            text = f"an observation of shape {np.shape(obs)}; its space says {shape}"
            raise self._wrong(where, f"returned {text}")
        if found != dtype:
            raise self._wrong(where, f"returned observations of {found}; its space says {dtype}")
        if not np.isfinite(obs).all():
            raise self._wrong(where, f"returned an observation that is not finite: {obs}")
        return np.asarray(obs, np.float32) if self.scale is None else self.scale(obs)

    def _ask(self, where: str, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except RunError:
            raise
        except Exception as error:  # anything can go wrong in code that is not ours
            kind = type(error).__name__
            raise self._wrong(where, f"raised {kind}: {' '.join(str(error).split())}") from None

    def _wrong(self, where: str, what: str) -> RunError:
        return RunError(f"{self.hosted.id}: {where} {what} (step {self.steps} of this process)")


def ask_ahead(envs: list[Any], actions: list[Any]) -> None:
    """Environments in processes of their own begin their steps, all at once."""
    for env, action in zip(envs, actions, strict=True):
        if isinstance(env, Remote):
            env.ask("step", action)


def scale_of(hosted: Hosted) -> Scale:
    """By the bounds, or by random steps where there are none."""
    env = hosted.make()
    space: Any = env.observation_space
    low, high = np.asarray(space.low, np.float64), np.asarray(space.high, np.float64)
    bounded = (np.abs(low) < 1e6) & (np.abs(high) < 1e6)
    low, high = np.where(bounded, low, 0.0), np.where(bounded, high, 0.0)
    obs, _ = within(hosted, lambda: env.reset(seed=0))
    env.action_space.seed(0)
    rows = [obs]
    for _ in range(RANDOM_STEPS):
        obs, _, terminated, truncated, _ = env.step(env.action_space.sample())
        rows.append(obs)
        if terminated or truncated:
            rows.append(within(hosted, env.reset)[0])
    env.close()
    seen = np.asarray(rows, np.float64)
    centre = np.where(bounded, (low + high) / 2, seen.mean(axis=0))
    width = np.where(bounded, (high - low) / 2, 2 * seen.std(axis=0))
    return Scale(centre, np.where(width > 1e-6, width, 1.0))
