"""Environments of all agents on the host, with everything that they answer checked."""

import functools
import math
import statistics
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from hcdyna.gymnasium.theirs.environment import Hosted, to_action
from hcdyna.gymnasium.theirs.failure import Hanging, Keeper, Left, reason
from hcdyna.gymnasium.theirs.processes import Remote, environments, step_all
from hcdyna.settings.errors import RunError, SettingsError
from hcdyna.settings.fields import LARGEST, is_real, shown

SLOW = 1e-3
"""Seconds a step, beyond which a process of its own pays: asking one takes time, too."""
STEPS = 20
"""To find out."""

Read = Callable[[np.ndarray], np.ndarray]
"""What is made of an observation."""


class Answer(NamedTuple):
    """What one environment answered to an action, checked; `obs` is the true final observation."""

    obs: np.ndarray
    reward: float
    terminated: bool
    truncated: bool


class Step(NamedTuple):
    """What all environments answered to one action each."""

    obs: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray


def as_float32(obs: np.ndarray) -> np.ndarray:
    """A copy, since environments may write into what they returned."""
    return np.array(obs, np.float32)


def is_flag(x: Any) -> bool:
    """Whether it is True or False, as Python's, NumPy's or an array of no dimension."""
    return isinstance(x, bool) or (np.ndim(x) == 0 and getattr(x, "dtype", None) == np.bool_)


class Worlds:
    """`count` environments. After an episode's end each waits for `reset`. All their code runs in
    the thread of `keeper`. `options` are those of `gymnasium.make`."""

    def __init__(
        self,
        hosted: Hosted,
        count: int,
        read: Read = as_float32,
        keeper: Keeper | None = None,
        **options: Any,
    ) -> None:
        self.hosted, self.read, self.steps = hosted, read, 0
        self.keeper = Keeper() if keeper is None else keeper
        self.envs: list[Any] = []
        self.asked = "make", math.inf
        """What code of the environments was called last, and the seconds it may take."""
        apart = hosted.processes == "on" or (
            hosted.processes == "auto" and count > 1 and is_slow(hosted)
        )

        def make() -> tuple[list[Any], Any, Any]:
            envs = environments(hosted, count, apart, options)
            return envs, envs[0].observation_space, envs[0].action_space

        try:
            self.envs, self.space, self.actions = self._ask("make", math.inf, make)
        except SettingsError as error:  # the settings are good: one like it was made before
            raise RunError(str(error)) from None

    def reset(self, index: int, seed: int | None = None) -> np.ndarray:
        """A new episode of one agent."""
        reset = functools.partial(self.envs[index].reset, seed=seed)
        answer = self._ask("reset", self.hosted.reset_timeout, reset)
        return self._judged("reset", self._begun, answer)

    def step(self, actions: np.ndarray, which: Sequence[int] | None = None) -> Step:
        """One step of all agents, or of some; an action is an index or numbers in [−1, 1]."""
        return stacked(self.each(actions, which))

    def each(
        self, actions: Iterable[np.ndarray], which: Sequence[int] | None = None
    ) -> list[Answer]:
        """The same, one answer after the other."""
        return self._answers([to_action(self.actions, x) for x in actions], which)

    def take(self, actions: list[Any]) -> Step:
        """One step of all agents with actions of the environment's own."""
        return stacked(self._answers(actions, None))

    def _answers(self, actions: list[Any], which: Sequence[int] | None) -> list[Answer]:
        self.steps += 1
        envs = self.envs if which is None else [self.envs[index] for index in which]
        seconds = self.hosted.step_timeout
        answers = self._ask("step", seconds, step_all, envs, actions, self.keeper.pulse)
        return [self._judged("step", self._checked, answer) for answer in answers]

    def picture(self) -> Any:
        """What the first environment draws."""
        return self._ask("render", self.hosted.step_timeout, self.envs[0].render)

    def close(self) -> None:
        """With a warning if an environment can't be closed; one that hangs is left as it is."""
        for env in [] if self.keeper.left else self.envs:
            try:
                self._ask("close", self.hosted.step_timeout, env.close)
            except RunError as error:
                warnings.warn(str(error), stacklevel=2)

    def _judged(self, where: str, check: Callable[[Any], Any], answer: Any) -> Any:
        try:
            return check(answer)
        except RunError:
            raise
        except Exception as error:  # comparing what is of another's class runs its code
            raise self._wrong(where, f"returned what can't be read: {reason(error)}") from None

    def _begun(self, answer: Any) -> np.ndarray:
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise self._wrong("reset", "did not return (obs, info)")
        return self._seen(answer[0], "reset")

    def _checked(self, answer: Any) -> Answer:
        if not isinstance(answer, tuple) or len(answer) != 5:
            raise self._wrong("step", "did not return (obs, reward, terminated, truncated, info)")
        obs, reward, terminated, truncated, _ = answer
        if not is_real(reward):
            what = f"returned the reward {shown(reward)}; must be a finite number in float32"
            raise self._wrong("step", what)
        for name, flag in (("terminated", terminated), ("truncated", truncated)):
            if not is_flag(flag):
                what = f"returned {name} = {shown(flag)}; must be True or False"
                raise self._wrong("step", what)
        seen = self._seen(obs, "step")
        return Answer(seen, float(reward), bool(terminated), bool(truncated))

    def _seen(self, obs: Any, where: str) -> np.ndarray:
        shape, dtype = self.space.shape, self.space.dtype
        found = getattr(obs, "dtype", None)
        if getattr(obs, "shape", None) != shape:
            text = f"an observation {shown(obs)}; its space says shape {shape}"
            if hasattr(obs, "shape"):
                text = f"an observation of shape {shown(obs.shape)}; its space says {shape}"
            raise self._wrong(where, f"returned {text}")
        if found != dtype:
            raise self._wrong(where, f"returned observations of {found}; its space says {dtype}")
        obs = np.asarray(obs)  # a masked array hides what is not finite
        if not is_finite(obs):
            what = f"returned an observation that is not finite in float32: {shown(obs)}"
            raise self._wrong(where, what)
        return self.read(obs)

    def _ask(self, where: str, seconds: float, code: Callable[..., Any], *given: Any) -> Any:
        return self.keeper.call(self._ask_there, where, seconds, code, given)

    def _ask_there(self, where: str, seconds: float, code: Callable[..., Any], given: Any) -> Any:
        self.asked = where, seconds
        try:
            return self.keeper.ask(seconds, self._hanging, code, *given)
        except (RunError, SettingsError, Left):
            raise
        except BaseException as error:  # Ctrl-C is for another thread, so it isn't that
            raise self._wrong(where, reason(error)) from None

    def _hanging(self) -> Hanging:
        for env in self.envs:
            if isinstance(env, Remote):
                env.process.kill()
        where, seconds = self.asked
        option = "reset" if where == "reset" else "step"
        return Hanging(
            f"{self.hosted.id}: {where} did not return within {seconds:g} s (step {self.steps} of "
            f"this process); give --env.{option}-timeout if it needs longer"
        )

    def _wrong(self, where: str, what: str) -> RunError:
        return RunError(f"{self.hosted.id}: {where} {what} (step {self.steps} of this process)")


def is_finite(obs: np.ndarray) -> bool:
    """Whether float32 has a place for all of these numbers."""
    # The sum of squares takes a fifth of the time, and settles it for nearly all observations.
    if obs.dtype.kind == "f" and float(np.vdot(obs, obs)) <= LARGEST:
        return True
    return bool(float(np.abs(obs).max()) <= LARGEST)  # NaN is not


def stacked(answers: list[Answer]) -> Step:
    """The answers of several environments as arrays."""
    obs, reward, terminated, truncated = zip(*answers, strict=True)
    return Step(
        np.stack(obs), np.array(reward, np.float32), np.array(terminated), np.array(truncated)
    )


def is_slow(hosted: Hosted) -> bool:
    """From a few random steps, in an environment for that alone."""
    try:
        worlds = Worlds(replace(hosted, processes="off"), 1)
        worlds.reset(0, seed=0)
        seconds = []
        for _ in range(STEPS):
            action = worlds.actions.sample()
            start = time.perf_counter()
            found = worlds.take([action])
            seconds.append(time.perf_counter() - start)
            if found.terminated[0] or found.truncated[0]:
                worlds.reset(0)
        worlds.close()
    except Hanging:
        raise
    except RunError:  # training will meet it as well, and say what it is
        return False
    return statistics.median(seconds) > SLOW
