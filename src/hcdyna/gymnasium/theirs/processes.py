"""Slow environments, each in a process of its own, so that all of them step at the same time.

Gymnasium's AsyncVectorEnv does the same, but starts the user's script once more in each process
where that can't be forked safely (JAX has threads), and casts what environments answer into one
array before it could be checked. Here a process imports the environment alone.
"""

import contextlib
import json
import os
import pickle
import subprocess
import sys
import weakref
from collections.abc import Callable
from typing import Any

from hcdyna.gymnasium.theirs.environment import Hosted
from hcdyna.gymnasium.theirs.making import spaces_of
from hcdyna.settings.errors import RunError
from hcdyna.settings.importing import place_of


class Remote:
    """Looks like an environment, as far as training needs one, and can be asked ahead of time."""

    def __init__(self, hosted: Hosted, options: dict[str, Any]) -> None:
        self.observation_space, self.action_space, _ = spaces_of(hosted.recipe)
        command = [
            sys.executable,
            "-m",
            "hcdyna.gymnasium.theirs.worker",
            in_words(hosted),
            str(os.getpid()),
        ]
        # What this process can import, that one can.
        paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": paths, "JAX_PLATFORMS": "cpu"},
            # Ctrl-C is for us alone; it could come before the worker ignores it.
            process_group=0,
        )
        self.close = weakref.finalize(self, end, self.process)
        self.close.atexit = False  # a thread may still read then; the worker notices by itself
        self.ask("make", **options)

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

    def render(self) -> Any:
        self.ask("render")
        return self.answer()

    def _gone(self) -> Exception:
        return ConnectionError(f"its process ended with exit code {self.process.wait()}")


def in_words(hosted: Hosted) -> str:
    """How another process makes it."""
    id, kwargs, spec, factory = hosted.recipe
    place = None if factory is None else place_of(factory)
    if factory is not None and place is None:
        raise ValueError("the function that makes it has no name at the top level of a module")
    return json.dumps([id, kwargs, spec, place])


def end(process: subprocess.Popen) -> None:
    """Nobody may be reading from it."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):  # a request that was never sent
            pipe.close()  # type: ignore[union-attr]


def environments(hosted: Hosted, count: int, apart: bool, options: dict[str, Any]) -> list[Any]:
    """`count` environments, in processes of their own if that is wanted and possible."""
    if apart:
        try:
            return in_processes(hosted, count, options)
        except Exception as error:
            if hosted.processes == "on":
                raise RunError(
                    f"{hosted.id}: can't be made in a process of its own ({error}); give its "
                    "package, as in my_package:Mine-v0, or processes = off"
                ) from None
    return [hosted.make(**options) for _ in range(count)]


def in_processes(hosted: Hosted, count: int, options: dict[str, Any]) -> list[Remote]:
    """Fails where only this process knows the environment, because a script registered it."""
    remote = [Remote(hosted, options) for _ in range(count)]
    for each in remote:
        each.answer()
    return remote


def step_all(envs: list[Any], actions: list[Any], pulse: Callable[[], None]) -> list[Any]:
    """What each environment answers, with a pulse after each; those in processes begin at once."""
    for env, action in zip(envs, actions, strict=True):
        if isinstance(env, Remote):
            env.ask("step", action)
    answers = []
    for env, action in zip(envs, actions, strict=True):
        answers.append(env.step(action))
        pulse()
    return answers
