"""A program of cells on its way: kept in a run folder, so that it goes on after an interruption."""

import shutil
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hcdyna.numerics.files import read_arrays, write_arrays
from hcdyna.runs import run_json
from hcdyna.runs.progress import Progress
from hcdyna.runs.saving import SAVING_SHARE, Saver
from hcdyna.runs.store import Store, step_of
from hcdyna.settings.errors import Interrupted, NotWritten, RunError
from hcdyna.training import memory
from hcdyna.training.trainer import Trainer

SECONDS = 60.0
"""Between two saves, at most."""
FEWEST_SECONDS = 1.0
"""At least; what takes less than that is never saved half-done."""
BYTES_PER_SECOND = 1e8
"""That are saved, for all that is known before the first time."""

Seen = list[dict[str, np.ndarray]]
"""What the probe of each cell saw, by name and step."""


class Unfinished:
    """What is kept of a program until its cells are done. `published` is called after each save,
    and counts as a part of it."""

    def __init__(
        self, folder: Path, trainer: Trainer, published: Callable[[], None] = lambda: None
    ) -> None:
        self.folder, self.trainer, self.published = folder, trainer, published
        self.saver: Saver | None = None
        self.last = time.monotonic()
        self.cost = sum(memory.needed(trainer.shapes).values()) / BYTES_PER_SECOND

    @property
    def pause(self) -> float:
        """Seconds until the next save: so few that little is lost with a worker that is killed, and
        so many that saving takes a small share of the time."""
        return min(SECONDS, max(FEWEST_SECONDS, self.cost / SAVING_SHARE))

    def resumed(self, cells: int) -> tuple[int, Any, Progress, Seen]:
        """Where it was: step, agents, curves, and what probes saw of so many cells. Step 0 if it is
        new."""
        try:
            found = self._found(cells)
        except NotWritten:
            raise
        except RunError as error:
            warnings.warn(f"{error}; this program starts over", stacklevel=2)
            found = None
        if found is not None:
            return found
        self.forget()
        return *self.trainer.begin(), [{} for _ in range(cells)]

    def _found(self, cells: int) -> tuple[int, Any, Progress, Seen] | None:
        store = Store.open(self.folder) if run_json.exists(self.folder) else None
        newest = self.trainer.newest(store) if store else None
        if store is None or newest is None:
            return None
        step, life, progress = self.trainer.go_on(store, newest)
        seen: Seen = [{} for _ in range(cells)]
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
        begin = time.monotonic()
        if not stop and begin - self.last < self.pause:
            return
        if self.saver is None:
            store = Store.create(self.folder, self.trainer.record())
            self.saver = Saver(store, progress, saved=0)
        named = {f"{i}/{label}": x for i, some in enumerate(seen) for label, x in some.items()}
        write_arrays(self._seen(step), named)
        self.saver.save(life, step)
        kept = {self._seen(step_of(path)) for path in self.saver.store.checkpoints()}
        for path in set(self.folder.glob("seen-*.npz")) - kept:
            path.unlink(missing_ok=True)
        self.published()
        self.last = time.monotonic()
        self.cost = self.last - begin
        if stop:
            raise Interrupted(f"interrupted after step {step}; the same command goes on from there")

    def forget(self) -> None:
        """The cells are done."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _seen(self, step: int) -> Path:
        return self.folder / f"seen-{step}.npz"
