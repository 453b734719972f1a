"""Figure 4: four domains, three numbers of planning steps, five pairs of algorithm and model."""

from __future__ import annotations

from hcdyna.experiments.cells import Cell
from hcdyna.experiments.paper.scale import ALGORITHMS, Scale, settings

TITLE = "Evaluation curves on four domains; learned models dotted"
DOMAINS = ("GridWorld", "MountainCar", "CartPole", "Acrobot")
PLANNING_STEPS = (1, 10, 30)


def cells(scale: Scale) -> dict[str, Cell]:
    return {
        f"{domain}/{n}/{algorithm}/{rate}": Cell(
            settings(scale, domain, algorithm, rate, planning_steps=n), scale.seeds
        )
        for domain in DOMAINS
        for algorithm in ALGORITHMS
        for n in PLANNING_STEPS
        for rate in scale.rates
    }
