"""Verdicts on what a paper claims about two algorithms, A and B, by a rule fixed beforehand.

Scores are oriented so that larger is better. Δ is the difference of means A − B, [low, high] its
95% BCa interval, p its permutation p-value with Holm's correction over the claims of one figure,
and m ≥ 0 the margin: the smallest difference that matters. The first line that holds counts.

| claim       | verdict                    | when                                                  |
| ----------- | -------------------------- | ----------------------------------------------------- |
| "better"    | reproduced                 | low > 0, p < α and Δ ≥ m                              |
|             | reproduced but negligible  | low > 0, p < α and Δ < m                              |
|             | contradicted               | high < 0 and p < α                                    |
|             | not contradicted           | low > −m: A is not worse by a difference that matters |
| "not worse" | reproduced                 | low > −m                                              |
|             | contradicted               | high < −m, or: high < 0, p < α and Δ ≤ −m             |
| "similar"   | reproduced                 | low > −m and high < m                                 |
|             | contradicted               | low > m or high < −m                                  |
| all         | inconclusive               | otherwise, and where a number is not known            |
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal, get_args

import numpy as np

from hcdyna.statistics.comparisons import (
    bca_interval,
    holm,
    permutation_test,
    probability_of_improvement,
    seeds_needed,
)

Kind = Literal["better", "not worse", "similar"]
"""What is claimed of A, compared with B."""


class Verdict(StrEnum):
    """What became of a claim."""

    REPRODUCED = "reproduced"
    NEGLIGIBLE = "reproduced but negligible"
    NOT_CONTRADICTED = "not contradicted"
    CONTRADICTED = "contradicted"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Comparison:
    """The numbers that a verdict rests on."""

    difference: float
    """Mean of A minus mean of B."""
    low: float
    high: float
    """95% BCa interval of the difference."""
    p: float
    """Two-sided permutation test of the difference."""
    p_holm: float
    """p with Holm's correction; until `judge_all` has made it, p itself."""
    probability: float
    """P(A > B) + P(A = B)/2 for one run of each."""
    probability_low: float
    probability_high: float
    seeds: tuple[int, int]
    seeds_needed: float
    """For each of A and B, to find a difference as large as the margin with power 0.8."""
    failed: tuple[int, int] = (0, 0)
    """How many runs of A and of B diverged; they count with the worst score."""


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


def compare(
    a: np.ndarray, b: np.ndarray, margin: float, seed: int = 0, failed: tuple[int, int] = (0, 0)
) -> Comparison:
    """All numbers for a verdict on scores a [seeds] and b [seeds], failures filled in. `failed`
    only says how many those were."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    difference = bca_interval(a, b, seed=seed)
    probability = probability_of_improvement(a, b, seed=seed)
    p = float(permutation_test(a, b, seed=seed))
    return Comparison(
        difference=float(difference.mean),
        low=float(difference.low),
        high=float(difference.high),
        p=p,
        p_holm=p,
        probability=float(probability.mean),
        probability_low=float(probability.low),
        probability_high=float(probability.high),
        seeds=(len(a), len(b)),
        seeds_needed=seeds_needed(a, b, margin),
        failed=failed,
    )


def judge(comparison: Comparison, kind: Kind, margin: float, alpha: float = 0.05) -> Verdict:
    """The verdict on one claim, by the table above."""
    if kind not in get_args(Kind):
        raise ValueError(f"kind = {kind!r}: must be one of {', '.join(get_args(Kind))}")
    if not margin >= 0:
        raise ValueError(f"margin = {margin}: must be at least 0")
    rule = {"better": _better, "not worse": _not_worse, "similar": _similar}[kind]
    return rule(comparison, margin, comparison.p_holm < alpha)


def judge_all(
    comparisons: Sequence[Comparison],
    kinds: Sequence[Kind],
    margins: Sequence[float],
    alpha: float = 0.05,
) -> list[tuple[Comparison, Verdict]]:
    """The verdicts on all claims of one figure, with Holm's correction over all of them."""
    adjusted = holm(each.p for each in comparisons)
    corrected = [replace(c, p_holm=float(p)) for c, p in zip(comparisons, adjusted, strict=True)]
    return [
        (comparison, judge(comparison, kind, margin, alpha))
        for comparison, kind, margin in zip(corrected, kinds, margins, strict=True)
    ]


def _better(c: Comparison, margin: float, significant: bool) -> Verdict:
    if c.low > 0 and significant:
        return Verdict.REPRODUCED if c.difference >= margin else Verdict.NEGLIGIBLE
    if c.high < 0 and significant:
        return Verdict.CONTRADICTED
    return Verdict.NOT_CONTRADICTED if c.low > -margin else Verdict.INCONCLUSIVE


def _not_worse(c: Comparison, margin: float, significant: bool) -> Verdict:
    if c.low > -margin:
        return Verdict.REPRODUCED
    worse = c.high < 0 and significant and c.difference <= -margin
    return Verdict.CONTRADICTED if worse or c.high < -margin else Verdict.INCONCLUSIVE


def _similar(c: Comparison, margin: float, significant: bool) -> Verdict:
    if c.low > -margin and c.high < margin:
        return Verdict.REPRODUCED
    apart = c.low > margin or c.high < -margin
    return Verdict.CONTRADICTED if apart else Verdict.INCONCLUSIVE
