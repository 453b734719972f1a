"""Figure 1: GridWorld, gradient ascents on the values of DQN, and recovery from negated values."""

from __future__ import annotations

from hcdyna.experiments.cells import Cell
from hcdyna.experiments.paper.scale import Scale, settings

TITLE = "A motivating example: climbs on the value surface, and recovery from a wrong one"
UPDATES = (0, 14_000, 20_000)
"""Mini-batch updates after which the surface is shown; with n = 1 there is one a step."""
FLIP = 25_000
"""The step at which the output layer changes its sign: 20,000 learning steps after warm-up."""
ALGORITHMS = ("DQN", "OnPolicy-Dyna", "HC-Dyna")


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
            flip = scale.step(FLIP)
            found[f"recovery/{algorithm}/{rate}"] = Cell(
                run, scale.seeds, change="negate_output", change_step=flip
            )
    return found
