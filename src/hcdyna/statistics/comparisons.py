"""Two algorithms, A and B: how much better is A, and could it be chance?

Samples are scores [seeds], larger is better, of independent seeds; further axes are compared one by
one. All is deterministic, given a seed.
"""

import math
from collections.abc import Callable, Iterable
from itertools import combinations

import numpy as np
from scipy import stats

from hcdyna.statistics.bootstrap import BATCH, Interval, bootstrap

ROUNDING = 1e-10
"""Differences of means nearer than this, relative to the spread, are equal."""


def mean_difference(a: np.ndarray, b: np.ndarray, axis: int = 0) -> np.ndarray:
    """Mean of A minus mean of B."""
    return a.mean(axis=axis) - b.mean(axis=axis)


def bca_interval(
    a: np.ndarray,
    b: np.ndarray,
    statistic: Callable[..., np.ndarray] = mean_difference,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Interval:
    """`statistic(a, b, axis=)`, the difference of means, with its BCa interval (Efron 1987). A and
    B are resampled independently, the jackknife goes over both; see `bootstrap`."""
    return bootstrap([a, b], statistic, "BCa", confidence, resamples, seed)


def permutation_test(
    a: np.ndarray, b: np.ndarray, permutations: int = 20_000, seed: int = 0
) -> np.ndarray:
    """Two-sided p-value of the difference of means, if labels A and B mean nothing (Fisher 1935).

    The share of all ways to deal out the labels that give a difference at least as large in
    size. Where there are more than `permutations` ways, so many random ones are drawn, and the
    actual one is counted too: (1 + hits) / (1 + permutations) (Phipson & Smyth 2010).
    """
    pooled = np.concatenate([a, b]).astype(np.float64)
    whole = np.isfinite(pooled).all(axis=0)
    pooled = np.where(whole, pooled, 0)
    pooled -= pooled.mean(axis=0)  # the means of similar numbers would be rounded alike
    columns = pooled.reshape(len(pooled), -1)
    exact = math.comb(len(pooled), len(a)) <= permutations
    labels = _all_labels(len(a), len(b)) if exact else _labels(len(a), len(b), permutations, seed)
    weights = np.where(labels, 1 / len(a), -1 / len(b))
    actual = np.repeat([1 / len(a), -1 / len(b)], [len(a), len(b)])
    least = np.abs(actual @ columns) - ROUNDING * np.abs(columns).mean(axis=0)
    hits = np.zeros(columns.shape[1], int)
    for part in np.array_split(weights, 1 + len(weights) * columns.shape[1] // BATCH):
        hits += (np.abs(part @ columns) >= least).sum(axis=0)
    p = hits / len(weights) if exact else (1 + hits) / (1 + permutations)
    return np.where(whole, p.reshape(whole.shape), np.nan)


def holm(p_values: Iterable[float]) -> np.ndarray:
    """Adjusted p-values of a family of tests (Holm 1979); one that is not known counts as 1.

    Rejecting those below α makes one false rejection or more with probability at most α, however
    the tests depend on each other.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.nan_to_num(np.array([*p_values], np.float64), nan=1.0)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return np.minimum(adjusted, 1)


def probability_of_improvement(
    a: np.ndarray,
    b: np.ndarray,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Interval:
    """P(A > B) + P(A = B)/2 for a run of each, with its percentile bootstrap interval.

    The Mann-Whitney U over the number of pairs (Agarwal et al. 2021). Where the samples don't
    overlap, neither do their resamples, and the interval is a point.
    """
    _, low, high = found = bootstrap(
        [a, b], _superiority, "percentile", confidence, resamples, seed
    )
    return Interval(found.mean, np.maximum(low, 0), np.minimum(high, 1))


def _all_labels(na: int, nb: int) -> np.ndarray:
    """All ways [ways, na + nb] to call na runs A."""
    chosen = np.array([*combinations(range(na + nb), na)], int).reshape(-1, na)
    labels = np.zeros((len(chosen), na + nb), bool)
    np.put_along_axis(labels, chosen, True, axis=1)
    return labels


def _labels(na: int, nb: int, count: int, seed: int) -> np.ndarray:
    """Random ways [count, na + nb] to call na runs A."""
    ordered = np.tile(np.arange(na + nb) < na, (count, 1))
    return np.random.default_rng(seed).permuted(ordered, axis=1)


def _superiority(a: np.ndarray, b: np.ndarray, axis: int = 0) -> np.ndarray:
    """P(A > B) + P(A = B)/2 over all pairs, from the ranks of A among all."""
    na, nb = a.shape[axis], b.shape[axis]
    ranks = stats.rankdata(np.concatenate([a, b], axis=axis), axis=axis)
    of_a = np.take(ranks, np.arange(na), axis=axis).sum(axis=axis)
    return (of_a - na * (na + 1) / 2) / (na * nb)
