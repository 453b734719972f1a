"""Figure 7: hill climbing against the Gibbs distribution, on estimated values."""

from hcdyna.experiments.cells import Cell, Result
from hcdyna.experiments.paper.drawing import Figure
from hcdyna.experiments.paper.scale import Scale
from hcdyna.experiments.paper.tabular import picture, study

TITLE = "TabularGridWorld: hill climbing, Gibbs and the baselines"
STRATEGIES = ("HC-Dyna", "Gibbs", "OnPolicy-Dyna", "ER", "Uniform-Dyna")
COMPARED = ("HC-Dyna", "Gibbs")


def cells(scale: Scale) -> dict[str, Cell]:
    return study(scale, STRATEGIES)


def draw(results: dict[str, Result], scale: Scale) -> dict[str, Figure]:
    """Curves of all strategies, and the queues of two."""
    return {"fig7": picture(results, STRATEGIES, COMPARED, scale)} if results else {}
