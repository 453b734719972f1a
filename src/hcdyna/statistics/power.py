"""How many seeds a comparison needs until the rule of `verdicts.py` decides it."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hcdyna.statistics.draws import Arm, Bounds, Draws, sum_draws
from hcdyna.statistics.verdicts import LEVEL, LOOKS, Kind, Verdict, p_values

RESAMPLES, DRAWS = 50, 2_000
"""Few are enough to say which look will do."""


POWER = 0.8
"""With this probability so many seeds decide."""
BEYOND = 1.0 + 0.84 / 2.58
"""By how much a bound must clear what it is to exclude, in units of its distance from the mean: for
the normal distribution, z of POWER over z of LEVEL more."""


class Outlook(NamedTuple):
    """What further seeds will probably say."""

    seeds: float
    """Infinite where no number of them would do: the truth is the margin itself."""
    verdict: Verdict
    """The most frequent one then."""


def outlook(
    arms: Sequence[Arm], kind: Kind, margin: float, bounds: Bounds | None, now: int
) -> Outlook:
    """The first look after `now` seeds that decides in a share POWER of samples, drawn with
    replacement from the scores there are; or how many seeds beyond the last look would."""
    for look in LOOKS:
        if look > now:
            shares = verdict_shares(sampled(arms, bounds, look / now), kind, margin)
            if sum(shares.values()) >= POWER:
                return Outlook(look, max(shares, key=lambda verdict: shares[verdict]))
    last = max(now, LOOKS[-1])
    difference = sum(sign * float(np.mean(x)) for sign, x in arms)
    return beyond(sampled(arms, bounds, last / now), difference, kind, margin, last)


def sampled(arms: Sequence[Arm], bounds: Bounds | None, times: float) -> Draws:
    """Draws [draws, samples] of Δ, from samples so many times as large as those there are."""
    rng = np.random.default_rng(0)

    def grow(x: np.ndarray | float) -> np.ndarray | float:
        if not isinstance(x, np.ndarray):
            return x
        return rng.choice(x, (round(times * len(x)), RESAMPLES))

    return sum_draws([(sign, grow(x)) for sign, x in arms], bounds, DRAWS)


def verdict_shares(draws: Draws, kind: Kind, margin: float) -> dict[Verdict, float]:
    """Shares of the verdicts that decide."""
    p = p_values(draws, kind, margin)
    equivalent = p.equivalent < LEVEL
    reproduced = ~equivalent & (p.reproduced < LEVEL)
    contradicted = ~equivalent & ~reproduced & (p.contradicted < LEVEL)
    return {
        Verdict.EQUIVALENT: float(np.mean(equivalent)),
        Verdict.REPRODUCED: float(np.mean(reproduced)),
        Verdict.CONTRADICTED: float(np.mean(contradicted)),
    }


def beyond(draws: Draws, difference: float, kind: Kind, margin: float, seeds: int) -> Outlook:
    """How many seeds would decide, if those that `draws` are of, with so many `seeds`, do not: the
    bounds come nearer to the difference as one over the root of their number."""
    below = difference - float(np.mean(np.quantile(draws.lower, LEVEL, axis=0)))
    above = float(np.mean(np.quantile(draws.upper, 1 - LEVEL, axis=0))) - difference
    to_clear = {
        "better": {
            Verdict.EQUIVALENT: (margin - abs(difference), max(below, above)),
            Verdict.REPRODUCED: (difference, below),
            Verdict.CONTRADICTED: (-margin - difference, above),
        },
        "not worse": {
            Verdict.REPRODUCED: (margin + difference, below),
            Verdict.CONTRADICTED: (-margin - difference, above),
        },
        "similar": {
            Verdict.REPRODUCED: (margin - abs(difference), max(below, above)),
            Verdict.CONTRADICTED: (abs(difference) - margin, max(below, above)),
        },
    }[kind]
    needed = {
        verdict: seeds * max(1.0, BEYOND * reach / gap) ** 2
        for verdict, (gap, reach) in to_clear.items()
        if gap > 0
    }
    if not needed:
        return Outlook(math.inf, Verdict.UNDECIDED)
    verdict = min(needed, key=lambda each: needed[each])
    return Outlook(two_digits(needed[verdict]), verdict)


def two_digits(number: float) -> int:
    """Such a number is a guess, and looks like one."""
    return int(float(f"{number:.1e}"))
