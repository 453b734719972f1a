"""Figure 2: the queue on MountainCar after 8000 steps, with and without the natural gradient."""

from __future__ import annotations

from hcdyna import HillClimbing
from hcdyna.experiments.cells import Cell
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
