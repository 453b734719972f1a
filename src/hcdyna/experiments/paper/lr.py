"""The paper's procedure for the learning rate: DQN with n = 5, the best of three."""

from __future__ import annotations

from hcdyna.experiments.cells import Cell
from hcdyna.experiments.paper.fig4 import DOMAINS
from hcdyna.experiments.paper.scale import Scale, settings

TITLE = "The learning rate that the paper's own procedure picks"
RATES = ("1e-3", "1e-4", "1e-5")


def cells(scale: Scale) -> dict[str, Cell]:
    return {
        f"{domain}/{rate}": Cell(
            settings(scale, domain, "DQN", rate, planning_steps=5), scale.seeds
        )
        for domain in DOMAINS
        for rate in RATES
    }
