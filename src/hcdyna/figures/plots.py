"""Learning curves as pictures, and pictures as files. Nothing here needs a display."""

import io
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from hcdyna.figures.curves import COLOURS, NAMES, by_world, curves_of, tidy
from hcdyna.figures.pictures import plot_agent, value_surface
from hcdyna.numerics.files import write
from hcdyna.runs.run import Run
from hcdyna.settings.errors import SettingsError
from hcdyna.statistics.summaries import Statistic, interval

__all__ = ["learning_curves", "plot_agent", "plot_curves", "save_figure", "value_surface"]

FORMATS = ("png", "svg", "pdf")
MOST_COLUMNS = 3
"""Environments side by side."""


def plot_curves(
    runs: Run | Sequence[Run],
    labels: Sequence[str] | None = None,
    statistic: Statistic = "mean",
) -> Figure:
    """The return over the steps of every setting of some runs; each environment has its own axes.

    A thick line is the mean, or the interquartile mean ("iqm"), over seeds, with its 95% bootstrap
    band; thin lines are single seeds. Where an agent diverged there is a ×, and its line is dotted
    from there on. `labels` has one for each run, or for each setting of each.
    """
    if statistic not in NAMES:
        raise SettingsError(f"statistic = {statistic!r}: must be one of {', '.join(NAMES)}")
    worlds = by_world(curves_of([runs] if isinstance(runs, Run) else runs, labels))
    columns = min(len(worlds), MOST_COLUMNS)
    rows = -(-len(worlds) // columns)
    width, height = (7, 4.2) if len(worlds) == 1 else (5.5, 3.8)
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    tell_notebooks()
    for number, (world, curves) in enumerate(worlds.items(), 1):
        axes = figure.add_subplot(rows, columns, number)
        for label, colour, run, setting in curves:
            returns, diverged = run.mean_returns(setting), run.diverged[setting]
            draw_curve(axes, run.steps, returns, label, colour, statistic, diverged)
        finish(axes)
        # A single seed has no mean and no interval.
        alone = all(len(curve.returns) == 1 for curve in curves)
        shown = "one seed" if alone else f"{NAMES[statistic]} and 95% interval"
        axes.set_title(f"{world}: {shown}", size="medium")
    return figure


def tell_notebooks() -> None:
    """Tell IPython, where it runs this, how to show a figure, which else only pyplot does."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    if shell is not None:
        from IPython.core.pylabtools import select_figure_formats

        select_figure_formats(shell, {"png"})


def learning_curves(axes: Axes, curves: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> None:
    """Mean return with its 95% band, single seeds thin; label → steps, returns [seeds, steps]."""
    for number, (label, (steps, returns)) in enumerate(curves.items()):
        draw_curve(axes, steps, returns, label, COLOURS.get(label, f"C{number}"))
    finish(axes)


def draw_curve(
    axes: Axes,
    steps: np.ndarray,
    returns: np.ndarray,
    label: str,
    colour: str,
    statistic: Statistic = "mean",
    diverged: np.ndarray | None = None,
) -> None:
    """One curve with its band and its seeds; returns and diverged are [seeds, steps]."""
    if diverged is None:
        diverged = np.zeros(returns.shape, bool)
    for values, broken in zip(returns, diverged, strict=True):
        if not broken.any():
            axes.plot(steps, values, color=colour, linewidth=0.5, alpha=0.25)
            continue
        first = int(np.argmax(broken))
        axes.plot(steps[: first + 1], values[: first + 1], color=colour, linewidth=0.5, alpha=0.25)
        axes.plot(steps[first:], values[first:], ":", color=colour, linewidth=0.8, alpha=0.6)
        axes.plot(steps[first], values[first], "x", color=colour, markersize=7, markeredgewidth=1.8)
    failures = int(diverged[:, -1].sum()) if len(steps) else 0
    if failures:
        label += f" ({failures} of {len(returns)} diverged)"
    if len(steps):
        mean, low, high = interval(returns, statistic)
        if len(returns) > 1:
            axes.fill_between(steps, low, high, color=colour, alpha=0.2, linewidth=0)
    else:
        mean = np.zeros(0)
    # A single evaluation is a point, and a line through it would not be seen.
    axes.plot(
        steps, mean, color=colour, linewidth=2, marker="o" if len(steps) == 1 else "", label=label
    )


def finish(axes: Axes) -> None:
    """What learning curves need besides the curves."""
    axes.set_xlabel("environment steps")
    axes.set_ylabel("return of an evaluation episode")
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.legend(frameon=False)
    tidy(axes)
    if all(len(line.get_xdata()) == 0 for line in axes.lines):  # type: ignore[arg-type]
        axes.text(0.5, 0.5, "no evaluations yet", transform=axes.transAxes, ha="center")


def save_figure(figure: Figure, path: str | Path) -> Path:
    """Write a picture as PNG, SVG or PDF, whichever the name ends in; the folder is made."""
    path = Path(path)
    kind = path.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise SettingsError(f"{path}: the name of a picture must end in .png, .svg or .pdf")
    content = io.BytesIO()
    # Without a date and with names that are not random, equal pictures are equal files.
    date = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with mpl.rc_context({"svg.hashsalt": "hcdyna"}):
        figure.savefig(content, format=kind, dpi=150, metadata=date)
    write(path, content.getvalue())
    return path
