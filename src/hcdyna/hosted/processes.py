"""Slow environments, each in a process of its own, so that all of them step at the same time.

Gymnasium's AsyncVectorEnv does the same, but starts the user's script once more in each process
where that can't be forked safely (JAX has threads), and casts what environments answer into one
array before it could be checked. Here a process imports the environment alone.
"""

from __future__ import annotations

import os
import pickle
import statistics
import subprocess
import sys
import time
import weakref
from typing import Any

import gymnasium

from hcdyna.errors import RunError
from hcdyna.hosted.environment import Hosted
from hcdyna.hosted.failure import within

SLOW = 1e-3
"""Seconds a step, beyond which a process of its own pays: asking one takes time, too."""
STEPS = 20
"""To find out."""


class Remote:
    """Looks like an environment, as far as training needs one, and can be asked ahead of time."""

    def __init__(self, hosted: Hosted, spaces: tuple[gymnasium.Space, gymnasium.Space]) -> None:
        self.observation_space, self.action_space = spaces
        command = [sys.executable, "-m", "hcdyna.hosted.worker", hosted.id]
        # What this process can import, that one can.
        paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": paths, "JAX_PLATFORMS": "cpu"},
        )
        self.close = weakref.finalize(self, self.process.kill)
        self.ask("make")

    def ask(self, method: str, *arguments: Any, **options: Any) -> None:
        """Have a method called; `answer` waits for what comes."""
        assert self.process.stdin is not None
        try:
            pickle.dump((method, arguments, options), self.process.stdin)
            self.process.stdin.flush()
        except OSError:
            raise self._gone() from None

    def answer(self) -> Any:
        assert self.process.stdout is not None
        try:
            went_well, came = pickle.load(self.process.stdout)
        except EOFError:
            raise self._gone() from None
        if not went_well:
            kind, text = came
            raise type(kind, (RuntimeError,), {})(text)  # its own class may not exist here
        return came

    def reset(self, *, seed: int | None) -> Any:
        self.ask("reset", seed=seed)
        return self.answer()

    def step(self, action: Any) -> Any:
        """The answer to an action that was asked about before."""
        return self.answer()

    def _gone(self) -> Exception:
        return ConnectionError(f"its process ended with exit code {self.process.wait()}")


def environments(hosted: Hosted, count: int) -> list[Any]:
    """`count` environments: in processes where that is asked for, or would pay and is possible."""
    wanted = hosted.processes == "on"
    if wanted or (hosted.processes == "auto" and count > 1 and is_slow(hosted)):
        try:
            return in_processes(hosted, count)
        except Exception as error:
            if wanted:
                raise RunError(
                    f"{hosted.id}: can't be made in a process of its own ({error}); give its "
                    "package, as in my_package:Mine-v0, or processes = off"
                ) from None
    return [hosted.make() for _ in range(count)]


def in_processes(hosted: Hosted, count: int) -> list[Remote]:
    """Fails where only this process knows the environment, because a script registered it."""
    env = hosted.make()
    spaces = env.observation_space, env.action_space
    env.close()
    remote = [Remote(hosted, spaces) for _ in range(count)]
    for each in remote:
        each.answer()
    return remote


def is_slow(hosted: Hosted) -> bool:
    """From a few random steps, in an environment for that alone."""
    env = hosted.make()
    try:
        within(hosted, lambda: env.reset(seed=0))
        seconds = []
        for _ in range(STEPS):
            start = time.perf_counter()
            _, _, terminated, truncated, _ = env.step(env.action_space.sample())
            seconds.append(time.perf_counter() - start)
            if terminated or truncated:
                within(hosted, env.reset)
        return statistics.median(seconds) > SLOW
    except RunError:
        raise
    except Exception:  # training will meet it as well, and say what it is
        return False
    finally:
        env.close()
