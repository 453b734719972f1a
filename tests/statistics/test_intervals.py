"""Statistics against known cases."""

import numpy as np
import pytest
from scipy import stats

from hcdyna.statistics.summaries import area_under_curve, iqm_interval, mean_interval


def test_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(0)
    samples = rng.exponential(size=(30, 400))
    mean, low, high = mean_interval(samples)
    np.testing.assert_allclose(mean, samples.mean(axis=0))
    covered = np.mean((low <= 1) & (high >= 1))
    assert 0.88 < covered < 0.98
    samples = rng.normal(size=(30, 200))
    mean, low, high = iqm_interval(samples)
    np.testing.assert_allclose(mean, stats.trim_mean(samples, 0.25, axis=0))
    covered = np.mean((low <= 0) & (high >= 0))
    assert 0.88 < covered < 0.98


@pytest.mark.parametrize("interval", [mean_interval, iqm_interval])
def test_seeds_that_agree_and_single_seeds(interval):
    mean, low, high = interval(np.array([[1.0, 5.0], [1.0, 7.0], [1.0, 6.5]]))
    assert (mean[0], low[0], high[0]) == (1, 1, 1)
    assert low[1] < mean[1] < high[1]
    mean, low, high = interval(np.array([[2.0]]))
    assert (mean[0], low[0], high[0]) == (2, -np.inf, np.inf)
    assert interval(np.array([1.0, 2.0, 4.0])).mean == pytest.approx(7 / 3)


def test_the_interquartile_mean_is_that_of_the_middle_half():
    lucky = np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0], [1000.0]])
    assert iqm_interval(lucky).mean == pytest.approx(4.5)
    assert mean_interval(lucky).mean > 100


@pytest.mark.parametrize("interval", [mean_interval, iqm_interval])
@pytest.mark.parametrize("lost", [np.nan, np.inf, -np.inf])
def test_an_agent_without_a_number_is_not_left_out(interval, lost):
    per_seed = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [4.0, lost], [5.0, 5.0]])
    mean, low, high = interval(per_seed)
    assert mean[0] == pytest.approx(3)
    assert low[0] < 3 < high[0]
    assert np.isnan([mean[1], low[1], high[1]]).all()


def test_area_under_a_curve_is_its_mean_height():
    steps = np.array([10, 20, 40])
    assert area_under_curve(steps, np.array([[3.0, 3.0, 3.0]])) == pytest.approx([3])
    assert area_under_curve(steps, np.array([[0.0, 2.0, 2.0]])) == pytest.approx([50 / 30])
    assert area_under_curve(steps[:1], np.array([[7.0]])) == pytest.approx([7])
