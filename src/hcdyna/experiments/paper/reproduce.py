"""What `hcdyna reproduce` makes of the cells in its store, and which of them are missing."""

import functools
import itertools
import json
import multiprocessing
import re
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from rich.table import Table

from hcdyna.experiments.cells import Cell, CellStore, Result, joined
from hcdyna.experiments.paper import FIGURES, figure
from hcdyna.experiments.paper.scale import SCALES, Scale
from hcdyna.experiments.running import Say
from hcdyna.numerics.files import write
from hcdyna.settings.words import count
from hcdyna.statistics.verdicts import LOOKS

Labels = dict[str, list[str]]
"""Figure → labels of some of its cells."""
LONGEST = "fig4"
NO_METADATA = {"Software": None}
"""Pictures do not say which program drew them, so that the same data give the same file."""


class Reproduction:
    """A store of cells at one scale, and what is made from it."""

    def __init__(self, folder: Path, scale: str, say: Say = print) -> None:
        self.folder, self.scale, self.say = folder, SCALES[scale], say
        self.store = CellStore(folder)

    @functools.cached_property
    def seconds(self) -> dict[str, float]:
        """Key → seconds that the cell took. Cells of before say so themselves."""
        return self.store.seconds()

    def cells(self, name: str) -> dict[str, Cell]:
        """The cells of a figure by their names."""
        return figure(name).cells(self.scale)

    def lacking(self, labels: Labels, seeds: int = 0) -> Labels:
        """Those of some cells of which a block of seeds is missing, up to so many."""
        found: Labels = {}
        for name, some in labels.items():
            cells = self.cells(name)
            for label in some:
                if not all(map(self.store.has, cells[label].blocks(seeds))):
                    found.setdefault(name, []).append(label)
        return found

    def next_looks(self, figures: Sequence[str], most: int) -> dict[int, Labels]:
        """Seeds → the cells that undecided claims need with so many for their next look."""
        from hcdyna.experiments.paper.verdicts import undecided

        found: dict[int, Labels] = {}
        for name in figures:
            for label, seeds in undecided(name, self.cells(name), self.results(name)).items():
                look = next((look for look in LOOKS if seeds < look <= most), 0)
                found.setdefault(look, {}).setdefault(name, []).append(label)
        looks = {look: self.lacking(labels, look) for look, labels in found.items()}
        return {look: labels for look, labels in looks.items() if labels}

    def results(self, name: str) -> dict[str, Result]:
        """What there is of a figure's cells, with as many seeds as there are without a gap."""
        return {
            label: joined([self.store.load(block) for block in there])
            for label, cell in self.cells(name).items()
            if (there := self.there(cell))
        }

    def there(self, cell: Cell) -> list[Cell]:
        """The blocks of a cell that were run, up to the first that was not."""
        return [*itertools.takewhile(self.store.has, cell.blocks(LOOKS[-1]))]

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
            {name: [x for x in drawn if figure_of(x) == name] for name in FIGURES},
            {name: self.cells(name) for name in FIGURES},
            {name: self.missing(name) for name in FIGURES},
        )
        write(self.folder / "index.html", text.encode())
        return verdict_table(every, self.scale)

    def missing(self, name: str) -> list[str]:
        """The cells of a figure that were not run."""
        return [label for label, cell in self.cells(name).items() if not self.store.has(cell)]

    def gaps(self, figures: Sequence[str]) -> str:
        """In which figures cells are missing, and how many."""
        missing = {name: len(self.missing(name)) for name in figures}
        some = [f"{n} of {len(self.cells(name))} in {name}" for name, n in missing.items() if n]
        return ", ".join(some)

    def listing(self) -> Table:
        """The figures, and what each cost or is missing."""
        table = Table(title=f"Figures of the paper at the scale {self.scale.name!r}")
        for heading in ("figure", "what it shows", "cells", "missing", "cost"):
            table.add_column(
                heading, justify="right" if heading in ("cells", "missing") else "left"
            )
        for name in FIGURES:
            cells = self.cells(name)
            there = [block for cell in cells.values() for block in self.there(cell)]
            missing = len(self.missing(name))
            table.add_row(name, figure(name).TITLE, str(len(cells)), str(missing), self.cost(there))
        return table

    def cost(self, cells: list[Cell]) -> str:
        """Seconds that some cells took, by device."""
        devices: dict[str, float] = {}
        for cell in cells:
            record = self.store.load(cell).record
            took = self.seconds.get(cell.key) or record.get("seconds", 0.0)
            device = record["versions"]["device"]
            devices[device] = devices.get(device, 0.0) + took
        words = (f"{seconds:.0f} s on {device}" for device, seconds in devices.items())
        return ", ".join(words) or "–"


def judge_and_draw(folder: Path, scale: str, name: str) -> list[dict[str, Any]]:
    """The claims of one figure; its pictures go to the folder."""
    from hcdyna.experiments.paper.verdicts import judged

    reproduction = Reproduction(folder, scale)
    results = reproduction.results(name)
    for stem, picture in figure(name).draw(results, reproduction.scale).items():
        picture.savefig(folder / "figures" / f"{stem}.png", dpi=110, metadata=NO_METADATA)
    return judged(name, reproduction.cells(name), results, reproduction.scale)


def figure_of(picture: str) -> str:
    """fig4 of fig4-1e-3.png and of fig4_learned_ends-1e-3.png."""
    return re.split("[-_.]", picture)[0]


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
