"""How many seeds a comparison needs until the rule of `verdicts.py` decides it."""

import math
from collections.abc import Sequence

import numpy as np

from hcdyna.statistics.draws import Arm, Bounds, sum_draws
from hcdyna.statistics.verdicts import LEVEL, LOOKS, Kind, p_values

RESAMPLES, DRAWS = 50, 2_000
"""Few are enough to say which look will do."""


def seeds_needed(
    arms: Sequence[Arm],
    kind: Kind,
    margin: float,
    bounds: Bounds | None,
    now: int,
    power: float = 0.8,
    level: float = LEVEL,
) -> float:
    """The first look after `now` seeds that decides in a share `power` of samples, drawn with
    replacement from the scores there are; infinite if none of the `LOOKS` does."""
    for look in LOOKS:
        if look > now and decided(arms, kind, margin, bounds, look / now, level) >= power:
            return look
    return math.inf


def decided(
    arms: Sequence[Arm],
    kind: Kind,
    margin: float,
    bounds: Bounds | None,
    times: float,
    level: float = LEVEL,
) -> float:
    """Share of samples, so many times as large as those there are, that have a verdict."""
    rng = np.random.default_rng(0)
    grown: list[Arm] = [
        (
            sign,
            rng.choice(x, (round(times * len(x)), RESAMPLES)) if isinstance(x, np.ndarray) else x,
        )
        for sign, x in arms
    ]
    p = p_values(sum_draws(grown, bounds, DRAWS), kind, margin)
    return float(np.mean(np.min(p, axis=0) < level))
