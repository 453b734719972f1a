"""Summaries against their formulas, written out."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from hcdyna.statistics.summaries import (
    bands,
    interquartile_mean,
    last_share,
    performance_profile,
    steps_to_threshold,
    tolerance_interval,
)

SCORES = arrays.arrays(
    np.float64, st.integers(1, 40), elements=st.integers(-50, 50).map(float), fill=st.nothing()
)


def test_statistics_need_no_jax():
    modules = ", ".join(f"hcdyna.statistics.{name}" for name in ("summaries", "verdicts"))
    program = f"import sys, {modules}; assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


@given(SCORES)
def test_the_interquartile_mean_leaves_out_a_quarter_on_either_side(scores):
    cut = len(scores) // 4
    middle = sorted(scores)[cut : len(scores) - cut]
    assert interquartile_mean(scores) == pytest.approx(sum(middle) / len(middle))


def test_bands_pool_the_runs_of_all_tasks():
    rng = np.random.default_rng(0)
    tasks = rng.normal(size=(30, 3)), 5 + rng.normal(size=(20, 3))
    both = np.concatenate(tasks)
    for statistic, formula in (("mean", np.mean), ("iqm", interquartile_mean)):
        found = bands(*tasks, statistic=statistic)
        np.testing.assert_allclose(found.mean, formula(both, axis=0))
        assert np.all((found.low < found.mean) & (found.mean < found.high))


def test_bands_are_percentiles_of_stratified_resamples():
    rng = np.random.default_rng(1)
    tasks = rng.exponential(size=(12, 1)), 3 + rng.exponential(size=(8, 1))
    means = []
    for _ in range(4_000):
        drawn = [task[rng.integers(len(task), size=len(task))] for task in tasks]
        means.append(interquartile_mean(np.concatenate(drawn))[0])
    found = bands(*tasks, resamples=4_000)
    expected = np.percentile(means, [2.5, 97.5])
    np.testing.assert_allclose(
        [found.low[0], found.high[0]], expected, atol=0.05 * np.ptp(expected)
    )


def test_bands_of_tasks_apart_ignore_the_distance_between_them():
    """What tells a stratified bootstrap from one that pools all runs first."""
    near, far = np.tile([[0.0], [1.0]], (5, 1)), np.tile([[1000.0], [1001.0]], (5, 1))
    found = bands(near, far, statistic="mean")
    assert np.ptp([found.low, found.high]) < 1


def test_equal_seeds_give_equal_bands_and_others_do_not():
    curves = np.random.default_rng(0).normal(size=(10, 4))
    first, again, other = bands(curves), bands(curves), bands(curves, seed=1)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first.low, other.low)


@given(SCORES, SCORES)
def test_a_profile_counts_the_runs_above(one, two):
    thresholds = np.array([-50.0, -7.0, 0.0, 3.0, 50.0])
    found = performance_profile(one, two, thresholds=thresholds, resamples=20)
    runs = [*one, *two]
    expected = [sum(score > tau for score in runs) / len(runs) for tau in thresholds]
    np.testing.assert_allclose(found.mean, expected)


def test_a_run_without_a_number_is_above_nothing():
    found = performance_profile(np.array([1.0, np.nan]), thresholds=np.array([-1e9, 0.0, 1.0]))
    assert found.mean.tolist() == [0.5, 0.5, 0]


@pytest.mark.parametrize(("share", "enough"), [(0.9, 46), (0.95, 93), (0.99, 473)])
def test_tolerance_intervals_need_as_many_runs_as_in_the_tables(share, enough):
    """The sizes of Wilks' tables for the range of a sample at 95% confidence."""
    runs = np.arange(enough, dtype=float)
    found = tolerance_interval(runs, share)
    assert (found.low, found.high, found.note) == (0, enough - 1, "")
    assert tolerance_interval(runs[:-1], share).note


def test_thirty_runs_get_the_best_interval_there_is():
    found = tolerance_interval(np.arange(30.0)[::-1])
    assert (found.low, found.high) == (0, 29)
    expected = 1 - 30 * 0.9**29 + 29 * 0.9**30  # P(Beta(29, 2) > 0.9)
    assert found.confidence == pytest.approx(expected)
    assert "30 runs are too few" in found.note
    assert "covers 85.1% with 95%" in found.note
    assert tolerance_interval(np.array([3.0])).confidence == 0


def test_tolerance_intervals_cover_as_often_as_they_say():
    runs = np.random.default_rng(0).uniform(size=(100, 4_000))
    found = tolerance_interval(runs)
    assert found.high.mean() < 0.98
    covered = np.mean(found.high - found.low >= 0.9)
    assert covered == pytest.approx(found.confidence, abs=0.01)
    assert found.confidence >= 0.95


def test_last_share_is_the_mean_of_the_last_fifth():
    curves = np.arange(20.0).reshape(2, 10)
    np.testing.assert_allclose(last_share(curves), [8.5, 18.5])
    np.testing.assert_allclose(last_share(curves[:, :2]), [1, 11])
    np.testing.assert_allclose(last_share(curves, 1.0), curves.mean(axis=1))


def test_steps_to_threshold_count_those_that_never_arrive():
    steps = np.array([100, 200, 300])
    curves = np.array([[0, 5, 0], [5, 5, 5], [0, 4.9, 7], [0, np.nan, 0]], float)
    found = steps_to_threshold(steps, curves, 5)
    assert found.steps.tolist() == [200, 100, 300, np.inf]
    assert (found.never, found.median) == (1, 250)
    assert steps_to_threshold(steps, curves, 6).median == np.inf
    assert steps_to_threshold(steps, curves, 6).never == 3
