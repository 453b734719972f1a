"""Ranks with intervals: which of several arms is the best, the second best, …, as far as is shown.

An arm's rank lies between 1 + the number of arms that are shown to be better and the number of arms
that are not shown to be worse. If all these comparisons of pairs err with a probability of at most
5% together, so do all intervals of ranks (Mogstad, Romano, Shaikh & Wilhelm 2024).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hcdyna.statistics.bootstrap import Interval
from hcdyna.statistics.comparisons import holm
from hcdyna.statistics.draws import Bounds, Draws, sum_draws


@dataclass(frozen=True)
class Ranked:
    """One arm, and where it stands."""

    name: str
    mean: Interval
    """Its mean over problems, with an interval of 95%."""
    best: int
    worst: int
    """The interval of its rank; 1 is the best."""


def ranking(
    scores: Mapping[str, Sequence[np.ndarray]], bounds: Bounds, level: float = 0.05
) -> list[Ranked]:
    """Arms by their mean over problems, the highest first.

    `scores` has for each arm its scores [seeds] on each problem, the same problems for all. Each
    problem counts alike; their scores lie within the same `bounds`.
    """
    names = list(scores)
    problems = {len(each) for each in scores.values()}
    if len(problems) != 1:
        raise ValueError("every arm must have scores on the same problems")
    (count,) = problems
    draws = {  # of sums over problems, each arm's from random numbers of its own
        name: sum_draws([(1, x) for x in scores[name]], bounds, seed=index)
        for index, name in enumerate(names)
    }
    pairs = [(a, b) for a in names for b in names if a != b]
    p = holm([shown_above(draws[a], draws[b]) for a, b in pairs])
    better = [pair for pair, each in zip(pairs, p, strict=True) if each < level]
    found = []
    for name in names:
        low, high = (x / count for x in draws[name].interval())
        mean = np.mean([np.mean(x) for x in scores[name]])
        above = sum(loser == name for _, loser in better)
        below = sum(winner == name for winner, _ in better)
        found.append(Ranked(name, Interval(mean, low, high), 1 + above, len(names) - below))
    return sorted(found, key=lambda each: -float(each.mean.mean))


def shown_above(a: Draws, b: Draws) -> float:
    """p-value of "a is at most b"."""
    return float(Draws(a.lower - b.upper, a.upper - b.lower).above(0.0))
