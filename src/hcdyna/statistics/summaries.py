"""What many seeds of one algorithm did: means with intervals, spread, and numbers for a curve.

An agent that has diverged counts like any other: whoever leaves out the failures measures something
else. Where its number is not finite, the mean is not known.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from scipy import stats

from hcdyna.statistics.bootstrap import Interval, bootstrap

Statistic = Literal["mean", "iqm"]


def mean(x: np.ndarray, axis: int = 0) -> np.ndarray:
    """Arithmetic mean."""
    return np.mean(x, axis=axis)


def interquartile_mean(x: np.ndarray, axis: int = 0) -> np.ndarray:
    """Mean without the lowest and the highest quarter, ⌊n/4⌋ numbers each (Agarwal et al. 2021).

    A lucky or unlucky seed moves it less than the mean, and it wastes less than the median.

    >>> interquartile_mean(np.array([0.0, 1.0, 2.0, 100.0])).item()
    1.5
    """
    return stats.trim_mean(x, 0.25, axis=axis)


STATISTICS: dict[Statistic, Callable[..., np.ndarray]] = {"mean": mean, "iqm": interquartile_mean}


def mean_interval(
    per_seed: np.ndarray, confidence: float = 0.95, resamples: int = 2_000, seed: int = 0
) -> Interval:
    """Mean over the first axis (seeds) with its BCa `bootstrap` interval (Efron 1987)."""
    return bootstrap([per_seed], mean, "BCa", confidence, resamples, seed)


def iqm_interval(
    per_seed: np.ndarray, confidence: float = 0.95, resamples: int = 2_000, seed: int = 0
) -> Interval:
    """Interquartile mean over the first axis (seeds) with its percentile bootstrap interval."""
    return bands(per_seed, statistic="iqm", confidence=confidence, resamples=resamples, seed=seed)


def interval(per_seed: np.ndarray, statistic: Statistic) -> Interval:
    """`mean_interval` or `iqm_interval`, by name."""
    return {"mean": mean_interval, "iqm": iqm_interval}[statistic](per_seed)


def bands(
    *tasks: np.ndarray,
    statistic: Statistic = "iqm",
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Interval:
    """Mean or interquartile mean at every point of curves, with percentile bootstrap bands.

    One array [seeds, points] a task, on a common scale. Runs of all tasks count alike; seeds are
    resampled within each task (stratified bootstrap, Agarwal et al. 2021). The bands hold point by
    point, not for the curve as a whole.
    """

    def pooled(*samples: np.ndarray, axis: int) -> np.ndarray:
        return STATISTICS[statistic](np.concatenate(samples, axis=axis), axis=axis)

    return bootstrap(tasks, pooled, "percentile", confidence, resamples, seed)


def performance_profile(
    *tasks: np.ndarray,
    thresholds: np.ndarray,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Interval:
    """Share of runs with score > τ for each τ of `thresholds`, with `bands`.

    The run-score distribution of Agarwal et al. (2021); one array [seeds] of scores a task. A score
    that is NaN is above nothing.
    """
    above = [np.asarray(scores)[:, None] > np.asarray(thresholds) for scores in tasks]
    return bands(*above, statistic="mean", confidence=confidence, resamples=resamples, seed=seed)


class Tolerance(NamedTuple):
    """An interval that covers a share of all runs there could be, with a confidence."""

    low: np.ndarray
    high: np.ndarray
    share: float
    confidence: float
    """What the interval reaches: at least what was asked for, unless there is a note."""
    note: str


def tolerance_interval(
    per_seed: np.ndarray, share: float = 0.9, confidence: float = 0.95
) -> Tolerance:
    """The order statistics between which at least `share` of all runs lie, with `confidence`.

    Whatever the distribution, [x₍ᵣ₎, x₍ₛ₎] of n seeds (first axis) covers the share with
    probability P(Binomial(n, share) < s − r) (Wilks 1941; for agents, Patterson et al. 2024).
    The narrowest s − r is taken, with as many seeds left out below as above, or one more above.
    Where even the range of all seeds is too narrow, the range is given, and a note of what it does
    cover.
    """
    runs = np.sort(np.asarray(per_seed, np.float64), axis=0)
    n = len(runs)
    reached = stats.binom.cdf(np.arange(1, n) - 1, n, share)  # for s − r = 1, …, n − 1
    enough = np.flatnonzero(reached >= confidence)
    width = int(enough[0]) + 1 if len(enough) else n - 1
    first = (n - 1 - width) // 2
    low, high = (np.where(np.isnan(runs[-1]), np.nan, runs[i]) for i in (first, first + width))
    if len(enough):
        return Tolerance(low, high, share, float(reached[width - 1]), "")
    actual = float(reached[-1]) if n > 1 else 0.0
    covered = float(stats.beta.ppf(1 - confidence, n - 1, 2)) if n > 1 else 0.0
    note = (
        f"{n} runs are too few to cover {share:.0%} with confidence {confidence:.0%}: their range "
        f"does with {actual:.1%}, and covers {covered:.1%} with {confidence:.0%}"
    )
    return Tolerance(low, high, share, actual, note)


def area_under_curve(steps: np.ndarray, per_seed: np.ndarray) -> np.ndarray:
    """Area under each curve [seeds, steps] over the length of its base: the mean height [seeds]."""
    if len(steps) < 2:
        return per_seed.mean(axis=-1)
    return np.trapezoid(per_seed, steps, axis=-1) / (steps[-1] - steps[0])


def last_share(per_seed: np.ndarray, share: float = 0.2) -> np.ndarray:
    """Mean over the last 20% of evaluations [..., evaluations], rounded, but at least one."""
    last = max(1, round(share * per_seed.shape[-1]))
    return per_seed[..., -last:].mean(axis=-1)


class Reached(NamedTuple):
    """When each seed reached a threshold."""

    steps: np.ndarray
    """[seeds]; infinite for those that never did."""
    never: int
    median: float
    """Over all seeds, never counting as infinitely late."""


def steps_to_threshold(steps: np.ndarray, per_seed: np.ndarray, threshold: float) -> Reached:
    """Steps until the first evaluation at or above a threshold: steps [points], [seeds, points].

    >>> steps_to_threshold(np.array([10, 20]), np.array([[0, 1], [2, 0], [0, 0]]), 1)
    Reached(steps=array([20., 10., inf]), never=1, median=20.0)
    """
    above = np.asarray(per_seed) >= threshold
    reached = above.any(axis=-1)
    first = np.where(reached, np.asarray(steps)[above.argmax(axis=-1)], np.inf)
    return Reached(first, int((~reached).sum()), float(np.median(first)))
