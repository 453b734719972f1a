"""Means with intervals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats


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
    per_seed = np.asarray(per_seed, np.float64)
    mean = per_seed.mean(axis=0)
    if len(per_seed) == 1:
        return Interval(mean, np.full_like(mean, -np.inf), np.full_like(mean, np.inf))
    low, high = np.array(mean), np.array(mean)
    varies = np.ptp(per_seed, axis=0) > 0
    if np.any(varies):
        sample = per_seed[:, varies] if per_seed.ndim > 1 else per_seed
        found = stats.bootstrap(
            (sample,),
            np.mean,
            confidence_level=confidence,
            n_resamples=resamples,
            axis=0,
            method="BCa",
            rng=np.random.default_rng(0),
        ).confidence_interval
        low[varies], high[varies] = found.low, found.high
    return Interval(mean, low, high)
