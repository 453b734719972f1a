"""A program of cells on its way: kept in a run folder, so that it goes on after an interruption."""

from __future__ import annotations

import hashlib
import shutil
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hcdyna.numerics.files import read_arrays, write_arrays
from hcdyna.runs import checkpoint
from hcdyna.runs.record import describe
from hcdyna.runs.run import Progress
from hcdyna.runs.store import Store
from hcdyna.settings.errors import Interrupted
from hcdyna.settings.plain import settings_to_plain
from hcdyna.training.train import Crew, kernels_used

if TYPE_CHECKING:
    from hcdyna.experiments.cells import Cell

SECONDS = 60.0
"""Between two saves; what takes less than that is never saved half-done."""

Seen = list[dict[str, np.ndarray]]
"""What the probe of each cell saw, by name and step."""


class Unfinished:
    """What is kept of a program until its cells are done."""

    def __init__(self, folder: Path, cells: list[Cell], crew: Crew) -> None:
        names = " ".join(cell.key for cell in cells)
        name = hashlib.sha256(names.encode()).hexdigest()[:16]
        self.folder, self.crew = folder / "unfinished" / name, crew
        self.saved, self.last = 0, time.monotonic()

    def found(self) -> tuple[int, Any, Progress, Seen]:
        """Where it was: step, agents, curves, and what probes saw. Step 0 if it is new."""
        crew = self.crew
        seen: Seen = [{} for _ in crew.settings]
        if Store.exists(self.folder):
            store = Store.open(self.folder)
            there = crew.newest(store) if store.checkpoints() else None
            if there is not None:
                step, life, path = there
                progress = store.progress(until=path)
                progress.settings = crew.settings
                store.forget_after(step)
                self.saved = len(progress.steps)
                for name, x in read_arrays(self._seen(step)).items():
                    index, _, label = name.partition("/")
                    seen[int(index)][label] = x
                return step, life, progress, seen
        life = crew.programs.init(crew.seed_of_agent, crew.numbers)
        return 0, life, Progress(crew.settings, crew.seeds), seen

    def keep(
        self, step: int, life: Any, progress: Progress, seen: Seen, interrupted: threading.Event
    ) -> None:
        """Save, if it is time to."""
        stop = interrupted.is_set() and step < self.crew.static.training.steps
        if not stop and time.monotonic() - self.last < SECONDS:
            return
        store = self._store()
        store.save_curves(progress, self.saved)
        named = {f"{i}/{label}": x for i, found in enumerate(seen) for label, x in found.items()}
        write_arrays(self._seen(step), named)
        arrays = checkpoint.to_arrays(life, self.crew.agents)
        self.saved = len(progress.steps)
        store.save_checkpoint(step, arrays, self.saved)
        self.last = time.monotonic()
        if stop:
            raise Interrupted(f"interrupted after step {step}; the same command goes on from there")

    def forget(self) -> None:
        """The cells are done."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _store(self) -> Store:
        if Store.exists(self.folder):
            return Store.open(self.folder)
        settings = self.crew.settings
        plain = [settings_to_plain(each) for each in settings]
        return Store.create(
            self.folder, describe(plain, self.crew.seeds, kernels_used(settings[0]))
        )

    def _seen(self, step: int) -> Path:
        return self.folder / f"seen-{step}.npz"
