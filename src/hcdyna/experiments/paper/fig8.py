"""Figure 8: estimated against optimal values, for hill climbing and for Gibbs."""

from __future__ import annotations

from hcdyna.experiments.cells import Cell
from hcdyna.experiments.paper.scale import Scale
from hcdyna.experiments.paper.tabular import study

TITLE = "TabularGridWorld: estimated against optimal values"
STRATEGIES = ("HC-Dyna", "HC-Dyna-Vstar", "Gibbs", "Gibbs-Vstar")
COMPARED = ("HC-Dyna-Vstar", "Gibbs-Vstar")


def cells(scale: Scale) -> dict[str, Cell]:
    return study(scale, STRATEGIES)
