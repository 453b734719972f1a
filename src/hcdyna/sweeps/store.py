"""The store of a sweep: all that its workers have in common.

store.json            its format, and how long a silent lease lasts
studies/NAME-….json   what was asked for
work/NAME-….jsonl     its tasks, one a line
work/parts.TASK-….jsonl  the cells of a task that failed, as tasks in its place
leases/TASK.N         who trains a task now
cells/KEY.npz, .json  results, the same bytes wherever they were made
done/TASK.json        who made them, when, and how long it took
failed/TASK.json      tasks that failed: how often, and the error
unfinished/           checkpoints of tasks on their way
compiled/             programs that JAX has compiled, by kind of machine
search/               journal, winner and page of a search
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hcdyna.settings.errors import RunError
from hcdyna.sweeps import leases
from hcdyna.sweeps.buckets import Place, place_of
from hcdyna.sweeps.tasks import Task, named

if TYPE_CHECKING:
    from hcdyna.experiments.cells import Cell, CellStore, Result
    from hcdyna.sweeps.study import Study

FORMAT = 1
PARTS = "parts."
"""Begins the name of a file in work/ whose tasks are the cells of a task that failed."""
PATIENCE = 60.0
"""Seconds without a beat after which a lease is taken over."""
MOST_FAILURES = 3
MOST_DEATHS = 10
"""Holders of a task that went without a word and without saving anything: it may well be the task
that kills them, by the memory that it takes, say."""


@dataclass(frozen=True)
class Scan:
    """What is in a store at one moment."""

    done: set[str]
    """Keys of cells."""
    held: dict[str, int]
    """Task → number of its lease."""
    failed: set[str]
    """Tasks with a note of failure."""


@dataclass
class SweepStore:
    """A store, opened."""

    place: Place
    patience: float
    watch: leases.Watch = field(default_factory=leases.Watch)
    _read: dict[str, list[Task]] = field(default_factory=dict)
    _aside: set[str] = field(default_factory=set)

    @staticmethod
    def create(folder: str | Path, patience: float = PATIENCE) -> SweepStore:
        """The store of this name, made if there is none."""
        place = place_of(folder)
        if place.read("run.json") is not None:
            raise RunError(f"{folder}: is the folder of a run; a sweep needs one of its own")
        about = {"format": FORMAT, "patience": patience}
        if place.read("store.json") is None:
            place.create("store.json", (json.dumps(about) + "\n").encode())
        return SweepStore.open(folder)

    @staticmethod
    def open(folder: str | Path) -> SweepStore:
        """A store that is there; RunError if it is none."""
        place = place_of(folder)
        raw = place.read("store.json")
        if raw is None:
            raise RunError(f"{folder}: not the store of a sweep (it has no store.json)")
        try:
            about = json.loads(raw)
            if about["format"] != FORMAT:
                raise RunError(f"{folder}/store.json: format {about['format']} is not known here")
            return SweepStore(place, float(about["patience"]))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise RunError(f"{folder}/store.json: not ours: {error}") from None

    @property
    def cells(self) -> CellStore:
        """The cells, in the form that those of the paper have, too."""
        from hcdyna.experiments.cells import CellStore  # what only looks need not wait for it

        return CellStore(self.place.root)

    def has(self, key: str) -> bool:
        """Whether a cell is published."""
        return self.place.read(f"cells/{key}.json") is not None

    def publish(self, cell: Cell, result: Result) -> None:
        """Keep a cell; the description comes last, so that one that was cut off is not there."""
        self.cells.save(cell, result)
        for ending in ("npz", "json"):
            self.place.send(f"cells/{cell.key}.{ending}")

    def load(self, cell: Cell) -> Result:
        """What was published of a cell."""
        for ending in ("npz", "json"):
            self.place.fetch(f"cells/{cell.key}.{ending}")
        return self.cells.load(cell)

    def add(self, study: Study, keys: list[str], tasks: list[Task]) -> None:
        """Add a study, whose cells have these keys, and those of its tasks that are new."""
        name = f"{study.name}-{named(sorted(keys))[:8]}"
        plain = json.dumps(study.plain(), indent=1, default=str) + "\n"
        self.place.write(f"studies/{name}.json", plain.encode())
        if tasks:
            lines = "".join(f"{task.line()}\n" for task in tasks)
            self.place.create(f"work/{name}-{named([lines])[:8]}.jsonl", lines.encode())

    def studies(self) -> list[Study]:
        """What was asked for, in the order of names."""
        from hcdyna.sweeps.study import Study

        found = []
        for name in self.place.names("studies"):
            try:
                found.append(Study.of(json.loads(self.place.read(f"studies/{name}") or b"{}")))
            except (ValueError, RecursionError) as error:  # a SettingsError is a ValueError
                raise RunError(f"{self.place}/studies/{name}: damaged: {error}") from None
        return found

    def tasks(self) -> list[Task]:
        """All tasks of all studies; what was read before is not read again."""
        for name in self.place.names("work"):
            if name not in self._read:
                try:
                    text = (self.place.read(f"work/{name}") or b"").decode()
                    if named([text])[:8] != name.removesuffix(".jsonl").rpartition("-")[2]:
                        raise ValueError("it is not what its name says")
                    self._read[name] = [Task.read(line) for line in text.splitlines()]
                except (ValueError, KeyError, TypeError, RecursionError) as error:
                    raise RunError(f"{self.place}/work/{name}: damaged: {error}") from None
        found = {task.id: task for some in self._read.values() for task in some}
        for name in self._read:
            if name.startswith(PARTS):
                found.pop(name.removeprefix(PARTS).rpartition("-")[0], None)
        return list(found.values())

    def scan(self) -> Scan:
        """What is there now, from the names of files alone."""
        names = self.place.names("cells")
        done = {name[: -len(".json")] for name in names if name.endswith(".json")}
        failed = {name[: -len(".json")] for name in self.place.names("failed")}
        return Scan(done, leases.latest(self.place.names("leases")), failed)

    def take(self, task: Task, scan: Scan) -> leases.Lease | None:
        """The lease of a task; None if another worker holds it, or has done it meanwhile."""
        lease = leases.take(self.place, task.id, self.watch, self.patience, scan.held)
        if lease is None:
            return None
        if all(map(self.has, task.keys)):
            self.finished(task, lease)
            return None
        deaths = lease.content["deaths"]
        if deaths > MOST_DEATHS:
            self.fail(task, f"its worker went {deaths} times without a word: memory?", aside=True)
            lease.release()
            return None
        return lease

    @contextlib.contextmanager
    def alone(self, what: str, wait: bool = True) -> Iterator[None]:
        """Do something that no other process may do at the same time; wait for it, or RunError."""
        lease = None
        while lease is None:
            held = leases.latest(self.place.names("leases"))
            lease = leases.take(self.place, what, self.watch, self.patience, held)
            if lease is None and not wait:
                by = leases.read(self.place, f"leases/{what}.{held.get(what, 1)}") or {}
                who = f"process {by.get('pid', '?')} of {by.get('host', '?')}"
                raise RunError(f"{self.place}: another {what} is at work there: {who}")
            if lease is None:
                time.sleep(0.2)
        try:
            with lease.renewed(self.patience):
                yield
        finally:
            lease.release()

    def finished(self, task: Task, lease: leases.Lease) -> None:
        """Clear up behind a task whose cells are published."""
        self.place.forget_checkpoints(task.id)
        self.place.remove(f"failed/{task.id}.json")
        lease.release()

    def done(self, task: Task, about: dict[str, Any]) -> None:
        """Note who made the cells of a task, and how long it took."""
        self.place.write(f"done/{task.id}.json", json.dumps(about).encode())

    def fail(self, task: Task, error: str, aside: bool = False) -> dict[str, Any]:
        """Note a failure; `aside`: this task is not to be tried again. Of several cells not all
        need be at fault: then each becomes a task of its own."""
        before = (self.failure(task.id) or {}).get("failures")
        failures = 1 + (before if isinstance(before, int) else 0)  # the note may be damaged
        about = {"failures": failures, "error": error, "aside": aside or failures >= MOST_FAILURES}
        if about["aside"] and len(task.keys) > 1:
            lines = "".join(f"{part.line()}\n" for part in task.parts())
            self.place.create(f"work/{PARTS}{task.id}-{named([lines])[:8]}.jsonl", lines.encode())
            self.place.forget_checkpoints(task.id)
            self.place.remove(f"failed/{task.id}.json")
        else:
            self.place.write(f"failed/{task.id}.json", json.dumps(about).encode())
        return about

    def failure(self, task: str) -> dict[str, Any] | None:
        """What is noted of the failures of a task."""
        return leases.read(self.place, f"failed/{task}.json")

    def aside(self, failed: set[str]) -> set[str]:
        """Those of the tasks with failures that are not to be tried again."""
        self._aside &= failed  # somebody may have asked to try them again
        for task in failed - self._aside:
            if (self.failure(task) or {}).get("aside"):
                self._aside.add(task)
        return self._aside

    def retry(self) -> int:
        """Forget all failures; how many tasks are tried again."""
        names = self.place.names("failed")
        for name in names:
            self.place.remove(f"failed/{name}")
        return len(names)
