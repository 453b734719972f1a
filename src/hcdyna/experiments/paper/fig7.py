"""Figure 7: hill climbing against the Gibbs distribution, on estimated values."""

from __future__ import annotations

from hcdyna.experiments.cells import Cell
from hcdyna.experiments.paper.scale import Scale
from hcdyna.experiments.paper.tabular import study

TITLE = "TabularGridWorld: hill climbing, Gibbs and the baselines"
STRATEGIES = ("HC-Dyna", "Gibbs", "OnPolicy-Dyna", "ER", "Uniform-Dyna")
COMPARED = ("HC-Dyna", "Gibbs")


def cells(scale: Scale) -> dict[str, Cell]:
    return study(scale, STRATEGIES)
