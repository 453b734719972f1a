"""When to save a run, and how a process is stopped without losing any of it."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from hcdyna.runs import checkpoint
from hcdyna.runs.best import Best
from hcdyna.runs.progress import Progress
from hcdyna.runs.snapshots import Snapshots
from hcdyna.runs.store import Store
from hcdyna.settings.errors import Interrupted, RunError

if TYPE_CHECKING:
    from hcdyna.training.compiled import AgentLife

SAVING_SHARE = 0.025
"""Save after every evaluation, unless that would take more than this share of the time."""
PATIENCE = 3
"""How often Ctrl-C must be pressed to stop at once, without saving."""


class Saver:
    """Keeps the curves and agents of a run in its folder; `saved` evaluations are there already."""

    def __init__(
        self, store: Store, progress: Progress, saved: int, best: Best | None = None
    ) -> None:
        self.store, self.progress, self.saved, self.best = store, progress, saved, best
        self.agents = progress.shape[0] * progress.shape[1]

    def save(self, life: AgentLife, step: int) -> None:
        """Curves first: a checkpoint is never ahead of them."""
        self.store.save_curves(self.progress, self.saved)
        self.saved = len(self.progress.steps)
        arrays = checkpoint.to_arrays(life, self.agents)
        arrays |= {} if self.best is None else self.best.to_arrays()
        self.store.save_checkpoint(step, arrays, self.saved)


class Saving:
    """Decides after each evaluation whether to save, and does it."""

    def __init__(
        self, store: Store, progress: Progress, interrupted: threading.Event, best: Best
    ) -> None:
        self.saver = Saver(store, progress, len(progress.steps), best)
        self.interrupted, self.steps = interrupted, progress.settings[0].training.steps
        self.snapshots = Snapshots(progress.settings[0], store)
        self.cost, self.last = 0.0, time.monotonic()

    def __call__(self, life: AgentLife, step: int, now: bool) -> None:
        """Save if it is time to, or `now`, because training ends here."""
        due = self.cost < SAVING_SHARE * (time.monotonic() - self.last)
        finished = step >= self.steps
        stop = self.interrupted.is_set() and not (now or finished)
        try:
            self.snapshots.take(life.dyna, step)
            if due or now or stop or finished:
                start = time.monotonic()
                self.saver.save(life, step)
                self.last = time.monotonic()
                self.cost = self.last - start
        except RunError as error:
            raise RunError(f"{error}; what was saved before stays readable") from None
        if stop:
            raise Interrupted(f"interrupted after step {step}")


@contextlib.contextmanager
def interruptions() -> Iterator[threading.Event]:
    """Let Ctrl-C, SIGTERM and SIGHUP (the terminal was closed) set a flag, to save and stop. Only
    the third Ctrl-C ends the process at once. What is ignored, as under nohup, stays so."""
    flag = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield flag
        return
    usual = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    previous = {number: signal.getsignal(number) for number in usual}
    previous = {n: handler for n, handler in previous.items() if handler is not signal.SIG_IGN}
    pressed: list[int] = []

    def stop(number: int, frame: Any) -> None:
        flag.set()
        if number != signal.SIGINT:
            return
        pressed.append(number)
        if len(pressed) < PATIENCE:
            tell("stopping at the next evaluation, to save; a third Ctrl-C stops at once")
        else:
            raise KeyboardInterrupt

    for number in previous:
        signal.signal(number, stop)
    try:
        yield flag
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def tell(line: str) -> None:
    """A line to standard error, from within a signal handler, whoever else is writing."""
    with contextlib.suppress(OSError):
        os.write(2, f"\nhcdyna: {line}\n".encode())
