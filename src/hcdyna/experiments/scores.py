"""Scores of cells, one number a seed, and the choice of a learning rate by them."""

import re
from dataclasses import dataclass

import numpy as np

from hcdyna.experiments.cells import Cell, Result
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.plain import settings_to_plain
from hcdyna.statistics.verdicts import with_failures

EARLY, LAST = 0.4, 0.2
"""Shares of the evaluations after warm-up."""


def choosing(seeds: int) -> int:
    """How many of the first seeds choose a learning rate: a third. The others judge. A single seed
    does both, and so says nothing."""
    return 0 if seeds == 1 else max(1, seeds // 3)


@dataclass(frozen=True)
class Scores:
    """What a figure's cells say, by label."""

    cells: dict[str, Cell]
    results: dict[str, Result]
    ranges: dict[str, dict[str, float]]

    def labels(self, expression: str) -> list[str]:
        """The cells that an expression needs; none for a number."""
        if number(expression) is not None:
            return []
        label = expression.partition(" @ ")[0].strip()
        if not label.endswith("/*"):
            return [label]
        return [x for x in self.cells if x.startswith(label.removesuffix("*"))]

    def seeds(self, labels: list[str]) -> int:
        """How many seeds all of these cells have; 0 where one was not run."""
        counts = [len(self.results[x].returns) if x in self.results else 0 for x in labels]
        return min(counts, default=0)

    def of(self, expression: str, metric: str, seeds: int = 0) -> tuple[np.ndarray, int] | None:
        """Scores [seeds] of the first `seeds` of a cell, or of all, and how many runs failed; None
        where it was not run. Where the learning rate is chosen, of those that did not choose."""
        count = seeds or self.seeds(self.labels(expression))
        if count == 0:
            return None
        label, _, own = (part.strip() for part in expression.partition(" @ "))
        if label.endswith("/*"):
            found = self.best(label.removesuffix("*"), metric, count)
            if found is None:
                return None
            label, result = found
        else:
            result = self.results[label].part(slice(0, count))
        cell = self.cells[label]
        if own:
            return seen(cell, result, own), 0
        scores = self.curve_score(cell, result, metric)
        return with_failures(scores, result.diverged, 0.0), int(result.diverged.sum())

    def best(self, family: str, metric: str = "area", seeds: int = 0) -> tuple[str, Result] | None:
        """Of the labels that begin so, the one with the highest mean score on the seeds that
        choose, and its result on the others; None where nothing was run."""
        members = [label for label in self.results if label.startswith(family)]
        count = seeds or self.seeds(members)
        if count == 0:
            return None
        first, others = slice(0, max(1, choosing(count))), slice(choosing(count), count)

        def mean(label: str) -> float:
            part = self.results[label].part(first)
            found = float(np.mean(self.curve_score(self.cells[label], part, metric)))
            return found if np.isfinite(found) else -np.inf  # what is not a number must not win

        chosen = max(members, key=mean)
        return chosen, self.results[chosen].part(others)

    def curve_score(self, cell: Cell, result: Result, metric: str) -> np.ndarray:
        """The mean of a part of the curve [seeds], from 0 (worst) to 1 (best, or better)."""
        world = settings_to_plain(cell.settings)["environment"]["name"]
        worst, best = (self.ranges[world][end] for end in ("worst", "best"))
        learning = result.steps > cell.settings.training.warmup
        curve = np.where(result.diverged[:, None], worst, result.returns)[:, learning]
        count = curve.shape[1]
        part = {
            "area": slice(None),
            "early": slice(None, max(1, round(EARLY * count))),
            "last": slice(-max(1, round(LAST * count)), None),
            "after": slice(int(np.sum(result.steps[learning] <= cell.change_step)), None),
        }
        if metric not in part:
            raise SettingsError(f"metric = {metric!r}: must be one of {', '.join(part)}")
        return np.clip((curve[:, part[metric]].mean(axis=1) - worst) / (best - worst), 0, 1)


def number(expression: str) -> float | None:
    """What an expression that is a number stands for."""
    return float(expression) if re.fullmatch(r"[\d.]+", expression) else None


def seen(cell: Cell, result: Result, name: str) -> np.ndarray:
    """A number [seeds] that the probe saw: name@look or name@look#column."""
    word, _, place = name.partition("@")
    look, _, column = place.partition("#")
    values = result.seen[f"{word}_{cell.probe_steps[int(look)]}"].astype(float)
    return values[:, int(column)] if column else values
