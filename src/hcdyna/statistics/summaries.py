"""Means over seeds, with intervals.

An agent that has diverged counts like any other: whoever leaves out the failures measures something
else. Where its number is not finite, the mean is not known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from scipy import stats

Statistic = Literal["mean", "iqm"]

BATCH = 2**22
"""Numbers to resample at once: 32 MiB."""


class Interval(NamedTuple):
    """A mean over seeds and the interval it lies in."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def mean_interval(
    per_seed: np.ndarray, confidence: float = 0.95, resamples: int = 2_000
) -> Interval:
    """Mean over the first axis (seeds) with its bootstrap interval (BCa, Efron 1987).

    Where all seeds agree there is nothing to resample, and with one seed nothing is known: then the
    interval is the point itself, or all numbers.
    """
    return _interval(per_seed, np.mean, "BCa", confidence, resamples)


def iqm_interval(
    per_seed: np.ndarray, confidence: float = 0.95, resamples: int = 2_000
) -> Interval:
    """Interquartile mean over the first axis (seeds) with its percentile bootstrap interval.

    The mean of the middle half of the seeds: a lucky or unlucky one moves it less than the mean,
    and it wastes less than the median (Agarwal et al. 2021). Intervals as in `mean_interval`.

    >>> iqm_interval(np.array([0.0, 1.0, 2.0, 100.0])).mean.item()
    1.5
    """
    return _interval(per_seed, interquartile_mean, "percentile", confidence, resamples)


def interval(per_seed: np.ndarray, statistic: Statistic) -> Interval:
    """`mean_interval` or `iqm_interval`, by name."""
    return {"mean": mean_interval, "iqm": iqm_interval}[statistic](per_seed)


def interquartile_mean(x: np.ndarray, axis: int = 0) -> np.ndarray:
    """Mean without the lowest and the highest quarter."""
    return stats.trim_mean(x, 0.25, axis=axis)


def area_under_curve(steps: np.ndarray, per_seed: np.ndarray) -> np.ndarray:
    """Area under each curve [seeds, steps] over the length of its base: the mean height [seeds]."""
    if len(steps) < 2:
        return per_seed.mean(axis=-1)
    return np.trapezoid(per_seed, steps, axis=-1) / (steps[-1] - steps[0])


def _interval(
    per_seed: np.ndarray,
    statistic: Callable[..., np.ndarray],
    method: str,
    confidence: float,
    resamples: int,
) -> Interval:
    per_seed = np.asarray(per_seed, np.float64)
    # Sorting puts NaN last, where it would be trimmed as if it were the best.
    whole = np.isfinite(per_seed).all(axis=0)
    mean = np.where(whole, statistic(per_seed, axis=0), np.nan)
    if len(per_seed) == 1:
        return Interval(mean, np.full_like(mean, -np.inf), np.full_like(mean, np.inf))
    low, high = np.array(mean), np.array(mean)
    varies = whole & (np.ptp(np.nan_to_num(per_seed), axis=0) > 0)
    if np.any(varies):
        sample = per_seed[:, varies] if per_seed.ndim > 1 else per_seed
        found = stats.bootstrap(
            (sample,),
            statistic,
            confidence_level=confidence,
            n_resamples=resamples,
            batch=max(1, BATCH // sample.size),
            axis=0,
            method=method,
            rng=np.random.default_rng(0),
        ).confidence_interval
        low[varies], high[varies] = found.low, found.high
    return Interval(mean, low, high)
