"""The rule of verdicts, line by line, and its symmetries."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hcdyna.statistics.verdicts import (
    Comparison,
    Verdict,
    compare,
    judge,
    judge_all,
    with_failures,
)

MARGIN = 1.0


def comparison(low, difference, high, p=0.001):
    return Comparison(difference, low, high, p, p, 0.5, 0.4, 0.6, (30, 30), 30)


@pytest.mark.parametrize(
    ("kind", "low", "difference", "high", "p", "verdict"),
    [
        ("better", 0.5, 2, 3, 0.001, "reproduced"),
        ("better", 0.5, 1, 3, 0.001, "reproduced"),
        ("better", 0.5, 0.9, 3, 0.001, "reproduced but negligible"),
        ("better", 0.5, 2, 3, 0.05, "not contradicted"),
        ("better", 0, 2, 3, 0.001, "not contradicted"),
        ("better", -3, -2, -0.1, 0.001, "contradicted"),
        ("better", -0.9, -0.5, -0.1, 0.001, "contradicted"),
        ("better", -3, -2, -0.1, 0.2, "inconclusive"),
        ("better", -0.9, 0, 2, 0.5, "not contradicted"),
        ("better", -1, 0, 2, 0.5, "inconclusive"),
        ("better", np.nan, np.nan, np.nan, np.nan, "inconclusive"),
        ("not worse", -0.9, -0.5, -0.1, 0.001, "reproduced"),
        ("not worse", -0.9, 2, 5, 0.5, "reproduced"),
        ("not worse", -3, -2, -1.1, 0.5, "contradicted"),
        ("not worse", -3, -1, -0.1, 0.001, "contradicted"),
        ("not worse", -3, -1, -0.1, 0.2, "inconclusive"),
        ("not worse", -3, -0.9, -0.1, 0.001, "inconclusive"),
        ("not worse", -3, 0, 3, 0.9, "inconclusive"),
        ("not worse", np.nan, np.nan, np.nan, np.nan, "inconclusive"),
        ("similar", -0.9, 0, 0.9, 0.9, "reproduced"),
        ("similar", 0.1, 0.5, 0.9, 0.001, "reproduced"),
        ("similar", 1.1, 2, 3, 0.001, "contradicted"),
        ("similar", -3, -2, -1.1, 0.001, "contradicted"),
        ("similar", 0.9, 2, 3, 0.001, "inconclusive"),
        ("similar", -2, 0, 2, 0.9, "inconclusive"),
    ],
)
def test_every_line_of_the_table(kind, low, difference, high, p, verdict):
    assert judge(comparison(low, difference, high, p), kind, MARGIN) == verdict


ORDERED = st.tuples(*[st.floats(-5, 5)] * 3).map(sorted)
COMPARISONS = st.tuples(ORDERED, st.sampled_from([0.001, 0.2])).map(
    lambda drawn: comparison(*drawn[0], drawn[1])
)


def mirrored(c):
    """The same numbers with A and B exchanged."""
    return replace(c, difference=-c.difference, low=-c.high, high=-c.low)


@settings(max_examples=300)
@given(COMPARISONS)
def test_exchanging_the_algorithms_turns_the_verdicts_round(c):
    better, reverse = judge(c, "better", MARGIN), judge(mirrored(c), "better", MARGIN)
    won = (Verdict.REPRODUCED, Verdict.NEGLIGIBLE)
    assert (better in won) == (reverse == Verdict.CONTRADICTED)
    assert judge(c, "similar", MARGIN) == judge(mirrored(c), "similar", MARGIN)
    harmed = judge(mirrored(c), "not worse", MARGIN)
    if better == Verdict.REPRODUCED:
        assert harmed == Verdict.CONTRADICTED
        assert judge(c, "not worse", MARGIN) == Verdict.REPRODUCED
    if harmed == Verdict.CONTRADICTED:
        assert judge(c, "not worse", MARGIN) == Verdict.REPRODUCED


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1_000), st.floats(-100, 100))
def test_comparisons_of_shifted_and_of_exchanged_scores(seed, shift):
    a, b = np.random.default_rng(seed).normal([[0.5], [0.0]], size=(2, 12))
    forth, back, moved = compare(a, b, 0.2), compare(b, a, 0.2), compare(a + shift, b + shift, 0.2)
    width = forth.high - forth.low
    assert forth.difference == pytest.approx(-back.difference)
    assert forth.low == pytest.approx(-back.high, abs=0.1 * width)
    assert forth.high == pytest.approx(-back.low, abs=0.1 * width)
    assert forth.p == pytest.approx(back.p, abs=0.02)
    assert forth.probability == pytest.approx(1 - back.probability)
    assert forth.seeds_needed == back.seeds_needed
    numbers = ("difference", "low", "high", "p", "probability", "seeds_needed")
    for name in numbers:
        assert getattr(moved, name) == pytest.approx(getattr(forth, name), abs=1e-6)


def test_holm_is_applied_within_the_list():
    alone = comparison(0.5, 2, 3, p=0.03)
    assert judge(alone, "better", MARGIN) == Verdict.REPRODUCED
    kinds = ["better", "better", "similar"]
    (first, verdict), *_ = judge_all([alone] * 3, kinds, [MARGIN] * 3)
    assert (first.p, first.p_holm) == (0.03, pytest.approx(0.09))
    assert verdict == Verdict.NOT_CONTRADICTED
    assert judge_all([alone], ["better"], [MARGIN])[0] == (alone, Verdict.REPRODUCED)
    with pytest.raises(ValueError, match="shorter"):
        judge_all([alone] * 2, ["better"], [MARGIN])


def test_a_clear_difference_from_scores_to_verdict():
    rng = np.random.default_rng(0)
    a, b = rng.normal(-50, 5, size=30), rng.normal(-80, 5, size=25)
    found = compare(a, b, 10.0)
    assert found.low < found.difference < found.high
    assert found.difference == pytest.approx(a.mean() - b.mean())
    assert (found.seeds, found.failed) == ((30, 25), (0, 0))
    assert found.p == found.p_holm == pytest.approx(1 / 20_001)
    assert found.probability > 0.99
    assert judge(found, "better", 10.0) == Verdict.REPRODUCED
    assert judge(found, "better", 50.0) == Verdict.NEGLIGIBLE
    assert judge(compare(b, a, 10.0), "better", 10.0) == Verdict.CONTRADICTED
    assert str(judge(compare(a, a, 10.0), "similar", 10.0)) == "reproduced"


def test_failures_count_with_the_worst_score():
    scores, failed = np.array([-50.0, np.nan, -60.0, 5.0]), np.array([False, True, False, True])
    filled = with_failures(scores, failed, -1000.0)
    assert filled.tolist() == [-50, -1000, -60, -1000]
    assert compare(filled, filled, 1.0, failed=(2, 2)).failed == (2, 2)
    with pytest.raises(ValueError, match="finite"):
        with_failures(scores, failed, -np.inf)
    with pytest.raises(ValueError, match="finite"):
        with_failures(scores, np.zeros(4, bool), -1000.0)


def test_failing_turns_a_better_algorithm_into_a_worse_one():
    rng = np.random.default_rng(0)
    a, b = rng.normal(-50, 5, size=30), rng.normal(-80, 5, size=30)
    broken = with_failures(a, np.arange(30) < 10, -1000.0)
    assert judge(compare(broken, b, 10.0), "better", 10.0) == Verdict.CONTRADICTED


def test_claims_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="must be one of better, not worse, similar"):
        judge(comparison(0, 1, 2), "best", MARGIN)
    with pytest.raises(ValueError, match="at least 0"):
        judge(comparison(0, 1, 2), "better", -1.0)
