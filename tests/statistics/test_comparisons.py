"""Comparisons against slow implementations, worked examples and their symmetries."""

import math
import random
from fractions import Fraction
from itertools import combinations
from statistics import NormalDist, mean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hcdyna.statistics.comparisons import (
    bca_interval,
    holm,
    permutation_test,
    probability_of_improvement,
)

NUMBERS = st.lists(st.integers(-20, 20).map(float), min_size=2, max_size=6).map(np.array)
SKEWED = np.array([0.1, 0.2, 0.2, 0.4, 0.7, 1.5, 4.0, 9.0])
OTHER = np.array([0.0, 0.3, 0.5, 1.0, 1.1])


def direct_bca(a, b, resamples):
    """Efron & Tibshirani (1993), equations 14.9 to 14.15, with the two-sample acceleration."""
    draw, normal = random.Random(0), NormalDist()
    actual = mean(a) - mean(b)
    found = sorted(
        mean(draw.choices(a, k=len(a))) - mean(draw.choices(b, k=len(b))) for _ in range(resamples)
    )
    below = sum(x < actual for x in found) + sum(x == actual for x in found) / 2
    z0 = normal.inv_cdf(below / resamples)
    cubes = squares = 0.0
    for sample, sign in ((a, 1), (b, -1)):
        left_out = [sign * mean(sample[:i] + sample[i + 1 :]) for i in range(len(sample))]
        influence = [(len(sample) - 1) * (mean(left_out) - x) for x in left_out]
        cubes += sum(u**3 for u in influence) / len(sample) ** 3
        squares += sum(u**2 for u in influence) / len(sample) ** 2
    acceleration = cubes / (6 * squares**1.5)
    ends = []
    for share in (0.025, 0.975):
        z = z0 + normal.inv_cdf(share)
        corrected = normal.cdf(z0 + z / (1 - acceleration * z))
        ends.append(found[round(corrected * (resamples - 1))])
    plain = found[round(0.025 * (resamples - 1))], found[round(0.975 * (resamples - 1))]
    return ends, plain


def test_bca_against_the_formulas():
    expected, plain = direct_bca(SKEWED.tolist(), OTHER.tolist(), 20_000)
    found = bca_interval(SKEWED, OTHER, resamples=20_000)
    near = 0.03 * np.ptp(expected)
    assert found.mean == pytest.approx(SKEWED.mean() - OTHER.mean())
    np.testing.assert_allclose([found.low, found.high], expected, atol=near)
    assert plain[1] < expected[1] - 2 * near, "the correction is larger than the tolerance"


def test_samples_that_do_not_vary_have_an_interval_all_the_same():
    ones, zeros = np.ones(5), np.zeros(4)
    assert bca_interval(ones, zeros) == (1, 1, 1)
    difference, low, high = bca_interval(SKEWED, zeros)
    assert low < difference < high
    _, low, high = bca_interval(np.array([1.0]), zeros)
    assert (low, high) == (-np.inf, np.inf)
    nearly = np.array([0.1 + 0.2, 0.3, 0.3])
    assert np.isfinite(bca_interval(nearly, nearly)).all()
    assert np.isnan(bca_interval(np.array([1.0, np.nan]), zeros)).all()


def test_any_statistic_of_two_samples():
    def ratio(a, b, axis):
        return a.mean(axis=axis) / b.mean(axis=axis)

    found = bca_interval(SKEWED, 1 + OTHER, ratio)
    assert found.low < found.mean == SKEWED.mean() / (1 + OTHER).mean() < found.high


def test_columns_are_compared_one_by_one():
    a, b = np.random.default_rng(0).normal(size=(2, 12, 3))
    for function in (bca_interval, permutation_test, probability_of_improvement):
        together = np.array(function(a, b))
        for column in range(3):
            alone = np.array(function(a[:, column], b[:, column]))
            np.testing.assert_allclose(together[..., column], alone)


@settings(max_examples=30, deadline=None)
@given(NUMBERS, NUMBERS)
def test_few_permutations_are_all_tried(a, b):
    pooled = [Fraction(x) for x in (*a, *b)]

    def size(chosen):
        rest = [x for i, x in enumerate(pooled) if i not in chosen]
        return abs(mean(pooled[i] for i in chosen) - mean(rest))

    ways = [size(chosen) for chosen in combinations(range(len(pooled)), len(a))]
    hits = sum(way >= ways[0] for way in ways)
    assert permutation_test(a, b) == pytest.approx(hits / len(ways))


def test_permutations_of_tiny_samples_by_hand():
    assert permutation_test(np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0])) == pytest.approx(
        2 / 10
    )
    assert permutation_test(np.ones(3), np.ones(3)) == 1
    assert permutation_test(np.array([1.0]), np.array([2.0])) == 1
    assert np.isnan(permutation_test(np.array([np.nan, 1.0]), np.ones(2)))


def test_many_permutations_are_sampled():
    a, b = SKEWED, OTHER + 0.5
    exact = permutation_test(a, b)  # of 1287
    assert 0.05 < exact < 0.95
    sampled = permutation_test(a, b, permutations=1_286)
    assert sampled == pytest.approx(exact, abs=0.04)
    assert sampled * 1_287 == pytest.approx(round(float(sampled) * 1_287))
    assert permutation_test(np.arange(30.0), np.arange(30.0) + 100) == pytest.approx(1 / 20_001)
    assert permutation_test(a, b, permutations=500, seed=1) == permutation_test(
        a, b, permutations=500, seed=1
    )


def test_holm_on_a_worked_example():
    """Four tests: 4 · 0.005, 3 · 0.01, 2 · 0.03, and the last no smaller than the one before."""
    adjusted = holm([0.01, 0.04, 0.03, 0.005])
    np.testing.assert_allclose(adjusted, [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm([0.6, 0.7]), [1, 1])
    np.testing.assert_allclose(holm([np.nan, 0.02]), [1, 0.04])
    assert holm([]).shape == (0,)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_lies_between_none_and_bonferroni(p):
    adjusted, p = holm(p), np.array(p)
    assert np.all(adjusted >= p)
    assert np.all(adjusted <= np.minimum(1, len(p) * p))


@settings(max_examples=40, deadline=None)
@given(NUMBERS, NUMBERS)
def test_probability_of_improvement_over_all_pairs(a, b):
    wins = sum((x > y) + (x == y) / 2 for x in a for y in b)
    found = probability_of_improvement(a, b, resamples=50)
    assert found.mean == pytest.approx(wins / (len(a) * len(b)))
    assert 0 <= found.low <= found.high <= 1
    assert probability_of_improvement(b, a, resamples=50).mean == pytest.approx(1 - found.mean)


def test_the_probability_of_improvement_has_an_interval():
    rng = np.random.default_rng(0)
    a, b = rng.normal(1, size=(30, 500)), rng.normal(size=(30, 500))
    found = probability_of_improvement(a, b, resamples=500)
    truth = NormalDist().cdf(1 / math.sqrt(2))
    assert 0.91 < np.mean((found.low <= truth) & (truth <= found.high)) < 0.985
    _, low, high = probability_of_improvement(np.array([1.0]), np.zeros(3))
    assert (low, high) == (0, 1)


FOURS = st.lists(st.integers(-20, 20).map(float), min_size=4, max_size=4).map(np.array)


@settings(max_examples=25, deadline=None)
@given(FOURS, FOURS, st.integers(-1_000, 1_000).map(float))
def test_a_common_shift_changes_nothing(a, b, shift):
    """Means of four whole numbers are exact, so that rounding does not break ties."""
    found, shifted = (bca_interval(a + x, b + x, resamples=200) for x in (0, shift))
    np.testing.assert_allclose(shifted, found, atol=1e-9)
    assert permutation_test(a + shift, b + shift) == permutation_test(a, b)


@settings(max_examples=25, deadline=None)
@given(NUMBERS, NUMBERS)
def test_exchanged_samples_give_the_same_p_value(a, b):
    assert permutation_test(a, b) == pytest.approx(permutation_test(b, a))
    assert bca_interval(a, b, resamples=50).mean == -bca_interval(b, a, resamples=50).mean
