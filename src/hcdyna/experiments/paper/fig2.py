"""Figure 2: the queue on MountainCar after 8000 steps, with and without the natural gradient."""

from typing import Any

import numpy as np

from hcdyna import HillClimbing
from hcdyna.environments import mountain_car
from hcdyna.experiments.cells import Cell, Result
from hcdyna.experiments.paper import drawing
from hcdyna.experiments.paper.drawing import Axes, Figure
from hcdyna.experiments.paper.scale import Scale, settings

TITLE = "The natural gradient keeps variables of different scales in their range"
STEP = 8_000
KINDS: dict[str, dict[str, Any]] = {
    "natural": {},
    "regular": {"natural_gradient": False, "noise_covariance": "visited"},
    "regular, noise ηI": {"natural_gradient": False},
    "noise ηI alone": {"natural_gradient": False, "step_size": 0.0},
}
"""Drift and noise: the two that the paper compares, with the same noise, N(0, ηΣ̂); and what the
natural gradient would be compared with if its covariance were left out of the noise too."""
ROWS = (("natural", "regular"), ("natural", "regular, noise ηI", "noise ηI alone"))
LOOKS = {
    "natural": ("+", "black", 3),
    "regular": ("o", "#5b8c2a", 2),
    "regular, noise ηI": ("o", "#8a5fbf", 2),
    "noise ηI alone": (".", "#e69f00", 1),
}
"""Marker, colour, and what lies above what."""


def step(scale: Scale) -> int:
    """When to look."""
    return STEP if scale.name == "full" else scale.warmup + 2_000


def cells(scale: Scale) -> dict[str, Cell]:
    found = {}
    for rate in scale.rates:
        for kind, options in KINDS.items():
            strategy = HillClimbing(**options)
            run = settings(
                scale, "MountainCar", "HC-Dyna", rate, steps=step(scale), search_control=strategy
            )
            found[f"{kind}/{rate}"] = Cell(run, scale.seeds, "queue_at_edges", (step(scale),))
    return found


def draw(results: dict[str, Result], scale: Scale) -> dict[str, Figure]:
    """One picture with a column for each learning rate: above the same noise for both gradients,
    below another."""
    if not results:
        return {}
    count = len(scale.rates)
    figure, panels = drawing.new_figure(2, count, (5.4 * count, 9.4), sharey=True)
    for row, kinds in zip(panels, ROWS, strict=True):
        for axes, rate in zip(row, scale.rates, strict=True):
            for kind in kinds:
                if (label := f"{kind}/{rate}") in results:
                    draw_queue(axes, results[label], kind, scale)
            draw_box(axes)
            title = f"learning rate {rate}, after {step(scale):,} steps, seed 0"
            axes.set_title(title, size="medium")
            place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.13)}
            axes.legend(**place, frameon=False, markerscale=2)
        row[0].set_ylabel("velocity")
    return {"fig2": drawing.marked(figure, scale, step(scale))}


def draw_queue(axes: Axes, result: Result, kind: str, scale: Scale) -> None:
    """The queue of seed 0; what share is at the limits of velocity is the mean over seeds."""
    states = result.seen[f"queue_{step(scale)}"][0].astype(float)
    limit = float(np.mean(result.seen[f"at_limit_{step(scale)}"]))
    marker, colour, above = LOOKS[kind]
    axes.plot(
        *states.T,
        marker,
        color=colour,
        markersize=4,
        markeredgewidth=0.7,
        markerfacecolor="none",
        alpha=0.7,
        zorder=above,
        label=f"{kind}: {limit:.0%} at a limit of velocity (mean of seeds)",
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
