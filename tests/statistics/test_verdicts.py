"""The rule of verdicts, line by line, its symmetries, and how comparisons are put together."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hcdyna.statistics.draws import Draws
from hcdyna.statistics.verdicts import (
    LEVEL,
    LOOKS,
    Comparison,
    Verdict,
    combine,
    compare,
    corrected,
    judge,
    p_values,
    signed,
    with_failures,
)

MARGIN = 1.0
UNIT = (0.0, 1.0)


def from_interval(low, high, kind, margin=MARGIN):
    """A comparison whose draws lie between two numbers."""
    draws = np.linspace(low, high, 1_001)
    p = p_values(Draws(draws, draws), kind, margin)
    return Comparison((low + high) / 2, low, high, *map(float, p), (30, 30))


@pytest.mark.parametrize(
    ("kind", "low", "high", "verdict"),
    [
        ("better", 0.5, 3, "reproduced"),
        ("better", 0.1, 0.9, "equivalent"),
        ("better", -0.9, 0.9, "equivalent"),
        ("better", -0.9, -0.1, "equivalent"),
        ("better", -0.9, 2, "undecided"),
        ("better", 0, 3, "reproduced"),
        ("better", -0.1, 3, "undecided"),
        ("better", -3, -1.1, "contradicted"),
        ("better", -3, -0.1, "undecided"),
        ("not worse", -0.9, -0.1, "reproduced"),
        ("not worse", -0.9, 5, "reproduced"),
        ("not worse", -3, -1.1, "contradicted"),
        ("not worse", -3, -0.1, "undecided"),
        ("not worse", -3, 3, "undecided"),
        ("similar", -0.9, 0.9, "reproduced"),
        ("similar", 0.1, 0.9, "reproduced"),
        ("similar", 1.1, 3, "contradicted"),
        ("similar", -3, -1.1, "contradicted"),
        ("similar", 0.9, 3, "undecided"),
        ("similar", -2, 2, "undecided"),
    ],
)
def test_every_line_of_the_table(kind, low, high, verdict):
    assert judge(from_interval(low, high, kind)) == verdict


def test_a_loss_far_below_the_margin_contradicts_nothing():
    """−0.0006 where 0.02 matters."""
    assert judge(from_interval(-0.001, -0.0001, "better", 0.02)) == Verdict.EQUIVALENT


@settings(max_examples=200)
@given(st.tuples(st.floats(-5, 5), st.floats(-5, 5)).map(sorted))
def test_exchanging_the_algorithms_turns_the_verdicts_round(ends):
    low, high = ends
    better, reverse = (judge(from_interval(*x, "better")) for x in ((low, high), (-high, -low)))
    if better is Verdict.CONTRADICTED:
        assert reverse is Verdict.REPRODUCED
    assert (better is Verdict.EQUIVALENT) == (reverse is Verdict.EQUIVALENT)
    assert (better is Verdict.EQUIVALENT) == (
        judge(from_interval(low, high, "similar")) is Verdict.REPRODUCED
    )
    if better in (Verdict.REPRODUCED, Verdict.EQUIVALENT):
        assert judge(from_interval(low, high, "not worse")) is Verdict.REPRODUCED


def test_looks_share_the_level():
    assert LOOKS == (30, 100, 200, 400, 1_000)
    assert pytest.approx(0.025) == LEVEL * len(LOOKS)


@pytest.mark.parametrize(
    ("a", "b", "edge"),
    [(0.01, 0.0, "floor"), (0.99, 0.985, "ceiling"), (0.01, 0.03, ""), (0.0, 1.0, "")],
)
def test_arms_at_the_floor_or_ceiling_say_nothing(a, b, edge):
    found = compare(signed(np.full(30, a), np.full(30, b)), "not worse", 0.02, UNIT)
    assert found.edge == edge
    assert (judge(found) in ("floor", "ceiling")) == bool(edge)


def test_all_arms_of_a_contrast_must_be_at_the_edge():
    low, high = np.zeros(30), np.full(30, 0.5)
    assert compare(signed(low, low, low, low), "better", 0.02, UNIT).edge == "floor"
    assert compare(signed(low, low, low, high), "better", 0.02, UNIT).edge == ""


def test_an_arm_beside_a_known_number_always_says_something():
    assert compare(signed(np.ones(30), 1.0), "not worse", 0.2, UNIT).edge == ""
    assert judge(compare(signed(np.ones(30), 1.0), "not worse", 0.2, UNIT)) == Verdict.REPRODUCED


def test_a_contrast_is_about_gains_and_not_about_levels():
    rng = np.random.default_rng(0)
    base, far = rng.uniform(0.1, 0.2, (2, 200))
    gains_more = compare(signed(base + 0.7, base + 0.2, base, far), "better", 0.02, UNIT)
    assert judge(gains_more) == Verdict.REPRODUCED
    assert gains_more.difference == pytest.approx(0.7 - 0.2 + far.mean() - base.mean())
    alike = compare(signed(base + 0.7, far + 0.7, base, far), "better", 0.02, UNIT)
    assert judge(alike) == Verdict.UNDECIDED, "both gain, and equally"


def p(reproduced=1.0, contradicted=1.0, equivalent=1.0, edge=""):
    return Comparison(0, 0, 0, reproduced, contradicted, equivalent, (30, 30), edge)


GOOD, BAD, SAME, OPEN = p(0.001), p(1, 0.001), p(1, 1, 0.001), p()
STRONG, WRONG = p(0.0001), p(1, 0.0001)
FLOOR = p(0.0001, edge="floor")


@pytest.mark.parametrize(
    ("comparisons", "all_", "any_"),
    [
        ([GOOD], "reproduced", "reproduced"),
        ([GOOD] * 6, "reproduced", "undecided"),
        ([STRONG] + [OPEN] * 5, "undecided", "reproduced"),
        ([GOOD] + [OPEN] * 5, "undecided", "undecided"),
        ([STRONG] + [BAD] * 5, "undecided", "reproduced"),
        ([WRONG] + [GOOD] * 5, "contradicted", "undecided"),
        ([BAD] + [GOOD] * 5, "undecided", "undecided"),
        ([BAD] * 6, "undecided", "contradicted"),
        ([WRONG] * 6, "contradicted", "contradicted"),
        ([GOOD, SAME], "equivalent", "reproduced"),
        ([SAME, SAME], "equivalent", "equivalent"),
        ([SAME, OPEN], "undecided", "undecided"),
        ([SAME, WRONG], "contradicted", "equivalent"),
        ([GOOD, FLOOR], "reproduced", "reproduced"),
        ([OPEN, FLOOR], "undecided", "undecided"),
    ],
)
def test_comparisons_put_together(comparisons, all_, any_):
    assert combine(comparisons, "all") == all_
    assert combine(comparisons, "any") == any_


def test_comparisons_that_all_say_nothing_have_no_verdict():
    assert combine([FLOOR, FLOOR], "all") is None
    assert combine([], "any") is None


def test_what_is_equivalent_is_not_found_because_the_correction_hides_it():
    both = p(0.00001, 1, 0.004)
    assert judge(both) == Verdict.EQUIVALENT
    assert combine([both, OPEN, OPEN], "any") == Verdict.UNDECIDED


def test_holm_is_applied_to_every_p_value():
    first, second = corrected([p(0.003, 0.5), p(0.1, 0.004)])
    assert (first.p_reproduced, second.p_contradicted) == (0.006, 0.008)
    assert judge(first) == judge(second) == Verdict.UNDECIDED
    assert corrected([GOOD]) == [GOOD]


def test_a_clear_difference_from_scores_to_verdict():
    rng = np.random.default_rng(0)
    a, b = rng.normal(-50, 5, size=30), rng.normal(-80, 5, size=25)
    for bounds in (None, (-100.0, 0.0)):
        found = compare(signed(a, b), "better", 10.0, bounds)
        assert found.low < found.difference < found.high
        assert found.difference == pytest.approx(a.mean() - b.mean())
        assert (found.seeds, found.failed) == ((30, 25), (0, 0))
        assert found == compare(signed(a, b), "better", 10.0, bounds), "one seed, the same bits"
        assert judge(found) == Verdict.REPRODUCED
    assert judge(compare(signed(a, b), "better", 50.0)) == Verdict.EQUIVALENT
    assert judge(compare(signed(b, a), "better", 10.0)) == Verdict.CONTRADICTED
    assert str(judge(compare(signed(a, a), "similar", 10.0))) == "reproduced"


def test_failures_count_with_the_worst_score():
    scores, failed = np.array([-50.0, np.nan, -60.0, 5.0]), np.array([False, True, False, True])
    filled = with_failures(scores, failed, -1000.0)
    assert filled.tolist() == [-50, -1000, -60, -1000]
    assert compare(signed(filled, filled), "better", 1.0, failed=(2, 2)).failed == (2, 2)
    with pytest.raises(ValueError, match="finite"):
        with_failures(scores, failed, -np.inf)
    with pytest.raises(ValueError, match="finite"):
        with_failures(scores, np.zeros(4, bool), -1000.0)


def test_failing_turns_a_better_algorithm_into_a_worse_one():
    rng = np.random.default_rng(0)
    a, b = rng.normal(-50, 5, size=30), rng.normal(-80, 5, size=30)
    broken = with_failures(a, np.arange(30) < 10, -1000.0)
    found = compare(signed(broken, b), "better", 10.0, (-1000.0, 0.0))
    assert judge(found) == Verdict.CONTRADICTED


def test_what_is_not_known_is_undecided():
    found = compare(signed(np.array([0.5, np.nan]), np.zeros(2)), "better", 0.02, UNIT)
    assert judge(found) == Verdict.UNDECIDED
    assert replace(found, low=0, high=0, difference=0).p_reproduced == 1


def test_claims_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="must be one of better, not worse, similar"):
        compare(signed(np.ones(2), np.ones(2)), "best", MARGIN)
    with pytest.raises(ValueError, match="at least 0"):
        compare(signed(np.ones(2), np.ones(2)), "better", -1.0)
