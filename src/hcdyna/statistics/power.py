"""How many seeds a comparison needs until the rule of `verdicts.py` decides it."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hcdyna.statistics.draws import Arm, Bounds, sum_draws
from hcdyna.statistics.verdicts import LEVEL, LOOKS, Kind, Verdict, p_values

RESAMPLES, DRAWS = 50, 2_000
"""Few are enough to say which look will do."""


class Outlook(NamedTuple):
    """What further seeds will probably say."""

    seeds: float
    """Infinite where the last look leaves it undecided."""
    verdict: Verdict
    """The most frequent one then."""


def outlook(
    arms: Sequence[Arm],
    kind: Kind,
    margin: float,
    bounds: Bounds | None,
    now: int,
    power: float = 0.8,
) -> Outlook:
    """The first look after `now` seeds that decides in a share `power` of samples, drawn with
    replacement from the scores there are."""
    for look in LOOKS:
        if look <= now:
            continue
        shares = verdict_shares(arms, kind, margin, bounds, look / now)
        if sum(shares.values()) >= power:
            return Outlook(look, max(shares, key=lambda verdict: shares[verdict]))
    return Outlook(math.inf, Verdict.UNDECIDED)


def verdict_shares(
    arms: Sequence[Arm], kind: Kind, margin: float, bounds: Bounds | None, times: float
) -> dict[Verdict, float]:
    """Shares of the verdicts that decide, of samples so many times as large as those there are."""
    rng = np.random.default_rng(0)

    def grow(x: np.ndarray | float) -> np.ndarray | float:
        if not isinstance(x, np.ndarray):
            return x
        return rng.choice(x, (round(times * len(x)), RESAMPLES))

    grown = [(sign, grow(x)) for sign, x in arms]
    p = p_values(sum_draws(grown, bounds, DRAWS), kind, margin)
    equivalent = p.equivalent < LEVEL
    reproduced = ~equivalent & (p.reproduced < LEVEL)
    contradicted = ~equivalent & ~reproduced & (p.contradicted < LEVEL)
    return {
        Verdict.EQUIVALENT: float(np.mean(equivalent)),
        Verdict.REPRODUCED: float(np.mean(reproduced)),
        Verdict.CONTRADICTED: float(np.mean(contradicted)),
    }
