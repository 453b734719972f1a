"""An environment that fails, hangs or ends the process must not take what was learned with it."""

import contextlib
import functools
import math
import os
import queue
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from hcdyna.settings.errors import RunError

A_MOMENT = 0.2
"""Seconds between two looks at whether an environment hangs."""


class HostFailed(RunError):
    """An environment failed; what was learned until then comes with the message."""

    def __init__(self, message: str, life: Any, done: int) -> None:
        super().__init__(message)
        self.life, self.done = life, done


class Hanging(RunError):
    """An environment did not answer in time."""


class Exited(BaseException):
    """An environment called os._exit; no `except Exception` of its own shall swallow this."""


class Left(BaseException):
    """Nobody waits any more for what this thread does."""


@contextlib.contextmanager
def no_way_out() -> Iterator[None]:
    """Have os._exit raise here: it would end the run with an exit code of the environment's.
    Processes that an environment forks, and other threads, keep the real one."""
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
    """A thread for all code of some environments, so that one that hangs can be left alone.

    It is always the same one, since some environments must stay in the thread that made them. Whole
    loops run there, too: handing over each step would take a tenth of its time.
    """

    def __init__(self) -> None:
        self.todo: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.thread: threading.Thread | None = None
        self.lock, self.left = threading.Lock(), False
        self.since, self.limit = 0.0, math.inf
        """When code of an environment was called, and the seconds it may take."""
        self.blame: Callable[[], Exception] = RuntimeError
        """What to raise if it takes longer."""

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What the function returns or raises there; Hanging if an environment does not answer."""
        if self.thread is None:
            self.thread = threading.Thread(target=work_off, args=(self.todo,), daemon=True)
            self.thread.start()
            weakref.finalize(self, self.todo.put, None)
        if self.thread is threading.current_thread():
            return function(*arguments)
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.todo.put((functools.partial(function, *arguments), done))
        try:
            went_well, came = self._wait(done)
        except Hanging:
            raise
        except BaseException:  # such as a KeyboardInterrupt; let it come to rest
            with self.lock:
                self.left = True
            with contextlib.suppress(queue.Empty):
                done.get(timeout=A_MOMENT)
            raise
        if went_well:
            return came
        raise came

    def _wait(self, done: queue.SimpleQueue[Any]) -> tuple[bool, Any]:
        while True:
            try:
                return done.get(timeout=A_MOMENT)
            except queue.Empty:
                with self.lock:
                    if time.monotonic() > self.since + self.limit:
                        self.left = True
                        raise self.blame() from None

    def ask(
        self, seconds: float, blame: Callable[[], Exception], code: Callable[..., Any], *given: Any
    ) -> Any:
        """Call code of an environment, from the thread for that."""
        self._mark(seconds, blame)
        try:
            return code(*given)
        finally:
            self._mark(math.inf, blame)

    def pulse(self) -> None:
        """One of several environments has answered."""
        self.since = time.monotonic()

    def _mark(self, seconds: float, blame: Callable[[], Exception]) -> None:
        with self.lock:
            if self.left:
                raise Left
            self.since, self.limit, self.blame = time.monotonic(), seconds, blame


def work_off(todo: queue.SimpleQueue[Any]) -> None:
    """Call one function after the other, until there is None."""
    while (task := todo.get()) is not None:
        function, done = task
        try:
            with no_way_out():
                answer = True, function()
        except BaseException as error:  # for the thread that waits
            answer = False, error
        done.put(answer)
        del task, function, done, answer  # nothing may be kept alive from here


def reason(error: BaseException) -> str:
    """raised OSError: the motor is gone"""
    text = text_of(error)
    if isinstance(error, Exited):
        return text
    return f"raised {type(error).__name__}" + (f": {text}" if text else "")


def text_of(error: BaseException) -> str:
    """The message of an error, in one line."""
    try:
        return " ".join(str(error).split())
    except Exception:  # its text is not our code either
        return ""


def close(name: str, env: Any, keeper: Keeper, seconds: float) -> None:
    """Close an environment in the thread that made it; a warning if it can't be."""
    hangs = Hanging(f"did not return within {seconds:g} s")
    try:
        keeper.call(lambda: keeper.ask(seconds, lambda: hangs, env.close))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # nothing is lost: it is not needed any more
        why = str(error) if error is hangs else reason(error)
        warnings.warn(f"{name}: close {why}", stacklevel=2)
