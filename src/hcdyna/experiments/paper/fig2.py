"""Figure 2: the queue on MountainCar after 8000 steps, with and without the natural gradient."""

import numpy as np

from hcdyna import HillClimbing
from hcdyna.environments import mountain_car
from hcdyna.experiments.cells import Cell, Result
from hcdyna.experiments.paper import drawing
from hcdyna.experiments.paper.drawing import Axes, Figure
from hcdyna.experiments.paper.scale import Scale, settings

TITLE = "The natural gradient keeps variables of different scales in their range"
STEP = 8_000
KINDS = {"natural": True, "regular": False}


def step(scale: Scale) -> int:
    """When to look."""
    return STEP if scale.name == "full" else scale.warmup + 2_000


def cells(scale: Scale) -> dict[str, Cell]:
    found = {}
    for rate in scale.rates:
        for kind, natural in KINDS.items():
            strategy = HillClimbing(natural_gradient=natural)
            run = settings(
                scale, "MountainCar", "HC-Dyna", rate, steps=step(scale), search_control=strategy
            )
            found[f"{kind}/{rate}"] = Cell(run, scale.seeds, "queue_at_edges", (step(scale),))
    return found


def draw(results: dict[str, Result], scale: Scale) -> dict[str, Figure]:
    """One picture with a panel for each learning rate."""
    if not results:
        return {}
    count = len(scale.rates)
    figure, panels = drawing.new_figure(1, count, (5.4 * count, 4.6), sharey=True)
    for axes, rate in zip(panels[0], scale.rates, strict=True):
        for kind in KINDS:
            if (label := f"{kind}/{rate}") in results:
                draw_queue(axes, results[label], kind, scale)
        draw_box(axes)
        axes.set_title(f"learning rate {rate}, after {step(scale):,} steps, seed 0", size="medium")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), frameon=False, markerscale=2)
    panels[0][0].set_ylabel("velocity")
    return {"fig2": drawing.marked(figure, scale, step(scale))}


def draw_queue(axes: Axes, result: Result, kind: str, scale: Scale) -> None:
    """The queue of seed 0; what share is at the limits of velocity is the mean over seeds."""
    states = result.seen[f"queue_{step(scale)}"][0].astype(float)
    limit = float(np.mean(result.seen[f"at_limit_{step(scale)}"]))
    axes.plot(
        *states.T,
        {"natural": "+", "regular": "o"}[kind],
        color={"natural": "black", "regular": "#5b8c2a"}[kind],
        markersize=4,
        markeredgewidth=0.7,
        markerfacecolor="none",
        alpha=0.7,
        zorder={"natural": 3, "regular": 2}[kind],
        label=f"{kind} gradient: {limit:.0%} at a limit of velocity (mean of seeds)",
    )


def draw_box(axes: Axes) -> None:
    """The box of possible states, with the goal shaded."""
    (left, bottom), (right, top) = mountain_car.LOW, mountain_car.HIGH
    corners = ([left, right, right, left], [bottom, bottom, top, top])
    axes.fill(*corners, facecolor="none", edgecolor=drawing.GREY, linewidth=1)
    axes.axvspan(mountain_car.GOAL_POSITION, right, color="#ffd24a", alpha=0.35, zorder=0)
    axes.text(0.55, 0.073, "goal", ha="center", va="bottom")
    axes.set(xlabel="position", xlim=(left - 0.06, right + 0.06), ylim=(-0.075, 0.08))
    drawing.tidy(axes)
