"""What the pictures of several figures share. matplotlib is imported only where something is drawn,
so that cells can be named and run without it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hcdyna.environments import grid_world
from hcdyna.experiments.cells import Result
from hcdyna.experiments.paper.scale import Scale
from hcdyna.figures.curves import COLOURS as NAMED
from hcdyna.figures.curves import MORE_COLOURS, tidy
from hcdyna.statistics.summaries import mean_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
else:
    Axes = Figure = Any

STEPS = "environment steps (thousands)"
REWARDS = "sum of rewards"
MOST_LETTERS = 80
"""In the names of a legend of one row; more are too wide for a picture."""
NEIGHBOURS = 10
"""Evaluations that are averaged where there is one every 100 steps."""
AVERAGED = f"{REWARDS}, mean of\n{NEIGHBOURS} neighbouring evaluations"
GREY, PALE = "#7a7a7a", "#c9c9c9"
ORANGE = MORE_COLOURS[4]
COLOURS = {
    **NAMED,
    "ER": NAMED["DQN"],
    "DDPG": NAMED["DQN"],
    "DDPG-OnPolicy-Dyna": NAMED["OnPolicy-Dyna"],
    "DDPG-HC-Dyna": NAMED["HC-Dyna"],
    "HC-Dyna-Vstar": ORANGE,
    "Gibbs-Vstar": MORE_COLOURS[5],
}
"""HC-Dyna is red, OnPolicy-Dyna blue and replay alone black, as in the paper."""


@dataclass(frozen=True)
class Line:
    """One curve of a panel. Lines with the same name share an entry of the legend."""

    result: Result
    name: str
    colour: str
    style: Literal["-", ":"] = "-"


def named_lines(results: dict[str, Result], label: str, names: Iterable[str]) -> list[Line]:
    """Those of the names that were run, in their colours; `label` has a {} for the name."""
    there = {name: results.get(label.format(name)) for name in names}
    return [Line(found, name, COLOURS[name]) for name, found in there.items() if found]


def new_figure(rows: int, columns: int, size: tuple[float, float], **options: Any) -> Any:
    """A picture of so many inches, and its panels [rows, columns]."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    spaced(figure)
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def spaced(figure: Figure) -> None:
    """Room between panels, so that the last tick of one does not run into the first of the next."""
    engine: Any = figure.get_layout_engine()
    engine.set(w_pad=0.09, h_pad=0.06)


def curves(axes: Axes, lines: Sequence[Line], scale: Scale, neighbours: int = 1) -> None:
    """Means over seeds with their 95% bands against thousands of steps. So many `neighbours` are
    averaged, which is one evaluation (nothing is smoothed) unless the axis says otherwise."""
    for line in lines:
        steps = in_blocks(line.result.steps / 1_000, neighbours)
        returns = in_blocks(line.result.returns, neighbours)
        mean, low, high = mean_interval(returns)
        pale = 0.16 if line.style == "-" else 0.09
        if len(returns) > 1:
            axes.fill_between(steps, low, high, color=line.colour, alpha=pale, linewidth=0)
        thick = 1.6 if line.style == "-" else 1.9
        axes.plot(steps, mean, line.style, color=line.colour, linewidth=thick)
    if neighbours == 1:  # problems that are evaluated often have no warm-up
        axes.axvline(scale.warmup / 1_000, color=PALE, linewidth=1, zorder=0)
    if not lines:
        axes.text(0.5, 0.5, "not run", transform=axes.transAxes, ha="center", color=GREY)
    axes.set_xlim(0, max((line.result.steps[-1] / 1_000 for line in lines), default=1))
    tidy(axes)


def in_blocks(x: np.ndarray, size: int) -> np.ndarray:
    """Means of blocks of neighbours along the last axis; a rest at the end is its own block."""
    starts = np.arange(0, x.shape[-1], size)
    counts = np.minimum(size, x.shape[-1] - starts)
    return np.add.reduceat(np.asarray(x, np.float64), starts, axis=-1) / counts


def entries(lines: Iterable[Line]) -> list[Any]:
    """One entry of a legend for each name, with how many seeds diverged in all of its lines."""
    from matplotlib.lines import Line2D

    named: dict[str, list[Line]] = {}
    for line in lines:
        named.setdefault(line.name, []).append(line)
    found = []
    for name, same in named.items():
        diverged = sum(int(line.result.diverged.sum()) for line in same)
        label = f"{name} ({diverged} diverged)" if diverged else name
        found.append(
            Line2D([], [], color=same[0].colour, linestyle=same[0].style, linewidth=2, label=label)
        )
    return found


def legend(
    figure: Figure,
    lines: Sequence[Line],
    title: str = "",
    warmup: bool = True,
    beside: bool = False,
) -> None:
    """One legend above all panels, or above those at the right, headed by what holds for all."""
    found = entries(lines)
    seeds = sorted({len(line.result.returns) for line in lines})
    many = " to ".join(dict.fromkeys(f"{count:,}" for count in seeds[:1] + seeds[-1:]))
    heading = f"{title}mean of {many} seeds and 95% band"
    if warmup:
        heading += "; grey line: end of warm-up"
    figure.legend(
        handles=found,
        loc="outside upper right" if beside else "outside upper center",
        ncols=5 if sum(len(str(each.get_label())) for each in found) < MOST_LETTERS else 3,
        frameon=False,
        title=heading,
        title_fontproperties={"size": 11},
        handlelength=2.4,
        columnspacing=1.6,
    )


def marked(figure: Figure, scale: Scale, steps: int | None = None) -> Figure:
    """The same picture, with a note if it is not at the paper's scale."""
    if scale.name != "full":
        shown = scale.steps if steps is None else steps
        note = f"{scale.name} scale: {scale.seeds} seeds, {shown} steps"
        figure.supxlabel(note, x=0.995, ha="right", color=GREY, size=10, style="italic")
    return figure


def for_each_rate(
    name: str,
    results: dict[str, Result],
    scale: Scale,
    picture: Callable[[dict[str, Result], str, Scale], Figure],
) -> dict[str, Figure]:
    """A picture for each learning rate that there is something of."""
    pictures = {}
    for rate in scale.rates:
        end = f"/{rate}"
        some = {label.removesuffix(end): r for label, r in results.items() if label.endswith(end)}
        if some:
            pictures[f"{name}-{rate}"] = picture(some, rate, scale)
    return pictures


def outlined_grid_world(axes: Axes, colour: str, filled: bool = False) -> None:
    """The wall and the goal as outlines, so that what lies below them can be seen."""
    (left, right), (bottom, top), goal = grid_world.WALL, grid_world.HOLE, grid_world.GOAL
    boxes = ((left, right, 0.0, bottom), (left, right, top, 1.0), (goal, 1.0, goal, 1.0))
    for x0, x1, y0, y1 in boxes:
        face = PALE if filled and x0 == left else "none"
        corners = ([x0, x1, x1, x0], [y0, y0, y1, y1])
        axes.fill(*corners, facecolor=face, edgecolor=colour, linewidth=0.9, zorder=1.5)
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
