"""Pictures hold what they should, and curves are named after what tells them apart."""

import dataclasses
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from matplotlib.figure import Figure

from hcdyna import CartPole, HillClimbing, Hosted, RunError, SettingsError, TabularGridWorld
from hcdyna.figures import plots
from hcdyna.figures.curves import curves_of
from hcdyna.figures.pictures import replay_and_queue
from hcdyna.numerics import ring
from hcdyna.types import Transition


def labels_of(*runs, labels=None):
    return [curve.label for curve in curves_of(runs, labels)]


def with_settings(run, *changes):
    """Copies of the first setting with some parts exchanged, as one run."""
    settings = [dataclasses.replace(run.settings[0], **change) for change in changes]
    repeated = {
        name: np.repeat(getattr(run, name)[:1], len(changes), axis=0)
        for name in ("returns", "lengths", "diverged")
    }
    info = [
        {k: np.repeat(v[:1], len(changes), axis=0) for k, v in each.items()} for each in run.info
    ]
    return dataclasses.replace(run, settings=settings, info=info, folder=None, **repeated)


def test_curves_are_named_by_algorithm_and_by_what_differs(run, made_up):
    assert labels_of(run) == ["HC-Dyna"]
    assert labels_of(made_up, run) == ["DQN", "HC-Dyna"]
    swept = with_settings(run, *({"search_control": HillClimbing(eta=eta)} for eta in (0.05, 0.1)))
    assert labels_of(swept) == ["HC-Dyna, eta 0.05", "HC-Dyna, eta 0.1"]
    assert labels_of(swept, made_up)[2] == "DQN"
    mixed = with_settings(run, {}, {"model": "learned"}, {"environment": "MountainCar"})
    assert labels_of(mixed) == [
        "HC-Dyna, GridWorld, true model",
        "HC-Dyna, GridWorld, learned model",
        "HC-Dyna, MountainCar, true model",
    ]
    assert labels_of(run, run) == ["HC-Dyna (climbing) #1", "HC-Dyna (climbing) #2"]
    assert labels_of(made_up, made_up) == ["DQN #1", "DQN #2"]


def test_given_labels_are_for_runs_or_for_curves(run, made_up):
    swept = with_settings(run, *({"search_control": HillClimbing(eta=eta)} for eta in (0.05, 0.1)))
    assert labels_of(swept, made_up, labels=["ours", "theirs"]) == [
        "ours, eta 0.05",
        "ours, eta 0.1",
        "theirs",
    ]
    assert labels_of(swept, made_up, labels=["a", "b", "c"]) == ["a", "b", "c"]
    with pytest.raises(SettingsError, match="must be one for each of the 2 runs or the 3 curves"):
        labels_of(swept, made_up, labels=["a"])
    with pytest.raises(SettingsError, match="must be at least one"):
        labels_of()


def test_a_criterion_without_a_name_can_still_be_plotted(run):
    climbing = HillClimbing(criterion=lambda key, scene: scene.value)
    assert labels_of(with_settings(run, {"search_control": climbing})) == ["HC-Dyna"]


def test_curves_with_mean_band_and_single_seeds(run, made_up):
    axes = plots.plot_curves([run, made_up]).axes[0]
    assert len(axes.lines) == (2 + 1) + (4 + 1), "the seeds of each and their mean"
    assert len(axes.collections) == 2, "two bands"
    assert axes.get_legend_handles_labels()[1] == ["HC-Dyna", "DQN"]
    iqm = plots.plot_curves(made_up, statistic="iqm").axes[0]
    middle = np.sort(made_up.mean_returns(), axis=0)[1:3].mean(axis=0)
    np.testing.assert_allclose(iqm.lines[-1].get_ydata(), middle)
    with pytest.raises(SettingsError, match="must be one of mean, iqm"):
        plots.plot_curves(run, statistic="median")  # type: ignore[arg-type]


def test_every_environment_has_axes_of_its_own(run, made_up):
    pole = with_settings(made_up, {"environment": Hosted("CartPole-v1"), "model": "learned"})
    figure = plots.plot_curves([run, made_up, pole])
    assert [axes.get_title().partition(":")[0] for axes in figure.axes] == [
        "GridWorld",
        "CartPole-v1",
    ]
    assert [len(axes.collections) for axes in figure.axes] == [2, 1]
    assert all(axes.get_ylabel() for axes in figure.axes)
    assert labels_of(made_up, pole) == [
        "DQN, GridWorld, true model",
        "DQN, CartPole-v1, learned model",
    ]
    worlds = ("GridWorld", "MountainCar", "CartPole", "Acrobot")
    many = with_settings(made_up, *({"environment": world} for world in worlds))
    places = [axes.get_position().bounds for axes in plots.plot_curves(many).axes]
    assert len(set(places)) == 4


def test_agents_are_marked_from_where_they_diverged(broken):
    axes = plots.plot_curves(broken).axes[0]
    assert axes.get_legend_handles_labels()[1] == ["DQN (2 of 4 diverged)"]
    crosses = [line for line in axes.lines if line.get_marker() == "x"]
    assert [list(cross.get_xdata()) for cross in crosses] == [[60], [100]]
    dotted = [line for line in axes.lines if line.get_linestyle() == ":"]
    assert list(dotted[0].get_xdata()) == [60, 80, 100]


def test_one_seed_and_no_evaluations(single, empty):
    axes = plots.plot_curves(single).axes[0]
    assert not axes.collections, "no band"
    assert axes.get_title() == "GridWorld: one seed"
    words = [text.get_text() for text in plots.plot_curves(empty).axes[0].texts]
    assert words == ["no evaluations yet"]


@pytest.mark.parametrize(
    ("kind", "opens"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_pictures_are_saved_by_extension(made_up, tmp_path, kind, opens):
    first, second = (
        plots.save_figure(plots.plot_curves(made_up), tmp_path / "new" / f"{name}.{kind}")
        for name in "ab"
    )
    assert first.read_bytes().startswith(opens)
    assert first.read_bytes() == second.read_bytes()


def test_pictures_that_cannot_be_saved(made_up, tmp_path):
    figure = plots.plot_curves(made_up)
    with pytest.raises(SettingsError, match=r"must end in \.png, \.svg or \.pdf"):
        plots.save_figure(figure, tmp_path / "curves.gif")
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="can't be written"):
        plots.save_figure(figure, tmp_path / "file" / "curves.png")


def test_an_agent_shows_surface_wall_replay_queue_and_climbs(run):
    figure = plots.plot_agent(run, seed=8)
    axes = figure.axes[0]
    labels = axes.get_legend_handles_labels()[1]
    assert labels == ["replay states", "search-control queue", "climbs on V̂"]
    assert axes.get_xlim() == (0, 1)
    walls = [c for c in axes.collections if c.get_facecolor().shape == (1, 4)]
    assert len(walls) >= 4, "two parts of the wall, start and goal"
    axes = Figure().subplots()
    plots.value_surface(axes, run.settings[0], run.state(3), shown=50)
    assert [len(dots.get_offsets()) for dots in axes.collections[1:3]] == [50, 50]
    assert axes.collections[2].get_path_effects(), "white crosses have an outline"
    plain = plots.plot_agent(run, seed=3, variables=[(0, 1), (1, 0)])
    assert [axes.get_xlabel() for axes in plain.axes] == ["x", "y"]


def test_an_agent_that_diverged_still_shows_its_states(run):
    state = run.state(3)
    state = state._replace(agent=jax.tree.map(lambda x: x * np.nan, state.agent))
    axes = Figure().subplots()
    plots.value_surface(axes, run.settings[0], state)
    assert "diverged" in axes.get_title()
    assert axes.get_legend_handles_labels()[1] == ["replay states", "search-control queue"]


def remembered(states):
    """What a picture looks at of an agent: replay states, and a queue of the same."""
    zeros = jnp.zeros(len(states))
    rows = Transition(states, zeros, zeros, zeros, states)
    return SimpleNamespace(
        replay=ring.Ring(rows, jnp.asarray(len(states))),
        search_control=SimpleNamespace(queue=ring.Ring(states, jnp.asarray(len(states)))),
    )


def test_more_dimensions_are_shown_in_pairs(run):
    settings = dataclasses.replace(run.settings[0], environment=CartPole())
    axes = Figure().subplots()
    replay_and_queue(axes, settings, remembered(jnp.ones((50, 4))), (0, 2))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("position", "angle")
    assert axes.get_legend_handles_labels()[1] == ["replay states", "search-control queue"]


def test_tabular_states_are_counted(run):
    settings = dataclasses.replace(run.settings[0], environment=TabularGridWorld(size=3))
    axes = Figure().subplots()
    replay_and_queue(axes, settings, remembered(jnp.array([0, 0, 0, 8])), (0, 0))
    heights = [bar.get_height() for bar in axes.patches[:9]]
    assert heights[0] > heights[8] > 0
    assert sum(heights) == heights[0] + heights[8]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"seed": 0}, "seed = 0: must be one of this run's: 3, 8"),
        ({"seed": 3, "setting": 1}, "setting = 1: must be from 0 to 0"),
        ({"seed": 3, "variables": (0, 2)}, "must be pairs of numbers from 0 to 1"),
        ({"seed": 3, "variables": [(0, 1, 1)]}, "must be pairs of numbers from 0 to 1"),
        ({"seed": 3, "variables": []}, "variables: must be at least one pair"),
    ],
)
def test_agents_and_variables_that_are_not_there(run, wrong, words):
    with pytest.raises(SettingsError, match=words):
        plots.plot_agent(run, **wrong)
