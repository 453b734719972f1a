"""Figure 1: GridWorld, gradient ascents on the values of DQN, and recovery from negated values."""

import numpy as np

from hcdyna.environments import grid_world
from hcdyna.experiments.cells import Cell, Result
from hcdyna.experiments.paper import drawing
from hcdyna.experiments.paper.drawing import Axes, Figure
from hcdyna.experiments.paper.scale import Scale, settings
from hcdyna.runs.snapshots import STARTS

TITLE = "A motivating example: climbs on the value surface, and recovery from a wrong one"
UPDATES = (0, 14_000, 20_000)
"""Mini-batch updates after which the surface is shown; with n = 1 there is one a step."""
FLIP = 25_000
"""The step at which the output layer changes its sign: 20,000 learning steps after warm-up."""
ALGORITHMS = ("DQN", "OnPolicy-Dyna", "HC-Dyna")
NEGATED = {"online": "negate_output", "both": "negate_both"}
"""Which networks change their sign. The paper speaks of one; the target network was copied just
before, so that with the online one alone a thousand updates still have right targets."""
HOW_TO_READ = (
    "(b–d) values of seed 0, light is high;\nred: ascents of 100 steps;\ncounts: means over seeds"
)


def surface_steps(scale: Scale) -> tuple[int, ...]:
    """When to look at the surface."""
    start, middle, end = (scale.step(5_000 + updates) for updates in UPDATES)
    if scale.name != "full":  # few steps: at least let the second look be before the last
        start, middle, end = scale.warmup, scale.steps - 1_000, scale.steps
    return start, middle, end


def cells(scale: Scale) -> dict[str, Cell]:
    looks = surface_steps(scale)
    found = {}
    for rate in scale.rates:
        run = settings(scale, "GridWorld", "DQN", rate, steps=looks[-1], planning_steps=1)
        found[f"surface/{rate}"] = Cell(run, scale.seeds, "value_surface", looks)
        for algorithm in ALGORITHMS:
            run = settings(scale, "GridWorld", algorithm, rate)
            for networks, change in NEGATED.items():
                found[f"recovery/{networks}/{algorithm}/{rate}"] = Cell(
                    run, scale.seeds, change=change, change_step=scale.step(FLIP)
                )
    return found


def draw(results: dict[str, Result], scale: Scale) -> dict[str, Figure]:
    """One picture: the world, then a row of surfaces and recoveries for each learning rate."""
    if not results:
        return {}
    from matplotlib.figure import Figure

    rows = len(scale.rates)
    figure = Figure(figsize=(19.5, 3.5 * rows + 0.6), layout="constrained")
    drawing.spaced(figure)
    grid = figure.add_gridspec(rows, 6, width_ratios=(1, 1, 1, 1, 1.3, 1.3))
    draw_world(figure.add_subplot(grid[:, 0]))
    every = []
    for row, rate in enumerate(scale.rates):
        panels = [figure.add_subplot(grid[row, column]) for column in range(1, 6)]
        draw_surfaces(panels[:3], results.get(f"surface/{rate}"), rate, scale)
        for axes, networks in zip(panels[3:], NEGATED, strict=True):
            every += draw_recovery(axes, results, networks, rate, scale)
    drawing.legend(figure, every, "(e): ", beside=True)
    return {"fig1": drawing.marked(figure, scale)}


def draw_world(axes: Axes) -> None:
    """The square with its wall, start and goal."""
    drawing.outlined_grid_world(axes, "#3a3a3a", filled=True)
    goal, start = grid_world.GOAL, grid_world.START
    axes.fill_between([goal, 1], goal, 1, color="#ffd24a")
    axes.fill_between([0, start], 0, start, color="#8ee08e")
    axes.text(goal - 0.02, 0.985, "goal", ha="right", va="top")
    axes.text(start + 0.02, 0.025, "start", va="center")
    axes.text(0.55, 0.75, "wall", ha="center", va="center", rotation=90)
    axes.text(0.55, 0.45, "hole", ha="center", va="center", size="small")
    axes.set_title("(a) GridWorld", size="medium")
    axes.set_xlabel(HOW_TO_READ, size="small")


def draw_surfaces(panels: list[Axes], result: Result | None, rate: str, scale: Scale) -> None:
    """The values of seed 0 at every look, with the ascents; below, how many of them arrive."""
    for axes, letter, step in zip(panels, "bcd", surface_steps(scale), strict=True):
        updates = (step - scale.warmup) / 1_000
        title = f"({letter}) after {updates:g}k updates" if updates else f"({letter}) before"
        if result is not None:
            reached = len(STARTS) * float(np.mean(result.seen[f"reached_{step}"]))
            title += f"\n{reached:.1f} of {len(STARTS)} reach the goal"
            draw_surface(axes, result, step)
        drawing.outlined_grid_world(axes, "white")
        axes.set_title(title, size="medium")
    panels[0].set_ylabel(f"learning rate {rate}", weight="bold")


def draw_surface(axes: Axes, result: Result, step: int) -> None:
    """The values of seed 0, and its ascents as lines that begin with a dot."""
    heights = result.seen[f"surface_{step}"][0].astype(float)
    axis = np.linspace(0, 1, len(heights))
    axes.pcolormesh(axis, axis, heights, shading="gouraud", rasterized=True)
    digits = ".1f" if abs(heights).max() >= 1 else ".0e"
    axes.set_xlabel(f"V̂ from {heights.min():{digits}} to {heights.max():{digits}}")
    for path in result.seen[f"paths_{step}"][0]:
        axes.plot(*path.T, color="#ff4d3d", linewidth=1.6, clip_on=False)
        axes.plot(*path[0], "o", color="#ff4d3d", markeredgecolor="white", clip_on=False)


def draw_recovery(
    axes: Axes, results: dict[str, Result], networks: str, rate: str, scale: Scale
) -> list[drawing.Line]:
    """Curves with the step at which all values change their sign."""
    lines = drawing.named_lines(results, f"recovery/{networks}/{{}}/{rate}", ALGORITHMS)
    drawing.curves(axes, lines, scale)
    flip = scale.step(FLIP) / 1_000
    axes.axvline(flip, color=drawing.GREY, linewidth=1, linestyle="--")
    axes.set(xlabel=drawing.STEPS, ylabel=drawing.REWARDS)
    which = "those of the target too" if networks == "both" else "online network alone"
    axes.set_title(f"(e) values negated at {flip:g}k steps,\n{which}", size="medium")
    return lines
