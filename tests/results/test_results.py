"""Statistics against known cases, and pictures that hold what they should."""

import jax
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest

from hcdyna import Evaluation, HillClimbing, Settings, Training, train
from hcdyna.results import plots
from hcdyna.results.statistics import mean_interval


def test_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(0)
    samples = rng.exponential(size=(30, 400))
    mean, low, high = mean_interval(samples)
    np.testing.assert_allclose(mean, samples.mean(axis=0))
    covered = np.mean((low <= 1) & (high >= 1))
    assert 0.88 < covered < 0.98


def test_seeds_that_agree_and_single_seeds():
    mean, low, high = mean_interval(np.array([[1.0, 5.0], [1.0, 7.0], [1.0, 6.5]]))
    assert (mean[0], low[0], high[0]) == (1, 1, 1)
    assert low[1] < mean[1] < high[1]
    mean, low, high = mean_interval(np.array([[2.0]]))
    assert (mean[0], low[0], high[0]) == (2, -np.inf, np.inf)
    assert mean_interval(np.array([1.0, 2.0, 4.0])).mean == pytest.approx(7 / 3)


def test_pictures_show_curves_wall_replay_queue_and_climbs():
    settings = Settings(
        search_control=HillClimbing(steps=10, queue_size=300),
        training=Training(steps=80, warmup=40, planning_steps=1, replay_size=100),
        evaluation=Evaluation(every=20),
    )
    run = train(settings, seeds=2)
    _, axes = plt.subplots()
    plots.learning_curves(axes, {"HC-Dyna": (run.steps, run.mean_returns())})
    assert len(axes.lines) == 2 + 1, "two seeds and their mean"
    _, axes = plt.subplots()
    plots.value_surface(axes, settings, run.state(1), shown=50)
    labels = axes.get_legend_handles_labels()[1]
    assert labels == ["replay states", "search-control queue", "climbs on V̂"]
    assert [len(dots.get_offsets()) for dots in axes.collections[1:3]] == [50, 50]
    assert axes.get_xlim() == (0, 1)
    walls = [c for c in axes.collections if c.get_facecolor().shape == (1, 4)]
    assert len(walls) >= 4, "two parts of the wall, start and goal"
    plt.close("all")
    assert jax.tree.leaves(run.state(0))[0].dtype == np.float32
