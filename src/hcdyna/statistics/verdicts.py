"""Verdicts on what is claimed of algorithms, by a rule fixed beforehand.

Scores are oriented so that larger is better. Δ is a difference of means, a − b, or of gains,
(a − minus_a) − (b − minus_b), and m ≥ 0 the margin: the smallest difference that matters. "Shown"
is a one-sided test at the `LEVEL`, from the draws of `draws.py`. The first line that holds counts.

| claim       | verdict      | when                                                          |
| ----------- | ------------ | ------------------------------------------------------------- |
| any         | floor        | scores of all arms are within m of the worst: it says nothing |
|             | ceiling      | … of the best                                                 |
| "better"    | equivalent   | −m < Δ < m is shown                                           |
|             | reproduced   | Δ > 0 is shown                                                |
|             | contradicted | Δ < −m is shown                                               |
| "not worse" | reproduced   | Δ > −m is shown                                               |
|             | contradicted | Δ < −m is shown                                               |
| "similar"   | reproduced   | −m < Δ < m is shown                                           |
|             | contradicted | Δ < −m or Δ > m is shown                                      |
| any         | undecided    | otherwise                                                     |
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal, NamedTuple, get_args

import numpy as np

from hcdyna.statistics.comparisons import holm
from hcdyna.statistics.draws import DRAWS, Arm, Bounds, Draws, sum_draws

Kind = Literal["better", "not worse", "similar"]
"""What is claimed of A, compared with B."""
Combine = Literal["all", "any"]
"""Whether every comparison of a claim must hold, or one is enough."""

LOOKS = (30, 100, 200, 400, 1_000)
"""Numbers of seeds at which a claim is looked at, and at no other."""
LEVEL = 0.025 / len(LOOKS)
"""Of a one-sided test at one look; by Bonferroni, all looks together keep 0.025."""


class Verdict(StrEnum):
    """What became of a claim or of one comparison; floor and ceiling are for comparisons alone."""

    REPRODUCED = "reproduced"
    CONTRADICTED = "contradicted"
    EQUIVALENT = "equivalent"
    UNDECIDED = "undecided"
    FLOOR = "floor"
    CEILING = "ceiling"


SILENT = (Verdict.FLOOR, Verdict.CEILING)
"""Comparisons that say nothing about a claim."""


class PValues(NamedTuple):
    """How well each verdict is shown: p-values of its opposite."""

    reproduced: np.ndarray
    contradicted: np.ndarray
    equivalent: np.ndarray


@dataclass(frozen=True)
class Comparison:
    """The numbers that a verdict rests on."""

    difference: float
    """Δ."""
    low: float
    high: float
    """95% interval of Δ."""
    p_reproduced: float
    p_contradicted: float
    p_equivalent: float
    """One-sided, for the kind of claim and its margin; 1 where the kind knows no equivalence."""
    seeds: tuple[int, ...]
    """Of a, b, minus_a and minus_b, as far as they are samples."""
    edge: Literal["", "floor", "ceiling"] = ""
    """Where all arms are within the margin of the worst or of the best score."""
    failed: tuple[int, ...] = (0, 0)
    """How many runs of each arm diverged; they count with the worst score."""


def with_failures(scores: np.ndarray, failed: np.ndarray, worst: float) -> np.ndarray:
    """Scores [seeds], with `worst` for each seed that `failed` [seeds]. None is dropped.

    `worst` is the lowest score there is, fixed beforehand: that of an agent that learns nothing.
    Without it an algorithm could look better for failing where it would have done badly.

    >>> with_failures(np.array([-50.0, np.nan]), np.array([False, True]), -1000.0).tolist()
    [-50.0, -1000.0]
    """
    filled = np.where(failed, worst, np.asarray(scores, np.float64))
    if not np.isfinite(filled).all():
        raise ValueError("the worst score and those of runs that did not fail must be finite")
    return filled


def signed(
    a: np.ndarray | float,
    b: np.ndarray | float,
    minus_a: np.ndarray | float | None = None,
    minus_b: np.ndarray | float | None = None,
) -> list[Arm]:
    """The arms of Δ = (a − minus_a) − (b − minus_b)."""
    arms = ((1, a), (-1, b), (-1, minus_a), (1, minus_b))
    return [(sign, scores) for sign, scores in arms if scores is not None]


def compare(
    arms: Sequence[Arm],
    kind: Kind,
    margin: float,
    bounds: Bounds | None = None,
    failed: tuple[int, ...] = (0, 0),
    draws: int = DRAWS,
    seed: int = 0,
) -> Comparison:
    """All numbers for a verdict on the `signed` arms, whose scores [seeds] have failures filled in;
    `failed` only says how many those were."""
    found = sum_draws(arms, bounds, draws, seed)
    low, high = found.interval()
    p = p_values(found, kind, margin)
    return Comparison(
        difference=float(sum(sign * np.mean(scores) for sign, scores in arms)),
        low=float(low),
        high=float(high),
        p_reproduced=float(p.reproduced),
        p_contradicted=float(p.contradicted),
        p_equivalent=float(p.equivalent),
        seeds=tuple(len(scores) for _, scores in arms if isinstance(scores, np.ndarray)),
        edge=edge_of(arms, margin, bounds),
        failed=failed,
    )


def p_values(draws: Draws, kind: Kind, margin: float) -> PValues:
    """The tests of the table above, for draws [draws, …] of Δ."""
    if kind not in get_args(Kind):
        raise ValueError(f"kind = {kind!r}: must be one of {', '.join(get_args(Kind))}")
    if not margin >= 0:
        raise ValueError(f"margin = {margin}: must be at least 0")
    worse = draws.below(-margin)
    if kind == "not worse":
        return PValues(draws.above(-margin), worse, np.ones_like(worse))
    # Both must be shown, so that the larger p-value is that of the pair (Schuirmann 1987).
    within = np.maximum(draws.above(-margin), draws.below(margin))
    if kind == "better":
        return PValues(draws.above(0), worse, within)
    return PValues(within, np.minimum(draws.above(margin), worse), np.ones_like(worse))


def edge_of(
    arms: Sequence[Arm], margin: float, bounds: Bounds | None
) -> Literal["", "floor", "ceiling"]:
    """Whether the means of all arms are within the margin of the worst or of the best score. An arm
    beside a number that is known always says something."""
    means = [np.mean(scores) for _, scores in arms if isinstance(scores, np.ndarray)]
    if bounds is None or len(means) < 2:
        return ""
    if max(means) <= bounds[0] + margin:
        return "floor"
    return "ceiling" if min(means) >= bounds[1] - margin else ""


def judge(comparison: Comparison, level: float = LEVEL) -> Verdict:
    """The verdict on one comparison, by the table above."""
    if comparison.edge:
        return Verdict(comparison.edge)
    if comparison.p_equivalent < level:
        return Verdict.EQUIVALENT
    if comparison.p_reproduced < level:
        return Verdict.REPRODUCED
    return Verdict.CONTRADICTED if comparison.p_contradicted < level else Verdict.UNDECIDED


def corrected(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The same with Holm's correction, for comparisons that are each a finding of its own."""
    names = ("p_reproduced", "p_contradicted", "p_equivalent")
    columns = [holm(getattr(each, name) for each in comparisons) for name in names]
    return [
        replace(each, **dict(zip(names, map(float, p), strict=True)))
        for each, *p in zip(comparisons, *columns, strict=True)
    ]


def combine(
    comparisons: Sequence[Comparison], how: Combine, level: float = LEVEL
) -> Verdict | None:
    """One verdict on a claim of several comparisons; None where none of them says anything.

    all: reproduced if each is, without correction, since all must be shown (Berger 1982);
    contradicted if one is after Holm's correction. any: the other way round. Equivalent if nothing
    is open and some are.
    """
    loud = [each for each in comparisons if not each.edge]
    if not loud:
        return None
    plain = [judge(each, level) for each in loud]
    strict = [judge(each, level) for each in corrected(loud)]
    whole, single = Verdict.REPRODUCED, Verdict.CONTRADICTED
    if how == "any":
        whole, single = single, whole
    # What is equivalent at the plain level can't be found, however the correction falls.
    if any(s is single and p is single for s, p in zip(strict, plain, strict=True)):
        return single
    if all(verdict is whole for verdict in plain):
        return whole
    settled = {Verdict.EQUIVALENT, whole}
    return Verdict.EQUIVALENT if settled.issuperset(plain) else Verdict.UNDECIDED
