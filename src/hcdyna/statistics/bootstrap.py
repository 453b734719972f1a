"""Bootstrap intervals of statistics of one or several independent samples."""

import warnings
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from scipy import stats

BATCH = 2**22
"""Numbers to resample at once: 32 MiB."""


class Interval(NamedTuple):
    """A mean over seeds, or what else is estimated, and the interval it lies in."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def bootstrap(
    samples: Sequence[np.ndarray],
    statistic: Callable[..., np.ndarray],
    method: Literal["BCa", "percentile"] = "BCa",
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Interval:
    """`statistic(*samples, axis=)` over the first axis, with its bootstrap interval.

    Seeds are drawn with replacement within each sample [seeds, ...], all numbers of a seed
    together. BCa corrects the percentiles for bias and for a spread that depends on the value, by
    the jackknife over all samples (Efron 1987; Efron & Tibshirani 1993, chapter 14).

    Where all seeds agree there is nothing to resample, and with one seed nothing is known: then the
    interval is the point itself, or all numbers. Where a number is not finite, nothing is known.
    """
    samples = [np.asarray(sample, np.float64) for sample in samples]
    # Sorting puts NaN last, where it would be trimmed as if it were the best.
    whole = np.all([np.isfinite(sample).all(axis=0) for sample in samples], axis=0)
    clean = [np.where(whole, sample, 0) for sample in samples]
    mean = np.where(whole, statistic(*clean, axis=0), np.nan)
    if min(map(len, samples)) == 1:
        return Interval(mean, np.full_like(mean, -np.inf), np.full_like(mean, np.inf))
    low, high = np.array(mean), np.array(mean)
    varies = np.any([np.ptp(sample, axis=0) > 0 for sample in clean], axis=0)
    if np.any(varies):
        some = [sample[:, varies] if sample.ndim > 1 else sample for sample in clean]
        with warnings.catch_warnings():
            # All resamples gave the same number: NaN, and the point stands.
            warnings.simplefilter("ignore", stats.DegenerateDataWarning)
            found = stats.bootstrap(
                some,
                statistic,
                confidence_level=confidence,
                n_resamples=resamples,
                batch=max(1, BATCH // sum(sample.size for sample in some)),
                axis=0,
                method=method,
                rng=np.random.default_rng(seed),
            ).confidence_interval
        low[varies] = np.where(np.isnan(found.low), mean[varies], found.low)
        high[varies] = np.where(np.isnan(found.high), mean[varies], found.high)
    return Interval(mean, low, high)
