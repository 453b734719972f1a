"""Figure 5: where replay and queue hold their states on GridWorld, for DQN and HC-Dyna."""

from typing import Any

from hcdyna.experiments.cells import Cell, Result
from hcdyna.experiments.paper import drawing
from hcdyna.experiments.paper.drawing import Axes, Figure
from hcdyna.experiments.paper.scale import Scale, settings
from hcdyna.experiments.probes import REGIONS
from hcdyna.statistics.summaries import mean_interval

TITLE = "Replay and queue states on GridWorld, 2000 of each"
STEPS = (10_000, 20_000)
"""The paper does not say when: early, while replay is still to the left of the wall, and later."""
CORNER = 0.7
"""The high-value region is the square from here to (1, 1); the paper does not define it."""
KINDS = {"replay": (".", "#e02b20", 2.5), "queue": ("+", "black", 5.0)}
"""Marker, colour and size, the first two as in the paper."""
SHARES = (
    ("HC-Dyna", "queue", "black", "-+"),
    ("HC-Dyna", "replay", "#e02b20", "-o"),
    ("DQN", "replay", "#e69f00", "--o"),
)
PAPER = (27.8, 0.2)
"""Percentages of queue and replay in its high-value region, from the caption."""


def looks(scale: Scale) -> tuple[int, ...]:
    """When to look."""
    return STEPS if scale.name == "full" else (scale.warmup + 2_000, scale.steps)


def cells(scale: Scale) -> dict[str, Cell]:
    found = {}
    for rate in scale.rates:
        for algorithm in ("DQN", "HC-Dyna"):
            run = settings(scale, "GridWorld", algorithm, rate, steps=looks(scale)[-1])
            found[f"{algorithm}/{rate}"] = Cell(run, scale.seeds, "replay_and_queue", looks(scale))
    return found


def draw(results: dict[str, Result], scale: Scale) -> dict[str, Figure]:
    """One picture for each learning rate, with a row for each look."""
    return drawing.for_each_rate("fig5", results, scale, picture)


def picture(results: dict[str, Result], rate: str, scale: Scale) -> Figure:
    """States of DQN, states of HC-Dyna, and shares in regions of all sizes."""
    rows = len(looks(scale))
    figure, panels = drawing.new_figure(rows, 3, (12.5, 4.4 * rows + 0.5), width_ratios=(1, 1, 1.1))
    for row, step in zip(panels, looks(scale), strict=True):
        for axes, algorithm in zip(row, ("DQN", "HC-Dyna"), strict=False):
            draw_states(axes, results.get(algorithm), algorithm, step)
        draw_shares(row[2], results, step)
    figure.suptitle(
        f"learning rate {rate}: replay (red ·) and queue (black +) of seed 0. The paper does not "
        f"define its high-value region;\nhere it is the square from ({CORNER}, {CORNER}) to "
        "(1, 1), in green, and shares in it are means over seeds",
        size=11,
    )
    return drawing.marked(figure, scale)


def draw_states(axes: Axes, result: Result | None, algorithm: str, step: int) -> None:
    """Replay and queue of seed 0, with their mean shares in the region as title."""
    drawing.outlined_grid_world(axes, drawing.GREY, filled=True)
    axes.fill_between([CORNER, 1], CORNER, 1, color="#2c8c5a", alpha=0.22, linewidth=0, zorder=1)
    axes.set(xlabel="x", ylabel="y")
    inside = []
    for kind, (marker, colour, size) in KINDS.items():
        if result is None or f"{kind}_{step}" not in result.seen:
            continue
        states = result.seen[f"{kind}_{step}"][0].astype(float)
        style: dict[str, Any] = {
            "markersize": size,
            "markeredgewidth": 0.6,
            "clip_on": False,
            "zorder": 3,
        }
        axes.plot(*states.T, marker, color=colour, **style)
        share = result.seen[f"{kind}_share_{step}"][:, REGIONS.index(CORNER)].mean()
        inside.append(f"{share:.1%} of the {kind}")
    title = f"{algorithm}, after {step:,} steps"
    axes.set_title(f"{title}\n{', '.join(inside)}", size="medium")


def draw_shares(axes: Axes, results: dict[str, Result], step: int) -> None:
    """How much of replay and queue is in the region, for every size of it."""
    for algorithm, kind, colour, style in SHARES:
        result = results.get(algorithm)
        if result is None or f"{kind}_share_{step}" not in result.seen:
            continue
        mean, low, high = mean_interval(100 * result.seen[f"{kind}_share_{step}"])
        axes.plot(REGIONS, mean, style, color=colour, label=f"{kind} of {algorithm}")
        if len(result.returns) > 1:
            axes.fill_between(REGIONS, low, high, color=colour, alpha=0.16, linewidth=0)
    queue, replay = PAPER
    axes.axhline(queue, color=drawing.GREY, linewidth=1, linestyle=":")
    told = f"paper: {queue}% of the queue,\n{replay}% of the replay of HC-Dyna"
    axes.axhline(replay, color=drawing.GREY, linewidth=1, linestyle=":", label=told)
    axes.axvline(CORNER, color="#2c8c5a", alpha=0.35, linewidth=3, zorder=0, ymax=100 / 135)
    axes.set(xlabel="c, where the region is [c, 1]²", ylabel="share in the region (%)")
    axes.set(ylim=(0, 135), yticks=range(0, 101, 20))  # above 100 there is room for the legend
    drawing.tidy(axes)
    axes.legend(frameon=False, loc="upper right", ncols=2, fontsize="small")
