"""How many seeds a comparison needs."""

import math

import numpy as np

from hcdyna.statistics.power import outlook
from hcdyna.statistics.verdicts import Verdict, signed

UNIT = (0.0, 1.0)
RNG = np.random.default_rng(0)


def test_a_smaller_difference_needs_more_seeds():
    noise = RNG.uniform(-0.2, 0.2, 30)
    noise -= noise.mean()
    large, small = (
        outlook(signed(0.5 + gain + noise, 0.5 + noise), "better", 0.02, UNIT, 30)
        for gain in (0.12, 0.06)
    )
    assert large == (100, Verdict.REPRODUCED)
    assert small == (200, Verdict.REPRODUCED)
    worse = outlook(signed(0.44 + noise, 0.5 + noise), "not worse", 0.02, UNIT, 30)
    assert worse.verdict is Verdict.CONTRADICTED


def test_equal_arms_become_equivalent_where_they_are_steady_and_never_where_they_are_not():
    steady = np.full(30, 0.5)
    found = outlook(signed(steady, steady), "better", 0.02, UNIT, 30)
    assert found == (200, Verdict.EQUIVALENT)
    shaky = np.repeat([0.0, 1.0], 15)
    found = outlook(signed(shaky, shaky), "better", 0.02, UNIT, 30)
    assert found == (math.inf, Verdict.UNDECIDED)
    assert outlook(signed(steady, steady), "better", 0.02, UNIT, 1_000).seeds == math.inf
