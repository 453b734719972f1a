"""Claims as comparisons of cells, and what the runs answer to them."""

import itertools
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from hcdyna.experiments.cells import Cell, Result, best
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.plain import settings_to_plain
from hcdyna.statistics.verdicts import Comparison, Kind, Verdict, compare, judge_all, with_failures

EARLY, LAST = 0.4, 0.2
"""Shares of the evaluations after warm-up."""


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, and the comparisons that it comes to; see the head of the file."""

    id: str
    figure: str
    place: str
    quote: str
    a: str
    b: str
    kind: Kind
    margin: float
    each: dict[str, list[Any]] = field(default_factory=dict)
    metric: str = "area"
    combine: str = "all"
    where: str | None = None

    def cases(self) -> list[dict[str, str]]:
        """One for each way to fill in the keys."""
        values = itertools.product(*self.each.values())
        return [dict(zip(self.each, map(str, case), strict=True)) for case in values]


@dataclass(frozen=True)
class Answer:
    """One comparison of a claim, judged."""

    case: dict[str, str]
    a: str
    b: str
    metric: str
    means: tuple[float, float]
    comparison: Comparison
    verdict: Verdict


@dataclass(frozen=True)
class Scores:
    """What a figure's cells say, by label."""

    cells: dict[str, Cell]
    results: dict[str, Result]
    ranges: dict[str, dict[str, float]]

    def of(self, expression: str, metric: str) -> tuple[np.ndarray, int] | None:
        """Scores [seeds] and how many runs failed; None where the cell was not run."""
        if re.fullmatch(r"[\d.]+", expression):
            return np.array([float(expression)]), 0
        label, _, own = (part.strip() for part in expression.partition(" @ "))
        found = self.best_of(label.removesuffix("*")) if label.endswith("/*") else label
        if found is None or found not in self.results:
            return None
        cell, result = self.cells[found], self.results[found]
        name = own or metric
        if "@" in name:
            return seen(cell, result, name), 0
        failed = result.diverged
        return with_failures(self.curve_score(cell, result, name), failed, 0.0), int(failed.sum())

    def best_of(self, family: str) -> str | None:
        """The best learning rate (appendix); None unless all were run."""
        missing = [x for x in self.cells if x.startswith(family) and x not in self.results]
        return None if missing else best(self.results, family)

    def curve_score(self, cell: Cell, result: Result, metric: str) -> np.ndarray:
        """The mean of a part of the curve [seeds], from 0 (worst) to 1 (best)."""
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
        return (curve[:, part[metric]].mean(axis=1) - worst) / (best - worst)


def seen(cell: Cell, result: Result, name: str) -> np.ndarray:
    """A number [seeds] that the probe saw: name@look or name@look#column."""
    word, _, place = name.partition("@")
    look, _, column = place.partition("#")
    values = result.seen[f"{word}_{cell.probe_steps[int(look)]}"].astype(float)
    return values[:, int(column)] if column else values


def read_claims(path: Path) -> tuple[list[Claim], dict[str, dict[str, float]]]:
    """The claims of a file, and the ranges of the scores."""
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    claims = [Claim(**({"margin": content["margin"]} | claim)) for claim in content["claims"]]
    known = {claim.id for claim in claims}
    for claim in claims:
        if claim.where is not None and claim.where not in known:
            raise SettingsError(f"{claim.id}: where = {claim.where!r} is not the id of a claim")
    return claims, content["scores"]


def answer(claims: list[Claim], scores: Scores, metric: str | None = None) -> dict[str, list]:
    """The claims of one figure, each with its answers; Holm's correction is over all of them.
    `metric` replaces the one of the claims. Comparisons without runs are left out."""
    asked: list[tuple[Claim, dict[str, str], str, str, str]] = []
    made: list[Comparison] = []
    means = []
    for claim in claims:
        for case in claim.cases():
            a, b = claim.a.format(**case), claim.b.format(**case)
            name = metric or claim.metric
            found_a, found_b = scores.of(a, name), scores.of(b, name)
            if found_a is None or found_b is None:
                continue
            (x, failed_x), (y, failed_y) = found_a, found_b
            x, y = (np.broadcast_to(z, max(len(x), len(y))) for z in (x, y))
            made.append(compare(x, y, claim.margin, failed=(failed_x, failed_y)))
            means.append((float(x.mean()), float(y.mean())))
            asked.append((claim, case, a, b, name))
    judged = judge_all(
        made, [claim.kind for claim, *_ in asked], [claim.margin for claim, *_ in asked]
    )
    found: dict[str, list[Answer]] = {claim.id: [] for claim in claims}
    for (claim, case, a, b, name), pair, (comparison, verdict) in zip(
        asked, means, judged, strict=True
    ):
        found[claim.id].append(Answer(case, a, b, name, pair, comparison, verdict))
    for claim in claims:
        if claim.where is not None:
            gained = [
                other.case for other in found[claim.where] if other.verdict is Verdict.REPRODUCED
            ]
            found[claim.id] = [x for x in found[claim.id] if x.case in gained]
    return found


def combined(answers: list[Answer], combine: str) -> Verdict | None:
    """One verdict out of many; None where nothing was run."""
    verdicts = {answer.verdict for answer in answers}
    order = (
        Verdict.CONTRADICTED,
        Verdict.INCONCLUSIVE,
        Verdict.NOT_CONTRADICTED,
        Verdict.NEGLIGIBLE,
        Verdict.REPRODUCED,
    )
    ordered = [verdict for verdict in order if verdict in verdicts]
    if not ordered:
        return None
    return ordered[0] if combine == "all" else ordered[-1]
