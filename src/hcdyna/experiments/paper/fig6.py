"""Figure 6: continuous actions: DDPG, and DDPG with OnPolicy-Dyna and HC-Dyna, n = 5."""

from __future__ import annotations

from hcdyna import Settings, Training
from hcdyna.experiments.cells import Cell
from hcdyna.experiments.paper.scale import Scale

TITLE = "HC-Dyna for continuous control with DDPG, n = 5"
ALGORITHMS = {
    "DDPG": "replay",
    "DDPG-OnPolicy-Dyna": "on_policy",
    "DDPG-HC-Dyna": "hill_climbing",
}


def cells(scale: Scale) -> dict[str, Cell]:
    training = Training(steps=scale.steps, warmup=scale.warmup, planning_steps=5)
    return {
        name: Cell(
            Settings(
                environment="GridWorldContinuous",
                agent="ddpg",
                search_control=strategy,
                training=training,
            ),
            scale.seeds,
        )
        for name, strategy in ALGORITHMS.items()
    }
