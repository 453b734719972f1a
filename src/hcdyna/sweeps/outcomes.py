"""What the cells of a store say: curves of each case, one table of everything, and verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hcdyna.experiments.cells import Cell
from hcdyna.settings import Settings
from hcdyna.settings.errors import RunError, SettingsError
from hcdyna.statistics.draws import DRAWS, Bounds
from hcdyna.statistics.summaries import area_under_curve, last_share
from hcdyna.statistics.verdicts import (
    LEVEL,
    Comparison,
    Verdict,
    compare,
    corrected,
    judge,
    signed,
    with_failures,
)
from hcdyna.sweeps.apart import by_name, told_apart
from hcdyna.sweeps.store import SweepStore
from hcdyna.sweeps.study import Asked, Study
from hcdyna.sweeps.tasks import Case, in_words, short

FEWEST = 2
"""Seeds of each side: one has no interval."""


@dataclass(frozen=True)
class Outcome:
    """All seeds of one combination of values that are there."""

    study: str
    case: Case
    settings: Settings
    wanted: int
    """Seeds that the study asks for."""
    seeds: np.ndarray
    """[seeds]"""
    steps: np.ndarray
    """[evaluations]"""
    returns: np.ndarray
    """[seeds, evaluations]"""
    diverged: np.ndarray
    """[seeds]"""

    def scores(self, metric: str) -> np.ndarray:
        """[seeds]: the mean return over all of the run, or over its last 20%."""
        if metric == "last":
            return last_share(self.returns)
        return area_under_curve(self.steps, self.returns)


@dataclass(frozen=True)
class Judged:
    """One comparison of a study, judged."""

    what: str
    a: Outcome
    b: Outcome
    metric: str
    claim: str
    comparison: Comparison
    verdict: Verdict


def outcomes(store: SweepStore, *studies: Study) -> list[Outcome]:
    """Every case of some studies of one name that has at least one cell, in their order; each seed
    once, however often it was asked for."""
    cases: dict[tuple[str, Settings], dict[str, Asked]] = {}
    for asked in (each for study in studies for each in study.cells()):
        cell = asked.cell
        cases.setdefault((in_words(asked.case), cell.settings), {}).setdefault(cell.key, asked)
    done, found = store.scan().done, []
    for group in cases.values():
        there = [asked.cell for key, asked in group.items() if key in done]
        if not there:
            continue
        results = [store.load(cell) for cell in there]
        seeds, rows = np.unique(np.concatenate([*map(seeds_of, there)]), return_index=True)
        every = [seed for asked in group.values() for seed in seeds_of(asked.cell)]
        asked = next(iter(group.values()))
        found.append(
            Outcome(
                study=studies[0].name,
                case=asked.case,
                settings=asked.cell.settings,
                wanted=len(np.unique(every)),
                seeds=seeds,
                steps=results[0].steps,
                returns=np.concatenate([x.returns for x in results])[rows],
                diverged=np.concatenate([x.diverged for x in results])[rows],
            )
        )
    apart = told_apart([each.case for each in found], [each.settings for each in found])
    return [replace(each, case=case) for each, case in zip(found, apart, strict=True)]


def seeds_of(cell: Cell) -> np.ndarray:
    """[seeds] of a cell."""
    return np.arange(cell.first_seed, cell.first_seed + cell.seeds)


def everything(store: SweepStore, studies: Sequence[Study]) -> list[Outcome]:
    """The outcomes of some studies of a store; RunError if there are none yet."""
    found = [outcome for some in by_name(studies) for outcome in outcomes(store, *some)]
    if not found:
        raise RunError(f"{store.place}: no cell is done yet")
    return found


def table(found: list[Outcome]) -> dict[str, np.ndarray]:
    """Tidy columns with a row per evaluation: study, each value that varies, seed, step, return,
    diverged."""
    paths = list(dict.fromkeys(path for outcome in found for path in outcome.case))
    columns: dict[str, list[Any]] = {name: [] for name in ("study", *paths)}
    numbers: dict[str, list[np.ndarray]] = {
        name: [] for name in ("seed", "step", "return", "diverged")
    }
    for outcome in found:
        shape = outcome.returns.shape
        rows = int(np.prod(shape))
        columns["study"] += [outcome.study] * rows
        for path in paths:
            columns[path] += [plainly(outcome.case.get(path))] * rows
        numbers["seed"].append(np.repeat(outcome.seeds, shape[1]))
        numbers["step"].append(np.tile(outcome.steps, shape[0]))
        numbers["return"].append(outcome.returns.ravel())
        numbers["diverged"].append(np.repeat(outcome.diverged, shape[1]))
    texts = {name: np.array(x) for name, x in columns.items()}
    return texts | {name: np.concatenate(x) for name, x in numbers.items()}


def plainly(value: Any) -> Any:
    """A number as it is, anything else in a word."""
    return value if isinstance(value, bool | int | float) else "" if value is None else short(value)


def judged(study: Study, found: list[Outcome]) -> list[Judged]:
    """The comparisons that a study asks for, wherever both sides have seeds. Each is a finding of
    its own, so that Holm's correction is over all of them. An agent that diverged counts with the
    lowest score there can be, or of its comparison where no bounds are given."""
    asked: list[tuple[Mapping[str, Any], Outcome, Outcome]] = []
    for wanted in study.compare:
        of = wanted["of"]
        for a in found:
            if short(a.case.get(of)) != short(wanted["a"]):
                continue
            for b in found:
                if short(b.case.get(of)) == short(wanted["b"]) and beside(a, of) == beside(b, of):
                    asked.append((wanted, a, b))
    asked = [x for x in asked if min(len(x[1].seeds), len(x[2].seeds)) >= FEWEST]
    # The smallest p-value there can be is one over the number of draws, times the comparisons.
    draws = max(DRAWS, round(4 * len(asked) / LEVEL))
    made = corrected([compared(wanted, a, b, draws) for wanted, a, b in asked])
    return [
        Judged(
            in_words(dict(beside(a, wanted["of"]))),
            *(a, b, wanted.get("metric", "area"), wanted.get("claim", "better")),
            *(comparison, judge(comparison)),
        )
        for (wanted, a, b), comparison in zip(asked, made, strict=True)
    ]


def beside(outcome: Outcome, path: str) -> tuple[tuple[str, str], ...]:
    """All that sets a case apart but the value at one path, and the options of that part."""
    return tuple(
        (name, short(value))
        for name, value in outcome.case.items()
        if name != path and not name.startswith(f"{path}.")
    )


def compared(wanted: Mapping[str, Any], a: Outcome, b: Outcome, draws: int = DRAWS) -> Comparison:
    """The numbers of one comparison."""
    metric = wanted.get("metric", "area")
    scores = [np.asarray(each.scores(metric), np.float64) for each in (a, b)]
    finite = np.concatenate([x[np.isfinite(x)] for x in scores])
    bounds: Bounds | None = None
    if "bounds" in wanted:
        low, high = wanted["bounds"]
        bounds = float(low), float(high)
    if bounds and len(finite) and not bounds[0] <= finite.min() <= finite.max() <= bounds[1]:
        raise SettingsError(
            f"compare: bounds = {wanted['bounds']}: returns go from {finite.min():.6g} to "
            f"{finite.max():.6g}"
        )
    worst = bounds[0] if bounds else float(finite.min()) if len(finite) else 0.0
    failed = [each.diverged | ~np.isfinite(x) for each, x in zip((a, b), scores, strict=True)]
    filled = [with_failures(x, bad, worst) for x, bad in zip(scores, failed, strict=True)]
    counts = (int(failed[0].sum()), int(failed[1].sum()))
    kind, margin = wanted.get("claim", "better"), float(wanted.get("margin", 0.0))
    return compare(signed(*filled), kind, margin, bounds, counts, draws)
