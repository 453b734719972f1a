"""When to save a run, and how a process is stopped without losing any of it."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from hcdyna.errors import Interrupted, RunError
from hcdyna.results.snapshots import Snapshots
from hcdyna.results.store import Store
from hcdyna.training import checkpoint
from hcdyna.training.compiled import AgentLife
from hcdyna.training.run import Progress

if TYPE_CHECKING:
    from hcdyna.training.train import Crew

SAVING_SHARE = 0.025
"""Save after every evaluation, unless that would take more than this share of the time."""


class Saving:
    """Decides after each evaluation whether to save, and does it."""

    def __init__(
        self, crew: Crew, store: Store, progress: Progress, interrupted: threading.Event
    ) -> None:
        self.crew, self.store, self.progress, self.interrupted = crew, store, progress, interrupted
        self.snapshots = Snapshots(crew.settings[0], store.folder)
        self.saved = len(progress.steps)
        self.cost, self.last = 0.0, time.monotonic()

    def __call__(self, life: AgentLife, step: int) -> None:
        due = self.cost < SAVING_SHARE * (time.monotonic() - self.last)
        due |= step % self.crew.static.evaluation.every != 0  # an environment has failed here
        stop = self.interrupted.is_set()
        try:
            self.snapshots.take(life.dyna, step)
            if due or stop or step >= self.crew.static.training.steps:
                self.save(life, step)
        except RunError as error:
            raise RunError(f"{error}; what was saved before stays readable") from None
        if stop:
            raise Interrupted(f"interrupted after step {step}")

    def save(self, life: AgentLife, step: int) -> None:
        start = time.monotonic()
        # Curves first: a checkpoint is never ahead of them.
        self.store.save_curves(self.progress, self.saved)
        self.store.save_checkpoint(step, checkpoint.to_arrays(life, self.crew.agents))
        self.saved = len(self.progress.steps)
        self.last = time.monotonic()
        self.cost = self.last - start


@contextlib.contextmanager
def interruptions() -> Iterator[threading.Event]:
    """Let Ctrl-C and SIGTERM set a flag; a second one ends the process as usual."""
    flag = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield flag
        return
    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def stop(number: int, frame: Any) -> None:
        flag.set()
        for each, handler in previous.items():
            signal.signal(each, handler)

    for number in previous:
        signal.signal(number, stop)
    try:
        yield flag
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
