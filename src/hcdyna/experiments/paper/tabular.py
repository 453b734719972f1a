"""The tabular study, from which figures 7 and 8 are drawn."""

from __future__ import annotations

from typing import Any

from hcdyna import Gibbs, OnPolicy, Replay, TabularHillClimbing, Uniform
from hcdyna.experiments.cells import Cell
from hcdyna.experiments.paper.scale import Scale, tabular_settings

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


def study(scale: Scale, strategies: tuple[str, ...]) -> dict[str, Cell]:
    """Each strategy at all learning rates; its best one counts."""
    found = {}
    for name in strategies:
        for rate in scale.tabular_rates:
            run = tabular_settings(scale, STRATEGIES[name], rate)
            look = ("tabular_queue", (scale.tabular_steps,)) if name in QUEUED else (None, ())
            found[f"{name}/{rate}"] = Cell(run, scale.seeds, *look)
    return found
