"""A cell: settings, seeds, and what to look at on the way. Its result is a pair of small files."""

import contextlib
import hashlib
import itertools
import json
import shutil
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hcdyna.numerics.files import write, write_with
from hcdyna.settings import Settings
from hcdyna.settings.errors import RunError
from hcdyna.settings.plain import settings_to_plain
from hcdyna.settings.stored import as_of_before
from hcdyna.statistics.verdicts import LOOKS

MOST_IN_BLOCK = 200
"""Further seeds in a block: with the paper's largest queue so many take 7 GB."""


@dataclass(frozen=True)
class Cell:
    """One algorithm on one problem."""

    settings: Settings
    seeds: int
    probe: str | None = None
    """What to look at beside the curves, by its name in `probes.PROBES` …"""
    probe_steps: tuple[int, ...] = ()
    """… and after how many environment steps."""
    change: str | None = None
    """What to do to the agents, by its name in `probes.CHANGES` …"""
    change_step: int = 0
    """… and when."""
    first_seed: int = 0
    """The seeds are this one and those that follow it."""

    def blocks(self, seeds: int) -> list["Cell"]:
        """The cell, and blocks of further seeds that lead from look to look, up to so many."""
        ends = [self.seeds]
        for look in LOOKS:
            if self.seeds < look <= seeds:
                parts = -(-(look - ends[-1]) // MOST_IN_BLOCK)
                ends += [ends[-1] + (look - ends[-1]) * i // parts for i in range(1, parts)]
                ends.append(look)
        return [
            self,
            *(
                replace(self, first_seed=self.first_seed + a, seeds=b - a)
                for a, b in itertools.pairwise(ends)
            ),
        ]

    def plain(self) -> dict[str, Any]:
        """All that decides the result. Kernels do not count: they change rounding alone."""
        settings = as_of_before(settings_to_plain(self.settings))
        settings["training"].pop("kernels")
        found: dict[str, Any] = {"settings": settings, "seeds": self.seeds}
        if self.probe is not None:
            found |= {"probe": self.probe, "probe_steps": list(self.probe_steps)}
        if self.change is not None:
            found |= {"change": self.change, "change_step": self.change_step}
        if self.first_seed:  # cells of before had no such field, and keep their names
            found["first_seed"] = self.first_seed
        return found

    @property
    def key(self) -> str:
        """A name for the files of this cell."""
        text = json.dumps(self.plain(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Result:
    """What is kept of a cell."""

    steps: np.ndarray
    """[evaluations]"""
    returns: np.ndarray
    """[seeds, evaluations]"""
    diverged: np.ndarray
    """[seeds]"""
    seen: dict[str, np.ndarray]
    """What the probe saw, by name and step."""
    record: dict[str, Any]
    """Settings, versions, device, commit."""

    def part(self, seeds: slice) -> "Result":
        """Some of the seeds; what was kept of few alone stays as it is."""
        count = len(self.returns)
        seen = {name: x[seeds] if len(x) == count else x for name, x in self.seen.items()}
        return Result(self.steps, self.returns[seeds], self.diverged[seeds], seen, self.record)


def joined(results: Sequence[Result]) -> Result:
    """Blocks of seeds of one cell as a single result, with the record of the first. What was kept
    of few seeds alone is that of the first block."""
    first = results[0]
    seen = {
        name: np.concatenate([each.seen[name] for each in results])
        if len(x) == len(first.returns)
        else x
        for name, x in first.seen.items()
    }
    returns = np.concatenate([each.returns for each in results])
    diverged = np.concatenate([each.diverged for each in results])
    return Result(first.steps, returns, diverged, seen, first.record)


class CellStore:
    """Cells in a folder, two files each. Stores of several machines merge by copying files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "cells"

    def has(self, cell: Cell) -> bool:
        return self._paths(cell.key)[1].is_file()

    def save(self, cell: Cell, result: Result) -> None:
        """The description comes last, so that a cell that was cut off is not there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        arrays, description = self._paths(cell.key)
        found: dict[str, Any] = {f"seen:{name}": x for name, x in result.seen.items()}
        found |= {"steps": result.steps, "returns": result.returns.astype(np.float32)}
        found |= {"diverged": result.diverged}
        write_with(arrays, lambda file: np.savez_compressed(file, **found))
        write(description, (json.dumps(cell.plain() | result.record, indent=1) + "\n").encode())

    def load(self, cell: Cell) -> Result:
        arrays, description = self._paths(cell.key)
        try:
            record = json.loads(description.read_text())
            with np.load(arrays) as found:
                seen = {n.removeprefix("seen:"): found[n] for n in found if n.startswith("seen:")}
                return Result(found["steps"], found["returns"], found["diverged"], seen, record)
        except (
            *(OSError, ValueError, KeyError, EOFError, RuntimeError),
            *(zipfile.BadZipFile, zlib.error),
        ) as error:
            raise RunError(
                f"{description}: can't be read ({error}); delete it to run it again"
            ) from None

    def seconds(self) -> dict[str, float]:
        """Key → seconds that a cell took, as its worker noted in done/ for all cells of a task."""
        found: dict[str, float] = {}
        for path in sorted((self.folder.parent / "done").glob("*.json")):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):  # a damaged note
                note = json.loads(path.read_text(encoding="utf-8"))
                found |= dict.fromkeys(note["keys"], note["seconds"] / len(note["keys"]))
        return found

    def merge(self, other: Path) -> int:
        """Copy the cells of another store that are missing here; how many that were."""
        if not (other / "cells").is_dir():
            raise RunError(f"{other}: there are no cells to merge")
        count = 0
        self.folder.mkdir(parents=True, exist_ok=True)
        for description in sorted((other / "cells").glob("*.json")):
            arrays = description.with_suffix(".npz")
            if arrays.is_file() and not (self.folder / description.name).exists():
                shutil.copy(arrays, self.folder)
                shutil.copy(description, self.folder)
                count += 1
        return count

    def _paths(self, key: str) -> tuple[Path, Path]:
        return self.folder / f"{key}.npz", self.folder / f"{key}.json"
