"""Everything behind `hcdyna reproduce`: run what is missing, then make all that is to be seen."""

import json
import math
import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from rich.table import Table

from hcdyna.experiments.cells import Cell, CellStore, Result
from hcdyna.experiments.paper import FIGURES, figure
from hcdyna.experiments.paper.scale import SCALES, Scale
from hcdyna.experiments.running import Say, run_missing
from hcdyna.numerics.files import write
from hcdyna.settings.words import count

LONGEST = "fig4"
NO_METADATA = {"Software": None}
"""Pictures do not say which program drew them, so that the same data give the same file."""


class Reproduction:
    """A store of cells at one scale, and what is made from it."""

    def __init__(self, folder: Path, scale: str, say: Say = print) -> None:
        self.folder, self.scale, self.say = folder, SCALES[scale], say
        self.store = CellStore(folder)

    def cells(self, name: str) -> dict[str, Cell]:
        """The cells of a figure by their names."""
        return figure(name).cells(self.scale)

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

    def write(self, figures: Sequence[str]) -> Table:
        """Pictures, claims.json, verdicts.md and the page, from what is in the store. Figures that
        were not asked for keep what was written of them before."""
        from hcdyna.experiments.paper.page import page
        from hcdyna.experiments.paper.verdicts import markdown

        path = self.folder / "claims.json"
        claims: dict[str, list[dict[str, Any]]] = {name: [] for name in FIGURES}
        if path.is_file():
            for claim in json.loads(path.read_text(encoding="utf-8")):
                claims[claim["figure"]].append(claim)
        pictures_folder = self.folder / "figures"
        pictures_folder.mkdir(parents=True, exist_ok=True)
        # Each figure in a process of its own: bootstraps and pictures take seconds each.
        with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
            made = {
                name: pool.submit(judge_and_draw, self.folder, self.scale.name, name)
                for name in sorted(figures, key=lambda name: name != LONGEST)
            }
            for name in figures:
                claims[name] = made[name].result()
                self.say(f"{name}: {count(len(claims[name]), 'claim')} judged")
        every = [claim for name in FIGURES for claim in claims[name]]
        write(path, (json.dumps(every, indent=1, ensure_ascii=False) + "\n").encode())
        write(self.folder / "verdicts.md", markdown(every, self.scale).encode())
        titles = {name: figure(name).TITLE for name in FIGURES}
        drawn = sorted(path.name for path in pictures_folder.glob("*.png"))  # fig4-1e-3.png
        text = page(
            self.scale,
            titles,
            claims,
            {name: [x for x in drawn if x.split(".")[0].split("-")[0] == name] for name in FIGURES},
            {name: self.cells(name) for name in FIGURES},
            {name: len(self.missing(name)) for name in FIGURES},
        )
        write(self.folder / "index.html", text.encode())
        return verdict_table(every, self.scale)

    def missing(self, name: str) -> list[str]:
        """The cells of a figure that were not run."""
        return [label for label, cell in self.cells(name).items() if not self.store.has(cell)]

    def listing(self) -> Table:
        """The figures, and what each cost or is missing."""
        table = Table(title=f"Figures of the paper at the scale {self.scale.name!r}")
        for heading in ("figure", "what it shows", "cells", "missing", "cost"):
            table.add_column(
                heading, justify="right" if heading in ("cells", "missing") else "left"
            )
        for name in FIGURES:
            cells = self.cells(name)
            there = [self.store.load(c).record for c in cells.values() if self.store.has(c)]
            table.add_row(
                name, figure(name).TITLE, str(len(cells)), str(len(cells) - len(there)), cost(there)
            )
        return table


def judge_and_draw(folder: Path, scale: str, name: str) -> list[dict[str, Any]]:
    """The claims of one figure; its pictures go to the folder."""
    from hcdyna.experiments.paper.verdicts import judged

    reproduction = Reproduction(folder, scale)
    results = reproduction.results(name)
    for stem, picture in figure(name).draw(results, reproduction.scale).items():
        picture.savefig(folder / "figures" / f"{stem}.png", dpi=110, metadata=NO_METADATA)
    return judged(name, reproduction.cells(name), results, reproduction.scale)


def verdict_table(claims: list[dict[str, Any]], scale: Scale) -> Table:
    """One line for each claim."""
    from hcdyna.experiments.paper.verdicts import in_words

    note = "" if scale.name == "full" else f" (quick scale: {scale.seeds} seeds, few steps)"
    table = Table(title=f"What the paper says, and what the runs say{note}")
    for heading in ("figure", "claim", *(f"at {rate}" for rate in scale.rates)):
        table.add_column(heading)
    for claim in claims:
        words = [in_words(claim, rate).replace("**", "") for rate in scale.rates]
        table.add_row(claim["figure"], claim["id"].replace("-", " "), *words)
    return table


def cost(records: list[dict[str, Any]]) -> str:
    """Seconds of the cells that were run, by device; those of a sweep are noted beside its cells,
    not in them."""
    devices: dict[str, float] = {}
    for record in records:
        device = record["versions"]["device"]
        devices[device] = devices.get(device, 0.0) + record.get("seconds", 0.0)
    return ", ".join(f"{seconds:.0f} s on {device}" for device, seconds in devices.items()) or "–"
