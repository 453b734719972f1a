"""A program of cells on its way: kept in a run folder, so that it goes on after an interruption."""

import hashlib
import shutil
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from hcdyna.experiments.cells import Cell
from hcdyna.numerics.files import read_arrays, write_arrays
from hcdyna.runs import run_json
from hcdyna.runs.progress import Progress
from hcdyna.runs.saving import Saver
from hcdyna.runs.store import Store
from hcdyna.settings.errors import Interrupted, NotWritten, RunError
from hcdyna.training.trainer import Trainer

SECONDS = 60.0
"""Between two saves; what takes less than that is never saved half-done."""

Seen = list[dict[str, np.ndarray]]
"""What the probe of each cell saw, by name and step."""


def folder_of(store: Path, cells: list[Cell]) -> Path:
    """Where the store of these cells keeps the program that trains them together."""
    names = " ".join(cell.key for cell in cells)
    return store / "unfinished" / hashlib.sha256(names.encode()).hexdigest()[:16]


class Unfinished:
    """What is kept of a program until its cells are done."""

    def __init__(self, folder: Path, trainer: Trainer) -> None:
        self.folder, self.trainer = folder, trainer
        self.saver: Saver | None = None
        self.last = time.monotonic()

    def resumed(self) -> tuple[int, Any, Progress, Seen]:
        """Where it was: step, agents, curves, and what probes saw. Step 0 if it is new."""
        try:
            found = self._found()
        except NotWritten:
            raise
        except RunError as error:
            warnings.warn(f"{error}; this program starts over", stacklevel=2)
            found = None
        if found is not None:
            return found
        self.forget()
        return *self.trainer.begin(), [{} for _ in self.trainer.settings]

    def _found(self) -> tuple[int, Any, Progress, Seen] | None:
        store = Store.open(self.folder) if run_json.exists(self.folder) else None
        newest = self.trainer.newest(store) if store else None
        if store is None or newest is None:
            return None
        step, life, progress = self.trainer.go_on(store, newest)
        seen: Seen = [{} for _ in self.trainer.settings]
        for name, x in read_arrays(self._seen(step)).items():
            index, _, label = name.partition("/")
            seen[int(index)][label] = x
        self.saver = Saver(store, progress, saved=len(progress.steps))
        return step, life, progress, seen

    def keep(
        self, step: int, life: Any, progress: Progress, seen: Seen, interrupted: threading.Event
    ) -> None:
        """Save, if it is time to."""
        stop = interrupted.is_set() and step < self.trainer.static.training.steps
        if not stop and time.monotonic() - self.last < SECONDS:
            return
        if self.saver is None:
            store = Store.create(self.folder, self.trainer.record())
            self.saver = Saver(store, progress, saved=0)
        named = {f"{i}/{label}": x for i, some in enumerate(seen) for label, x in some.items()}
        write_arrays(self._seen(step), named)
        self.saver.save(life, step)
        self.last = time.monotonic()
        if stop:
            raise Interrupted(f"interrupted after step {step}; the same command goes on from there")

    def forget(self) -> None:
        """The cells are done."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _seen(self, step: int) -> Path:
        return self.folder / f"seen-{step}.npz"
