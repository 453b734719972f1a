"""Draws of means against exact intervals, and what they say where little is known."""

import numpy as np
import pytest
from scipy import stats

from hcdyna.statistics import draws
from hcdyna.statistics.draws import mean_draws, mean_within, sum_draws

RNG = np.random.default_rng(0)
UNIT = (0.0, 1.0)


@pytest.mark.parametrize(("successes", "seeds"), [(0, 10), (3, 10), (29, 30), (30, 30), (60, 100)])
def test_zeros_and_ones_have_the_interval_of_clopper_and_pearson(successes, seeds):
    scores = np.repeat([1.0, 0.0], [successes, seeds - successes])
    found = mean_draws(scores, UNIT)
    exact = stats.binomtest(successes, seeds).proportion_ci(method="exact")
    np.testing.assert_allclose(found.interval(), (exact.low, exact.high), atol=0.01)
    p = stats.binomtest(successes, seeds, 0.5, alternative="greater").pvalue
    assert found.above(0.5) == pytest.approx(p, abs=0.01)
    p = stats.binomtest(successes, seeds, 0.5, alternative="less").pvalue
    assert found.below(0.5) == pytest.approx(p, abs=0.01)


def test_a_failure_that_no_seed_has_shown_is_allowed_for():
    """30 runs that score 0.9: of 30, a failure rate of 12% shows none with probability 2.5%."""
    mean, low, high = mean_within(np.full(30, 0.9), UNIT)
    hidden = 1 - 0.025 ** (1 / 30)
    assert mean == pytest.approx(0.9)
    assert low == pytest.approx(0.9 * (1 - hidden), abs=0.005)
    assert high == pytest.approx(0.9 + 0.1 * hidden, abs=0.005)


def test_without_bounds_the_interval_is_student_s():
    scores = RNG.normal(5, 2, 20)
    exact = stats.ttest_1samp(scores, 0).confidence_interval()
    np.testing.assert_allclose(mean_draws(scores).interval(), (exact.low, exact.high), atol=0.03)
    p = stats.ttest_1samp(scores, 4.5, alternative="greater").pvalue
    assert mean_draws(scores).above(4.5) == pytest.approx(p, abs=0.01)


def test_scores_and_bounds_that_are_scaled_scale_the_draws():
    scores = RNG.beta(2, 2, 30)
    unit, returns = mean_draws(scores, UNIT), mean_draws(100 * scores - 500, (-500, -400))
    np.testing.assert_allclose(returns.lower, 100 * unit.lower - 500)
    np.testing.assert_allclose(returns.upper, 100 * unit.upper - 500)


def test_a_signed_sum_has_the_sum_of_the_means_and_of_the_variances():
    arms = [RNG.beta(5, 5, 400) for _ in range(4)]
    signs = (1, -1, -1, 1)
    found = sum_draws([*zip(signs, arms, strict=True)], UNIT)
    truth = sum(sign * x.mean() for sign, x in zip(signs, arms, strict=True))
    assert np.mean((found.lower + found.upper) / 2) == pytest.approx(truth, abs=0.005)
    spread = np.sqrt(sum(x.var() / len(x) for x in arms))
    assert found.lower.std() == pytest.approx(spread, rel=0.05)
    assert np.all(found.lower <= found.upper)


def test_a_number_that_is_known_only_moves_the_draws():
    scores = RNG.beta(2, 2, 30)
    alone, moved = sum_draws([(1, scores)], UNIT), sum_draws([(1, scores), (-1, 0.25)], UNIT)
    np.testing.assert_allclose(moved.lower, alone.lower - 0.25)


def test_bounds_may_be_a_list_and_arms_that_are_drawn_once_stay_as_they_are():
    a, b = np.array([0.1, 0.5, 0.9]), np.array([0.2, 0.3, 0.3])
    first = sum_draws([(1, a), (-1, b)], (0.0, 1.0))
    kept = first.lower.copy()
    again = sum_draws([(1, a), (-1, b)], [0, 1])
    np.testing.assert_array_equal(again.lower, kept)
    np.testing.assert_array_equal(first.lower, kept)
    assert not np.array_equal(sum_draws([(1, a), (-1, b)], (0.0, 2.0)).upper, first.upper)
    columns = sum_draws([(1, a[:, None])], (0.0, 1.0))
    np.testing.assert_array_equal(columns.lower[:, 0], sum_draws([(1, a)], (0.0, 1.0)).lower)


def test_exchanged_arms_give_the_opposite():
    a, b = RNG.beta(8, 2, 30), RNG.beta(5, 5, 30)
    forth, back = (sum_draws([(1, x), (-1, y)], UNIT) for x, y in ((a, b), (b, a)))
    np.testing.assert_allclose(forth.interval()[0], -back.interval()[1], atol=0.01)
    assert forth.above(0.1) == pytest.approx(float(back.below(-0.1)), abs=0.01)


def test_many_comparisons_at_once_are_those_made_one_by_one():
    a, b = RNG.beta(8, 2, (30, 5)), RNG.beta(5, 5, (20, 5))
    together = sum_draws([(1, a), (-1, b)], UNIT, draws=500)
    assert together.lower.shape == (500, 5)
    for i in range(5):
        alone = sum_draws([(1, a[:, i]), (-1, b[:, i])], UNIT, draws=500)
        np.testing.assert_allclose(together.upper[:, i], alone.upper)


@pytest.mark.parametrize("bounds", [None, UNIT])
@pytest.mark.parametrize("lost", [np.nan, np.inf])
def test_where_a_score_is_not_known_nothing_is(bounds, lost):
    found = mean_draws(np.array([0.1, lost, 0.3]), bounds, draws=100)
    assert found.interval() == (-np.inf, np.inf)
    assert found.above(-10) == found.below(10) == 1


def test_one_seed_without_bounds_says_nothing():
    assert mean_draws(np.array([3.0]), draws=100).interval() == (-np.inf, np.inf)


def test_scores_outside_their_bounds_are_refused():
    with pytest.raises(ValueError, match=r"within their bounds, 0\.0 and 1\.0"):
        mean_draws(np.array([0.5, 1.5]), UNIT)


def test_weights_that_are_kept_are_those_that_would_be_drawn():
    for case in ((5, 100, 0), (5, 100, (0, 1)), (6, 100, 0), (5, 50, 0)):
        for _ in range(2):
            kept, drawn = (np.concatenate([*f(*case)]) for f in (draws._kept, draws._drawn))
            assert np.array_equal(kept, drawn)
    one, other = draws._kept(5, 100, 0), draws._kept(5, 100, (0, 1))
    assert not np.array_equal([*one], [*other])


def test_no_more_weights_are_kept_than_there_is_room_for(monkeypatch):
    monkeypatch.setattr(draws, "KEPT", {})
    monkeypatch.setattr(draws, "MOST_KEPT", 1_300)
    for seeds in (5, 2, 5, 4, 20):
        assert np.concatenate([*draws._kept(seeds, 100, 0)]).shape == (100, seeds + 1)
    assert [seeds for seeds, _, _ in draws.KEPT] == [5, 4], "20 are too many, 2 the oldest"
