"""How many seeds a comparison needs."""

import numpy as np
import pytest

from hcdyna.statistics.power import outlook, sampled, seeds_after_correction, verdict_shares
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
    # By the normal distribution: both bounds 0.02 from 0, each in 90% of samples.
    assert found.seeds == pytest.approx((np.sqrt(0.5) * (2.58 + 1.28) / 0.02) ** 2, rel=0.1)


def test_seeds_beyond_the_last_look_are_told():
    """A difference of 0.01 between arms with a deviation of 0.2 each."""
    noise = np.linspace(-1, 1, 400)
    noise *= 0.2 / noise.std()
    found = outlook(signed(0.51 + noise, 0.5 - noise), "not worse", 0.02, UNIT, 400)
    assert found.verdict is Verdict.REPRODUCED
    assert (np.sqrt(0.08) * (2.58 + 0.84) / 0.03) ** 2 == pytest.approx(found.seeds, rel=0.2)
    on_the_margin = outlook(signed(0.48 + noise, 0.5 - noise), "not worse", 0.02, UNIT, 400)
    assert on_the_margin.seeds > 1e6


@pytest.mark.parametrize(
    ("kind", "gain", "deviation", "verdict"),
    [
        ("better", 0.0, 0.15, Verdict.EQUIVALENT),
        ("better", 0.04, 0.32, Verdict.REPRODUCED),
        ("not worse", -0.06, 0.35, Verdict.CONTRADICTED),
        ("similar", 0.0, 0.15, Verdict.REPRODUCED),
        ("similar", 0.05, 0.3, Verdict.CONTRADICTED),
    ],
)
def test_so_many_seeds_decide_in_four_of_five_samples(kind, gain, deviation, verdict):
    noise = np.linspace(-1, 1, 400)
    noise *= deviation / noise.std()
    arms = signed(0.5 + gain + noise, 0.5 - noise)
    found = outlook(arms, kind, 0.02, (-1.0, 2.0), 400)
    assert found.verdict is verdict
    assert 1_000 < found.seeds < 10_000
    shares = verdict_shares(sampled(arms, (-1.0, 2.0), found.seeds / 400), kind, 0.02)
    assert shares[verdict] == pytest.approx(0.8, abs=0.16)  # of 50 samples


def test_runs_that_diverged_leave_it_open():
    """A claim without bounds, and one arm with an infinite score."""
    bad = np.array([*np.linspace(0, 1, 99), -np.inf])
    found = outlook(signed(bad, np.linspace(0, 1, 100)), "better", 0.02, None, 100)
    assert found == (np.inf, Verdict.UNDECIDED)


def test_a_correction_asks_for_more_seeds():
    """0.004 is enough alone; among ten it must be 0.0005, and z grows as the root of the seeds."""
    assert seeds_after_correction(0.004, 10, 100) == 400
    assert seeds_after_correction(0.004, 10, 1_000) == 2_400
    assert seeds_after_correction(1e-9, 10, 1_000) == 1_100, "more than there are"
