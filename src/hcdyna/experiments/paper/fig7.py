"""Figure 7: hill climbing against the Gibbs distribution, on estimated values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hcdyna.experiments.cells import Cell, Result
from hcdyna.experiments.paper.scale import Scale
from hcdyna.experiments.paper.tabular import picture, study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "TabularGridWorld: hill climbing, Gibbs and the baselines"
STRATEGIES = ("HC-Dyna", "Gibbs", "OnPolicy-Dyna", "ER", "Uniform-Dyna")
COMPARED = ("HC-Dyna", "Gibbs")


def cells(scale: Scale) -> dict[str, Cell]:
    return study(scale, STRATEGIES)


def draw(results: dict[str, Result], scale: Scale) -> dict[str, Figure]:
    """Curves of all strategies, and the queues of two."""
    return {"fig7": picture(results, STRATEGIES, COMPARED, scale)} if results else {}
