"""The pictures of the paper's figures, from results that are made up."""

import importlib
import sys
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest

from hcdyna.experiments.cells import Cell, Result
from hcdyna.experiments.paper import FIGURES, drawing, figure, reproduce
from hcdyna.experiments.paper.scale import PICKED, PRINTED, QUICK, Scale
from hcdyna.statistics.summaries import mean_interval

BOTH = replace(QUICK, rates=(PRINTED, PICKED))
"""Both learning rates, as at the full scale, and the rest as small as can be."""
PANELS = {
    "fig1": {"fig1": 1 + 2 * 5},
    "fig2": {"fig2": 4},
    "fig3": {"fig3-1e-4": 2, "fig3-1e-3": 2},
    "fig4": {"fig4-1e-4": 12, "fig4-1e-3": 12},
    "fig5": {"fig5-1e-4": 6, "fig5-1e-3": 6},
    "fig6": {"fig6": 1},
    "fig7": {"fig7": 3},
    "fig8": {"fig8": 3},
    "lr": {"lr": 4},
    "ablations": {"ablations": 2},
    "strategies": {"strategies": 4},
}
SEEN = {
    "value_surface": {"surface": (41, 41), "paths": (5, 101, 2), "reached": (), "slope": ()},
    "replay_and_queue": {"replay": (9, 2), "queue": (9, 2), "replay_share": 6, "queue_share": 6},
    "queue_at_edges": {"queue": (9, 2), "at_limit": (), "near_goal": ()},
    "tabular_queue": {"counts": (400,), "spread": ()},
}


@pytest.fixture(autouse=True)
def rough_bands(monkeypatch):
    """Few resamples: no number of an interval is looked at here."""
    rough = partial(mean_interval, resamples=20)
    for module in (drawing, figure("fig5")):
        monkeypatch.setattr(module, "mean_interval", rough)


def made_up(cell: Cell) -> Result:
    """Random numbers of the right shapes."""
    rng = np.random.default_rng(0)
    every = cell.settings.evaluation.every
    steps = np.arange(every, cell.settings.training.steps + 1, every)
    returns = rng.uniform(-500, 0, (cell.seeds, len(steps)))
    seen = {
        f"{name}_{step}": rng.random((cell.seeds, *np.atleast_1d(shape).astype(int)))
        for name, shape in SEEN.get(cell.probe or "", {}).items()
        for step in cell.probe_steps
    }
    return Result(steps, returns, np.zeros(cell.seeds, bool), seen, {})


@cache
def results(name: str, scale: Scale) -> dict[str, Result]:
    return {label: made_up(cell) for label, cell in figure(name).cells(scale).items()}


def texts(picture) -> str:
    """All that is written on a picture."""
    from matplotlib.text import Text

    return "\n".join(text.get_text() for text in picture.findobj(Text))


@pytest.mark.parametrize("name", FIGURES)
def test_panels_and_note(name):
    pictures = figure(name).draw(results(name, BOTH), BOTH)
    panels = {
        stem: sum(axes.get_label() != "<colorbar>" for axes in picture.axes)
        for stem, picture in pictures.items()
    }
    assert panels == PANELS[name]
    for picture in pictures.values():
        assert "quick scale: 3 seeds, " in texts(picture)
        assert "not run" not in texts(picture)


@pytest.mark.parametrize("name", FIGURES)
def test_missing_cells_are_left_out(name):
    there = results(name, QUICK)
    some = dict(list(there.items())[1::2])
    assert figure(name).draw(some, QUICK)
    assert figure(name).draw({}, QUICK) == {}


def test_each_learned_model_has_a_picture_of_its_own():
    """At the full scale, here with few seeds and steps."""
    full = replace(QUICK, name="full")
    pictures = figure("fig4").draw(results("fig4", full), full)
    kinds = {
        "fig4": "known ends",
        "fig4_learned_ends": "learned ends",
        "fig4_our_model": "our model",
    }
    assert pictures.keys() == {f"{name}-1e-3" for name in kinds}
    for name, kind in kinds.items():
        entries = pictures[f"{name}-1e-3"].legends[0].get_texts()
        assert [text.get_text() for text in entries] == [
            *("DQN", "OnPolicy-Dyna", "HC-Dyna"),
            *(f"{x}, learned model ({kind})" for x in ("OnPolicy-Dyna", "HC-Dyna")),
        ]
    assert {reproduce.figure_of(f"{stem}.png") for stem in pictures} == {"fig4"}


def test_a_ranking_leaves_out_what_was_not_run_everywhere():
    module, there = figure("strategies"), results("strategies", QUICK)
    whole = module.draw(there, QUICK)["strategies"]
    assert texts(whole).count("rank 1–10") == 20, "random numbers: nothing is shown"
    some = {label: x for label, x in there.items() if label != "GridWorld/uniform/true"}
    [picture] = module.draw(some, QUICK).values()
    names = [text.get_text() for text in picture.axes[0].get_yticklabels()]
    assert len(names) == 9
    assert "uniform" not in names
    assert "uniform" in [text.get_text() for text in picture.axes[2].get_yticklabels()]


def test_full_scale_has_no_note():
    module, full = figure("fig6"), replace(QUICK, name="full")
    (picture,) = module.draw(results("fig6", full), full).values()
    assert "scale" not in texts(picture)


def test_diverged_seeds_are_told_and_kept():
    there = results("fig6", QUICK)
    broken = replace(there["DDPG"], diverged=np.array([True, False, True]))
    (picture,) = figure("fig6").draw(there | {"DDPG": broken}, QUICK).values()
    assert "DDPG (2 diverged)" in texts(picture)
    shown = [line.get_ydata() for line in picture.axes[0].lines]
    assert any(np.array_equal(y, broken.returns.mean(axis=0)) for y in shown)


def test_a_picture_can_be_laid_out():
    (picture,) = figure("fig3").draw(results("fig3", QUICK), QUICK).values()
    picture.draw_without_rendering()
    boxes = [axes.get_position() for axes in picture.axes]
    assert len(boxes) >= 2
    assert all(box.width > 0.1 and box.height > 0.1 for box in boxes), "no room for a panel"


def test_neighbours_are_averaged_with_a_rest():
    assert drawing.in_blocks(np.arange(5), 2).tolist() == [0.5, 2.5, 4.0]


def test_counts_are_shown_by_column_from_bottom_to_top():
    from matplotlib.figure import Figure

    from hcdyna.experiments.paper.tabular import draw_counts

    counts = np.zeros((1, 400))
    counts[0, 3 * 20 + 5] = 7  # column 3, row 5
    seen = {"counts_9": counts, "spread_9": np.ones(1)}
    panels = Figure().subplots(1, 2)
    draw_counts(panels, {"A": Result(np.arange(1), counts, np.zeros(1), seen, {})}, ("A", "B"))
    image = panels[0].images[0]
    assert image.origin == "lower"
    assert image.get_array()[5, 3] == 7  # [row, column]


def test_cells_need_no_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for module in (drawing, *map(figure, FIGURES)):
        importlib.reload(module)
    assert all(figure(name).cells(QUICK) for name in FIGURES)
