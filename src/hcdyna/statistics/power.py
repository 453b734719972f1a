"""How many seeds a comparison needs until the rule of `verdicts.py` decides it."""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from hcdyna.statistics.draws import Arm, Bounds, Draws, sum_draws
from hcdyna.statistics.verdicts import LEVEL, LOOKS, Kind, Verdict, p_values

RESAMPLES, DRAWS = 50, 2_000
"""Few are enough to say which look will do."""
POWER = 0.8
"""With this probability so many seeds decide."""
TOO_MANY = 1e9
"""Seeds; more are as good as infinitely many."""
NORMAL = NormalDist()


class Outlook(NamedTuple):
    """What further seeds will probably say."""

    seeds: float
    """Infinite where no number of them would do, or none can be told."""
    verdict: Verdict
    """The most frequent one then."""


def outlook(
    arms: Sequence[Arm], kind: Kind, margin: float, bounds: Bounds | None, now: int
) -> Outlook:
    """The first look after `now` seeds that decides in a share POWER of samples, drawn with
    replacement from the scores there are; or how many seeds beyond the last look would, if there
    were one more look with a test of the same level."""
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
    bounds come nearer to the difference as one over the root of their number, and the difference
    that is found is normal."""
    below = difference - float(np.mean(np.quantile(draws.lower, LEVEL, axis=0, method="lower")))
    upper = np.quantile(draws.upper, 1 - LEVEL, axis=0, method="higher")
    above = float(np.mean(upper)) - difference
    if not np.all(np.isfinite([difference, below, above])):
        return Outlook(math.inf, Verdict.UNDECIDED)
    # What bounds have to clear, and how far from the difference they are.
    within = [(margin + difference, below), (margin - difference, above)]
    worse = [(-margin - difference, above)]
    to_clear: dict[Verdict, list[tuple[float, float]]]
    if kind == "better":
        to_clear = {
            Verdict.EQUIVALENT: within,
            Verdict.REPRODUCED: [(difference, below)],
            Verdict.CONTRADICTED: worse,
        }
    elif kind == "not worse":
        to_clear = {Verdict.REPRODUCED: within[:1], Verdict.CONTRADICTED: worse}
    else:
        apart = [worse[0] if difference < 0 else (difference - margin, below)]
        to_clear = {Verdict.REPRODUCED: within, Verdict.CONTRADICTED: apart}
    needed = {verdict: seeds * times_enough(gaps) for verdict, gaps in to_clear.items()}
    verdict = min(needed, key=lambda each: needed[each])
    if needed[verdict] > TOO_MANY:
        return Outlook(math.inf, Verdict.UNDECIDED)
    # The last look was not enough, whatever the normal distribution says.
    return Outlook(two_digits(max(needed[verdict], 1.1 * seeds)), verdict)


def times_enough(gaps: list[tuple[float, float]]) -> float:
    """By which factor seeds must grow until all bounds clear their gaps with a probability of
    POWER; a bound is z of LEVEL deviations from the mean."""
    z = NORMAL.inv_cdf(1 - LEVEL)

    def power(times: float) -> float:
        root = math.sqrt(times)
        cleared = [NORMAL.cdf(z * (gap * root / max(reach, 1e-12) - 1)) for gap, reach in gaps]
        return sum(cleared) - (len(gaps) - 1)  # exact for two bounds on one number

    low, high = 1.0, TOO_MANY
    if min(gap for gap, _ in gaps) <= 0 or power(high) < POWER:
        return math.inf
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if power(middle) >= POWER else (middle, high)
    return high


def seeds_after_correction(p: float, comparisons: int, seeds: int) -> int:
    """How many seeds make a p-value, which is below the LEVEL with so many, small enough for the
    strictest of Holm's levels: z grows as the root of their number."""
    wanted = NORMAL.inv_cdf(1 - LEVEL / comparisons) + NORMAL.inv_cdf(POWER)
    needed = seeds * (wanted / NORMAL.inv_cdf(1 - p)) ** 2
    looks = [look for look in LOOKS if look > seeds and look >= needed]
    return looks[0] if looks else two_digits(max(needed, 1.1 * seeds))


def two_digits(number: float) -> int:
    """Such a number is a guess, and looks like one."""
    return int(float(f"{number:.1e}"))
