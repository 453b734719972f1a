"""Figure 8: estimated against optimal values, for hill climbing and for Gibbs."""

from hcdyna.experiments.cells import Cell, Result
from hcdyna.experiments.paper.drawing import Figure
from hcdyna.experiments.paper.scale import Scale
from hcdyna.experiments.paper.tabular import picture, study

TITLE = "TabularGridWorld: estimated against optimal values"
STRATEGIES = ("HC-Dyna", "HC-Dyna-Vstar", "Gibbs", "Gibbs-Vstar")
COMPARED = ("HC-Dyna-Vstar", "Gibbs-Vstar")


def cells(scale: Scale) -> dict[str, Cell]:
    return study(scale, STRATEGIES)


def draw(results: dict[str, Result], scale: Scale) -> dict[str, Figure]:
    """Curves of all strategies, and the queues of two."""
    return {"fig8": picture(results, STRATEGIES, COMPARED, scale)} if results else {}
