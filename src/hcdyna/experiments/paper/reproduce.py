"""Everything behind `hcdyna reproduce`: run what is missing, then make all that is to be seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from hcdyna.experiments.cells import Cell, CellStore, Result
from hcdyna.experiments.paper import FIGURES, figure
from hcdyna.experiments.paper.scale import SCALES
from hcdyna.experiments.running import Say, run_missing


class Reproduction:
    """A store of cells at one scale, and what is made from it."""

    def __init__(self, folder: Path, scale: str, say: Say = print) -> None:
        self.folder, self.scale, self.say = folder, SCALES[scale], say
        self.store = CellStore(folder)

    def cells(self, name: str) -> dict[str, Cell]:
        """The cells of a figure by their names."""
        module: Any = figure(name)
        return module.cells(self.scale)

    def run(self, figures: Sequence[str], seconds: float | None = None) -> int:
        """Train what is missing; how many cells are still missing then."""
        wanted = [cell for name in figures for cell in self.cells(name).values()]
        limit = math.inf if seconds is None else seconds
        return run_missing(wanted, self.store, self.say, limit)

    def results(self, name: str) -> dict[str, Result]:
        """What there is of a figure's cells."""
        return {
            label: self.store.load(cell)
            for label, cell in self.cells(name).items()
            if self.store.has(cell)
        }

    def listing(self) -> Table:
        """The figures, and what each cost or is missing."""
        table = Table(title=f"Figures of the paper at the scale {self.scale.name!r}")
        for heading in ("figure", "what it shows", "cells", "missing", "cost"):
            table.add_column(heading, justify="right" if heading in ("cells", "missing") else None)
        for name in FIGURES:
            module: Any = figure(name)
            cells = self.cells(name)
            there = [self.store.load(c).record for c in cells.values() if self.store.has(c)]
            table.add_row(
                name, module.TITLE, str(len(cells)), str(len(cells) - len(there)), cost(there)
            )
        return table


def cost(records: list[dict[str, Any]]) -> str:
    """Seconds of the cells that were run, by device."""
    devices: dict[str, float] = {}
    for record in records:
        device = record["versions"]["device"]
        devices[device] = devices.get(device, 0.0) + record["seconds"]
    return ", ".join(f"{seconds:.0f} s on {device}" for device, seconds in devices.items()) or "–"
