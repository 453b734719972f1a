"""How many seeds a comparison needs."""

import numpy as np
import pytest

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
    assert found.verdict is Verdict.EQUIVALENT
    # By the normal distribution: both bounds 0.02 from 0, in 80% of samples.
    expected = (np.sqrt(0.5) * (2.58 + 0.84) / 0.02) ** 2
    assert expected == pytest.approx(found.seeds, rel=0.2)


def test_seeds_beyond_the_last_look_are_told():
    """A difference of 0.01 between arms with a deviation of 0.2 each."""
    noise = np.linspace(-1, 1, 400)
    noise *= 0.2 / noise.std()
    found = outlook(signed(0.51 + noise, 0.5 - noise), "not worse", 0.02, UNIT, 400)
    assert found.verdict is Verdict.REPRODUCED
    assert (np.sqrt(0.08) * (2.58 + 0.84) / 0.03) ** 2 == pytest.approx(found.seeds, rel=0.2)
    on_the_margin = outlook(signed(0.48 + noise, 0.5 - noise), "not worse", 0.02, UNIT, 400)
    assert on_the_margin.seeds > 1e6
    assert outlook(signed(0.5 + noise, 0.5), "not worse", 0.02, UNIT, 1_000).seeds >= 1_000
