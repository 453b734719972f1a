"""The tabular study, from which figures 7 and 8 are drawn."""

from typing import Any

import numpy as np

from hcdyna import Gibbs, OnPolicy, Replay, TabularHillClimbing, Uniform
from hcdyna.experiments.cells import Cell, Result
from hcdyna.experiments.paper import drawing
from hcdyna.experiments.paper.drawing import Figure
from hcdyna.experiments.paper.scale import Scale, tabular_settings
from hcdyna.experiments.paper.verdicts import paper_scores
from hcdyna.experiments.probes import SAMPLES

STRATEGIES: dict[str, Any] = {
    "HC-Dyna": TabularHillClimbing(),
    "Gibbs": Gibbs(),
    "HC-Dyna-Vstar": TabularHillClimbing(surface="optimal"),
    "Gibbs-Vstar": Gibbs(surface="optimal"),
    "OnPolicy-Dyna": OnPolicy(),
    "ER": Replay(),
    "Uniform-Dyna": Uniform(),
}
QUEUED = ("HC-Dyna", "Gibbs", "HC-Dyna-Vstar", "Gibbs-Vstar")
SIDE = 20
"""Cells along each side of the grid."""


def study(scale: Scale, strategies: tuple[str, ...]) -> dict[str, Cell]:
    """Each strategy at all learning rates; its best one counts."""
    found = {}
    for name in strategies:
        for rate in scale.tabular_rates:
            run = tabular_settings(scale, STRATEGIES[name], rate)
            look = ("tabular_queue", (scale.tabular_steps,)) if name in QUEUED else (None, ())
            found[f"{name}/{rate}"] = Cell(run, scale.seeds, *look)
    return found


def picture(
    results: dict[str, Result],
    strategies: tuple[str, ...],
    compared: tuple[str, ...],
    scale: Scale,
) -> Figure:
    """Curves of the strategies at their best learning rates, and counts of queue states, of those
    seeds that did not choose the rate."""
    scores = paper_scores(study(scale, strategies), results)
    chosen = {name: found for name in strategies if (found := scores.best(f"{name}/"))}
    figure, (panels,) = drawing.new_figure(1, 3, (13.5, 4.6), width_ratios=(1.5, 1, 1))
    lines = [
        drawing.Line(result, f"{name}, α = {label.split('/')[1]}", drawing.COLOURS[name])
        for name, (label, result) in chosen.items()
    ]
    drawing.curves(panels[0], lines, scale, drawing.NEIGHBOURS)
    panels[0].set(xlabel=drawing.STEPS, ylabel=drawing.AVERAGED)
    panels[0].set_title("(a) TabularGridWorld, each at its best learning rate", size="medium")
    draw_counts(panels[1:], {x: chosen[x][1] for x in compared if x in chosen}, compared)
    drawing.legend(figure, lines, warmup=False)
    return drawing.marked(figure, scale, scale.tabular_steps)


def draw_counts(panels: Any, results: dict[str, Result], compared: tuple[str, ...]) -> None:
    """How many of the states drawn from a queue are in each cell of the grid, mean over seeds. Both
    panels have the same colours, on a scale of roots: counts of few and of many are seen."""
    from matplotlib.colors import PowerNorm

    counts = {name: last_look(r, "counts").mean(axis=0) for name, r in results.items()}
    highest = max((float(c.max()) for c in counts.values()), default=1.0)
    shades = PowerNorm(0.5, 0, highest)
    for axes, name in zip(panels, compared, strict=True):
        title = f"(b) queue of {name}"
        if name in counts:
            # State i is in column i // SIDE and row i % SIDE; a picture's first axis is its rows.
            grid = counts[name].reshape(SIDE, SIDE).T
            image = axes.imshow(grid, cmap="magma_r", norm=shades, origin="lower")
            spread = last_look(results[name], "spread").mean()
            title += f"\neffectively {spread:.0f} states, exp(entropy)"
        axes.set_title(title, size="medium")
        axes.set(xlabel="column", xticks=(0, 10, 19), yticks=(0, 10, 19))
    panels[0].set_ylabel("row")
    if counts:
        bar = panels[0].figure.colorbar(image, ax=list(panels), shrink=0.75, pad=0.02)
        bar.set_label(f"mean count of {SAMPLES:,} states")


def last_look(result: Result, name: str) -> np.ndarray:
    """What the probe saw [seeds, …] at the end."""
    return next(x for key, x in result.seen.items() if key.startswith(f"{name}_"))
