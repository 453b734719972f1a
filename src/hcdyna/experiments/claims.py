"""Claims as comparisons of cells, and what the runs answer to them."""

import itertools
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from hcdyna.experiments.scores import Scores, number
from hcdyna.settings.errors import SettingsError
from hcdyna.statistics.draws import Arm, Bounds
from hcdyna.statistics.power import Outlook, outlook
from hcdyna.statistics.verdicts import (
    Combine,
    Comparison,
    Kind,
    Verdict,
    combine,
    compare,
    edge_of,
    judge,
    signed,
)


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
    minus_a: str | None = None
    minus_b: str | None = None
    each: dict[str, list[Any]] = field(default_factory=dict)
    metric: str = "area"
    bounds: Bounds | None = (0.0, 1.0)
    combine: Combine = "all"
    where: str | None = None
    reading: str = ""

    def cases(self) -> list[dict[str, str]]:
        """One for each way to fill in the keys."""
        values = itertools.product(*self.each.values())
        return [dict(zip(self.each, map(str, case), strict=True)) for case in values]

    def sides(self, case: dict[str, str]) -> list[str | None]:
        """a, b, minus_a and minus_b with the keys filled in."""
        sides = (self.a, self.b, self.minus_a, self.minus_b)
        return [None if side is None else side.format(**case) for side in sides]


@dataclass(frozen=True)
class Answer:
    """One comparison of a claim, judged."""

    case: dict[str, str]
    a: str
    b: str
    """In words: the two that are compared, or the gains that are."""
    metric: str
    means: tuple[float, float]
    labels: list[str]
    """The cells behind it."""
    look: int
    """How many seeds of each of these were used, those that chose a learning rate included."""
    comparison: Comparison
    verdict: Verdict
    outlook: Outlook | None
    """Seeds of a cell that would probably decide it, and how, where it is undecided."""


def read_claims(path: Path) -> tuple[list[Claim], dict[str, dict[str, float]]]:
    """The claims of a file, and the ranges of the scores."""
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    claims = [Claim(**({"margin": content["margin"]} | claim)) for claim in content["claims"]]
    known = {claim.id for claim in claims}
    for claim in claims:
        if claim.where is not None and claim.where not in known:
            raise SettingsError(f"{claim.id}: where = {claim.where!r} is not the id of a claim")
    return claims, content["scores"]


def answer(
    claims: list[Claim], scores: Scores, metric: str | None = None
) -> dict[str, list[Answer]]:
    """The claims of one figure, each with its answers. `metric` replaces the one of the claims.
    Comparisons without runs are left out."""
    found: dict[str, list[Answer]] = {}
    for claim in claims:
        asked = (ask(claim, case, scores, metric) for case in claim.cases())
        found[claim.id] = [each for each in asked if each is not None]
    for claim in claims:
        if claim.where is not None:
            gained = [x.case for x in found[claim.where] if x.verdict is Verdict.REPRODUCED]
            found[claim.id] = [x for x in found[claim.id] if x.case in gained]
    return found


def ask(
    claim: Claim, case: dict[str, str], scores: Scores, other: str | None = None
) -> Answer | None:
    """One comparison, on as many seeds as all of its cells have; None where one was not run. By
    another metric than the claim's no seeds are planned."""
    sides, metric = claim.sides(case), other or claim.metric
    labels = sorted({x for side in sides if side is not None for x in scores.labels(side)})
    look = scores.seeds(labels)
    if look == 0:
        return None
    found = [None if side is None else arm(side, scores, metric, look) for side in sides]
    values = [None if x is None else x[0] for x in found]
    arms = signed(*values)  # type: ignore[arg-type]  # a and b are always there
    bounds = None if claim.bounds is None else (claim.bounds[0], claim.bounds[1])
    edge = edge_of(arms, claim.margin, bounds)
    if len(labels) == 1 and len(arms) == sum(isinstance(x, np.ndarray) for x in values):
        arms, bounds = paired(arms, bounds)
    failed = tuple(x[1] for x in found if x is not None)
    comparison = compare(arms, claim.kind, claim.margin, bounds, failed)
    comparison = replace(comparison, edge=edge)
    verdict = judge(comparison)
    plan = verdict is Verdict.UNDECIDED and other is None
    a, b, minus_a, minus_b = (0.0 if x is None else float(np.mean(x)) for x in values)
    return Answer(
        case=case,
        a=in_words(sides[0], sides[2]),
        b=in_words(sides[1], sides[3]),
        metric=metric,
        means=(a - minus_a, b - minus_b),
        labels=labels,
        look=look,
        comparison=comparison,
        verdict=verdict,
        outlook=outlook(arms, claim.kind, claim.margin, bounds, look) if plan else None,
    )


def paired(arms: list[Arm], bounds: Bounds | None) -> tuple[list[Arm], Bounds | None]:
    """Numbers of the same runs are not independent: their differences [seeds] are one arm, and lie
    between bounds of their own."""
    difference = np.asarray(sum(sign * scores for sign, scores in arms))
    if bounds is None:
        return [(1, difference)], None
    width = bounds[1] - bounds[0]
    return [(1, difference)], (-width, width)


def arm(expression: str, scores: Scores, metric: str, look: int) -> tuple[np.ndarray | float, int]:
    """Scores [seeds], or a number, and how many runs failed."""
    known = number(expression)
    if known is not None:
        return known, 0
    found = scores.of(expression, metric, look)
    if found is None:
        raise SettingsError(f"{expression}: there is no such cell")
    return found


def in_words(side: str | None, minus: str | None) -> str:
    """An arm, or a gain."""
    return f"{side} − {minus}" if minus else str(side)


def not_run(claim: Claim, found: dict[str, list[Answer]]) -> list[dict[str, str]]:
    """The cases of a claim that have no answer, because a cell is missing."""
    cases = claim.cases()
    if claim.where is not None:
        cases = [x.case for x in found[claim.where] if x.verdict is Verdict.REPRODUCED]
    answered = [x.case for x in found[claim.id]]
    return [case for case in cases if case not in answered]


def combined(answers: list[Answer], how: Combine, missing: int = 0) -> Verdict | None:
    """One verdict out of many; None where nothing was run, or nothing says anything. Where some are
    `missing`, only what a single comparison can settle is settled."""
    verdict = combine([each.comparison for each in answers], how)
    alone = Verdict.CONTRADICTED if how == "all" else Verdict.REPRODUCED
    return Verdict.UNDECIDED if missing and verdict is not alone else verdict


def open_cells(answers: list[Answer], how: Combine) -> dict[str, int]:
    """The cells whose further seeds may decide a claim, each with the seeds that were used; none if
    it is decided. Where no single comparison is open, all of them are."""
    if combined(answers, how) is not Verdict.UNDECIDED:
        return {}
    undecided = [x for x in answers if x.verdict is Verdict.UNDECIDED]
    return {label: x.look for x in undecided or answers for label in x.labels}
