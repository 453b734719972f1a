"""Figure 3: the mixing rate ρ, on GridWorld with DQN and on TabularGridWorld."""

from __future__ import annotations

from hcdyna import TabularHillClimbing
from hcdyna.experiments.cells import Cell
from hcdyna.experiments.paper.scale import Scale, settings, tabular_settings

TITLE = "The effect of the mixing rate ρ"
RHOS = (0.0, 0.25, 0.5, 0.75, 1.0)
TABULAR_RATES = (1.0, 0.70711, 0.5, 0.25)
"""Half of the appendix's eight: each ρ takes the best of them."""


def cells(scale: Scale) -> dict[str, Cell]:
    found = {}
    for rho in RHOS:
        for rate in scale.rates:
            run = settings(scale, "GridWorld", "HC-Dyna", rate, mixing_rate=rho)
            found[f"GridWorld/{rho}/{rate}"] = Cell(run, scale.seeds)
        for rate in TABULAR_RATES if scale.name == "full" else scale.tabular_rates:
            run = tabular_settings(scale, TabularHillClimbing(), rate, rho)
            found[f"TabularGridWorld/{rho}/{rate}"] = Cell(run, scale.seeds)
    return found
