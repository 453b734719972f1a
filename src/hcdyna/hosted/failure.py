"""An environment that fails, hangs or ends the process must not take what was learned with it."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from hcdyna.errors import RunError, SettingsError


class HostFailed(RunError):
    """An environment failed; what was learned until then comes with the message."""

    def __init__(self, message: str, life: Any, done: int) -> None:
        super().__init__(message)
        self.life, self.done = life, done


class Hanging(RunError):
    """An environment did not answer in time."""


class Exited(BaseException):
    """An environment called os._exit; no `except Exception` of its own shall swallow this."""


class Broke(Exception):
    """What an environment raised, in words."""


@contextlib.contextmanager
def no_way_out() -> Iterator[None]:
    """Have os._exit raise here: it would end the run with an exit code of the environment's.

    Processes that an environment forks, and other threads, keep the real one.
    """
    real, here = os._exit, (os.getpid(), threading.get_ident())

    def refuse(status: int) -> None:
        if (os.getpid(), threading.get_ident()) != here:
            real(status)
        raise Exited(f"called os._exit({status})")

    os._exit = refuse  # type: ignore[assignment]
    try:
        yield
    finally:
        os._exit = real


class Keeper:
    """A thread that runs all code of some environments, so that one that hangs can be left alone.

    It is always the same one, since some environments must stay in the thread that made them.
    """

    def __init__(self) -> None:
        self.todo: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=work_off, args=(self.todo,), daemon=True).start()
        weakref.finalize(self, self.todo.put, None)

    def call(
        self, function: Callable[[], Any], seconds: float | None, progress: Callable[[], int]
    ) -> Any:
        """What the function returns; Broke if it raises, TimeoutError if it makes no progress for
        so many seconds."""
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.todo.put((function, done))
        before = progress()
        while True:
            try:
                went_well, came = done.get(timeout=seconds)
                break
            except queue.Empty:
                if progress() == before:
                    raise TimeoutError from None
                before = progress()
        if went_well:
            return came
        if isinstance(came, RunError | SettingsError | KeyboardInterrupt):
            raise came
        raise Broke(reason(came)) from None


def work_off(todo: queue.SimpleQueue[Any]) -> None:
    """Call one function after the other, until there is None."""
    while (task := todo.get()) is not None:
        function, done = task
        try:
            with no_way_out():
                answer = True, function()
        except BaseException as error:  # anything can go wrong in code that is not ours
            answer = False, error
        done.put(answer)
        del task, function, done, answer  # nothing may be kept alive from here


def reason(error: BaseException) -> str:
    """raised OSError: the motor is gone"""
    try:
        text = " ".join(str(error).split())
    except Exception:  # its text is not our code either
        text = ""
    if isinstance(error, Exited):
        return text
    return f"raised {type(error).__name__}" + (f": {text}" if text else "")


def close(name: str, env: Any) -> None:
    """Close an environment of that name; a warning if it can't be."""
    try:
        with no_way_out():
            env.close()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # nothing is lost: it is not needed any more
        warnings.warn(f"{name}: close {reason(error)}", stacklevel=2)
