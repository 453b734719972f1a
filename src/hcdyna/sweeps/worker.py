"""The worker that all engines start: takes tasks from a store until none is left."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Container
from dataclasses import replace
from pathlib import Path
from typing import Any

from hcdyna.experiments.running import Say, live, saying, trainer_of
from hcdyna.experiments.unfinished import Unfinished
from hcdyna.numerics.devices import start
from hcdyna.runs.saving import interruptions
from hcdyna.settings.errors import (
    Interrupted,
    NotImported,
    NotWritten,
    SettingsError,
    words_of,
)
from hcdyna.settings.words import count
from hcdyna.sweeps.compiling import Ahead, idle_cores, share_compiled_programs
from hcdyna.sweeps.leases import Lease, LostLease
from hcdyna.sweeps.planning import cells_of
from hcdyna.sweeps.store import Scan, SweepStore
from hcdyna.sweeps.tasks import Task
from hcdyna.training.compiled import forget_programs

DECIDES_BITS = ("hcdyna", "jax", "jaxlib", "numpy", "device")
"""Versions that a cell tells; what else there is to say of its making is in done/."""
PAUSE = 1.0
"""Seconds between two looks, while other workers train all that is left."""
KEPT = 8
"""Programs in memory. Not one, or what was compiled ahead would be forgotten along with it."""


class Requeue(Interrupted):
    """The worker was asked to stop; what it had begun is saved and will be taken up again."""

    exit_code = 75


class Worker:
    """One process that trains tasks of a store: all, or those with one of some cells `only`; with
    so many threads that compile `ahead`."""

    def __init__(
        self,
        store: SweepStore,
        say: Say,
        stop: threading.Event,
        only: Container[str] | None = None,
        ahead: int = 0,
    ) -> None:
        self.store, self.say, self.stop, self.only = store, say, stop, only
        self.ahead = Ahead(ahead)
        self.compiled: list[str] = []
        self.trained, self.left = 0, 1

    def work(self, seconds: float = math.inf, wait: bool = True) -> int:
        """Train until nothing is left, or so many seconds have passed; how many tasks that were.
        It waits for what other workers hold, since they may go, unless told not to `wait`."""
        with contextlib.closing(self.ahead):
            self.work_until(time.monotonic() + seconds, wait)
        return self.trained

    def work_until(self, end: float, wait: bool) -> None:
        """Train one task after the other."""
        while time.monotonic() < end:
            if self.stop.is_set():
                raise Requeue("interrupted; what is left will be taken up again")
            scan = self.store.scan()
            left = self.waiting(scan)
            if not left:
                self.clear_up(scan)
                break
            self.left, left = len(left), self.in_order(left, scan)
            task, lease = self.next(left, scan)
            if task is not None and lease is not None:
                self.ahead.compile(x for x in left if x is not task and x.id not in scan.held)
                self.attempt(task, lease)
            elif wait:
                self.stop.wait(min(PAUSE, self.store.patience / 4))
            else:
                break

    def waiting(self, scan: Scan) -> list[Task]:
        """Tasks that are neither done nor set aside; some may be held by others."""
        aside, only = self.store.aside(scan.failed), self.only
        return [
            task
            for task in self.store.tasks()
            if task.id not in aside
            and not scan.done.issuperset(task.keys)
            and (only is None or any(key in only for key in task.keys))
        ]

    def clear_up(self, scan: Scan) -> None:
        """Remove what workers that were killed have left of tasks which they had just finished."""
        for task in self.store.tasks():
            if task.id in scan.held and scan.done.issuperset(task.keys):
                self.store.take(task, scan)

    def in_order(self, left: list[Task], scan: Scan) -> list[Task]:
        """First tasks of programs that are compiled here, then of those that fewest others are busy
        with."""
        busy: dict[str, int] = {}
        for task in left:
            if task.id in scan.held:
                busy[task.program] = busy.get(task.program, 0) + 1

        def rank(task: Task) -> tuple[bool, bool, int]:
            new = task.program not in self.compiled
            return task.id in scan.held, new, busy.get(task.program, 0) if new else 0

        return sorted(left, key=rank)

    def next(self, left: list[Task], scan: Scan) -> tuple[Task | None, Lease | None]:
        """The first task that can be had, and its lease."""
        for task in left:
            lease = self.store.take(task, scan)
            if lease is not None:
                return task, lease
        return None, None

    def attempt(self, task: Task, lease: Lease) -> None:
        """Train a task, and see to it that it ends in one of the ways that others understand."""
        number = f"[{self.trained + 1}/{self.trained + self.left}]"
        say = saying(self.say, f"{number} {task.title}")
        try:
            with lease.renewed(self.store.patience):
                self.ahead.wait_for(task)
                about = train(self.store, task, lease, say, self.stop)
        except LostLease as lost:
            say(str(lost))
            return
        except Interrupted as stop:
            lease.release()
            raise Requeue(f"{stop}") from None
        except Exception as error:
            self.failed(task, lease, error, say)
            return
        self.store.done(task, about)
        self.store.finished(task, lease)
        self.trained += 1
        self.remember(task.program)

    def failed(self, task: Task, lease: Lease, error: Exception, say: Say) -> None:
        """Note a failure; a mistake in the settings is one that no second attempt can mend. What is
        no fault of the task, a full disk or a module that this machine lacks, is raised again."""
        if not lease.is_mine():
            say("another worker has taken it over")
            return
        if isinstance(error, NotWritten | NotImported):
            lease.release()
            raise error
        line = f"{type(error).__name__}: {words_of(error)}"
        about = self.store.fail(task, line, aside=isinstance(error, SettingsError))
        lease.release()
        alone = "set aside" if len(task.keys) == 1 else "each of its cells is tried alone"
        end = alone if about["aside"] else "it will be tried again"
        say(f"{line}; {end}")

    def remember(self, program: str) -> None:
        """Note that a program is compiled; of too many all are let go."""
        if program in self.compiled:
            return
        if len(self.compiled) >= KEPT:
            forget_programs()
            self.compiled.clear()
        self.compiled.append(program)


def train(
    store: SweepStore, task: Task, lease: Lease, say: Say, stop: threading.Event
) -> dict[str, Any]:
    """Train or resume a task, and publish its cells; what to note of it."""
    begin = time.monotonic()
    cells = cells_of(task)
    trainer = trainer_of(cells)
    try:
        trainer.demand_memory()
    except SettingsError as error:  # a larger machine may have enough
        raise MemoryError(str(error)) from None
    unfinished = Unfinished(
        store.place.checkpoints(task.id, lease.number),
        trainer,
        lambda: store.place.keep_checkpoints(task.id, lease.number),
    )

    def on_step(step: int) -> None:
        kept = unfinished.saver
        done = kept.progress.steps[kept.saved - 1] if kept is not None else 0
        lease.tell(store.patience, step=step, saved=done)
        if lease.lost.is_set():
            raise LostLease(f"task {task.id}: another worker has taken it over")

    results = live(cells, trainer, unfinished, say, stop, on_step)
    lease.renew()
    full = results[0].record
    versions = {name: full["versions"][name] for name in DECIDES_BITS}
    commit = full["commit"] or task.commit
    record = {"versions": versions, "kernels": full["kernels"], "commit": commit}
    twice = [cell for cell in cells if store.has(cell.key)]
    for cell, result in zip(cells, results, strict=True):
        if cell not in twice:
            store.publish(cell, replace(result, record=record))
    seconds = time.monotonic() - begin
    say(f"{count(task.agents, 'agent')}, {seconds:.1f} s")
    return {
        "keys": task.keys,
        "seconds": round(seconds, 3),
        "agents": task.agents,
        "steps": task.steps,
        "twice": len(twice),
        "repeated": lease.content["repeated"],
        "deaths": lease.content["deaths"],
        "host": lease.content["host"],
        "pid": lease.content["pid"],
        "started": full["started"],
        "device": versions["device"],
        "devices": full["versions"]["devices"],
        "platform": full["versions"]["platform"],
    }


def work(folder: str | Path, say: Say = print, seconds: float = math.inf, wait: bool = True) -> int:
    """Take tasks from a store until none is left; how many were trained here."""
    store = SweepStore.open(folder)
    store.place.demand_writable()
    share_compiled_programs(store)
    start()  # if JAX does not, that is no fault of a task
    with interruptions() as stop:
        return Worker(store, say, stop, ahead=idle_cores(alone=False)).work(seconds, wait)
