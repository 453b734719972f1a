"""Draws of a mean over seeds, from which intervals and p-values are read off.

Where scores have known bounds, the draws are those of Gaffke (2005): the Bayesian bootstrap with
one more score, at the lower bound for draws that must not be too high, at the upper bound for those
that must not be too low. A failure that no seed has shown yet is thereby allowed for. For scores of
0 and 1 that is the interval of Clopper and Pearson (1934).

Where there are no bounds, draws are mean + s/√n · t with n − 1 degrees of freedom (Student 1908).

For a signed sum of means, draws of independent arms are added: lower ones of arms that are added,
minus upper ones of arms that are taken away (Fay, Proschan & Brittain 2015).
"""

import functools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from hcdyna.statistics.bootstrap import BATCH, Interval

DRAWS = 20_000
Bounds = tuple[float, float]
"""The worst and the best score there can be."""
Arm = tuple[int, np.ndarray | float]
"""+1 or −1, and scores [seeds, …] of an algorithm, or a number that is known."""
Seed = int | tuple[int, int]
MOST_KEPT = 75_000_000
"""Weights that are kept for other arms: 600 MB."""
KEPT: dict[tuple[int, int, Seed], list[np.ndarray]] = {}
"""These, by seeds, draws, and the seed of the draws."""


class Draws(NamedTuple):
    """Draws [draws, …] for tests that a quantity is large (`lower`) or small (`upper`)."""

    lower: np.ndarray
    upper: np.ndarray

    def above(self, value: float) -> np.ndarray:
        """p-value of "it is at most `value`": small where it is shown to be above."""
        return (1 + np.sum(self.lower <= value, axis=0)) / (1 + len(self.lower))

    def below(self, value: float) -> np.ndarray:
        """p-value of "it is at least `value`": small where it is shown to be below."""
        return (1 + np.sum(self.upper >= value, axis=0)) / (1 + len(self.upper))

    def interval(self, confidence: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Low and high ends."""
        tail = (1 - confidence) / 2
        # Inverted, not interpolated: between −∞ and −∞ there is no number.
        low = np.quantile(self.lower, tail, axis=0, method="lower")
        high = np.quantile(self.upper, 1 - tail, axis=0, method="higher")
        return low, high


def sum_draws(
    arms: Sequence[Arm], bounds: Bounds | None = None, draws: int = DRAWS, seed: int = 0
) -> Draws:
    """Draws of Σ ± mean over independent arms, whose scores share their `bounds`."""
    lower, upper = np.zeros(draws), np.zeros(draws)
    for index, (sign, scores) in enumerate(arms):
        if isinstance(scores, float | int):
            found = Draws(np.array(scores), np.array(scores))
        else:
            found = _of_arm(np.asarray(scores, np.float64), bounds, draws, (seed, index))
        low, high = (found.lower, found.upper) if sign > 0 else (-found.upper, -found.lower)
        lower, upper = _added(lower, low), _added(upper, high)
    return Draws(lower, upper)


def _of_arm(scores: np.ndarray, bounds: Bounds | None, draws: int, seed: Seed) -> Draws:
    """`mean_draws` of one arm of a sum."""
    if scores.ndim > 1:  # resampled seeds: large, and never asked for twice
        return mean_draws(scores, bounds, draws, seed)
    known = None if bounds is None else (float(bounds[0]), float(bounds[1]))
    return _of_seeds(scores.tobytes(), known, draws, seed)


@functools.lru_cache(maxsize=256)  # many claims compare the same arms; 320 kB each
def _of_seeds(scores: bytes, bounds: Bounds | None, draws: int, seed: Seed) -> Draws:
    """The same of one score for each seed."""
    return mean_draws(np.frombuffer(scores), bounds, draws, seed)


def mean_draws(
    scores: np.ndarray,
    bounds: Bounds | None = None,
    draws: int = DRAWS,
    seed: Seed = 0,
) -> Draws:
    """Draws of the mean of scores [seeds, …]. Where one is not finite, nothing is known."""
    scores = np.asarray(scores, np.float64)
    whole = np.isfinite(scores).all(axis=0)
    clean = np.where(whole, scores, 0.0 if bounds is None else bounds[0])
    columns = clean.reshape(len(scores), -1)
    if bounds is None:
        lower, upper = _by_t(columns, draws, np.random.default_rng(seed))
    else:
        if columns.min() < bounds[0] or columns.max() > bounds[1]:
            raise ValueError(f"scores must lie within their bounds, {bounds[0]} and {bounds[1]}")
        lower, upper = _by_gaffke(columns, bounds, draws, seed)
    shape = (draws, *scores.shape[1:])
    return Draws(
        np.where(whole, lower.reshape(shape), -np.inf),
        np.where(whole, upper.reshape(shape), np.inf),
    )


def mean_within(scores: np.ndarray, bounds: Bounds, confidence: float = 0.95) -> Interval:
    """Mean of scores [seeds] with known bounds, and its interval."""
    low, high = mean_draws(scores, bounds).interval(confidence)
    return Interval(np.mean(scores, axis=0), low, high)


def _by_gaffke(
    columns: np.ndarray, bounds: Bounds, draws: int, seed: Seed
) -> tuple[np.ndarray, np.ndarray]:
    """Dirichlet(1, …, 1) weights on all scores and one more."""
    seeds = len(columns)
    inner, extra = [], []
    for weights in _kept(seeds, draws, seed):
        inner.append(weights[:, :seeds] @ columns)
        extra.append(weights[:, seeds:])
    seen, unseen = np.concatenate(inner), np.concatenate(extra)
    low, high = bounds
    return seen + low * unseen, seen + high * unseen


def _drawn(seeds: int, draws: int, seed: Seed) -> Iterator[np.ndarray]:
    """Weights [some of the draws, seeds + 1], in parts."""
    rng = np.random.default_rng(seed)
    parts = max(1, math.ceil(draws * (seeds + 1) / BATCH))
    for part in np.array_split(np.arange(draws), parts):
        weights = rng.standard_exponential((len(part), seeds + 1))
        yield weights / weights.sum(axis=1, keepdims=True)


def _kept(seeds: int, draws: int, seed: Seed) -> Iterable[np.ndarray]:
    """The same, drawn once for all arms with so many seeds, which takes longer than to use them."""
    case = (seeds, draws, seed)
    if draws * (seeds + 1) > MOST_KEPT:
        return _drawn(*case)
    found = KEPT.pop(case, None)
    if found is None:
        found = list(_drawn(*case))
    KEPT[case] = found
    while sum(x.size for some in KEPT.values() for x in some) > MOST_KEPT:
        KEPT.pop(next(iter(KEPT)))  # that was asked for least recently
    return found


def _by_t(
    columns: np.ndarray, draws: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper draws are the same; with one seed nothing is known."""
    seeds = len(columns)
    if seeds == 1:
        none = np.full((draws, columns.shape[1]), np.inf)
        return -none, none
    error = columns.std(axis=0, ddof=1) / math.sqrt(seeds)
    found = columns.mean(axis=0) + rng.standard_t(seeds - 1, (draws, 1)) * error
    return found, found


def _added(total: np.ndarray, more: np.ndarray) -> np.ndarray:
    """Sum of draws [draws] or [draws, …]."""
    missing = more.ndim - total.ndim
    return total.reshape(total.shape + (1,) * max(missing, 0)) + more
