"""Beyond the paper: which of the choices in HC-Dyna carry the gain?"""

from __future__ import annotations

from typing import Any

from hcdyna import HillClimbing, presets
from hcdyna.experiments.cells import Cell
from hcdyna.experiments.paper.scale import PICKED, Scale, changed, settings

TITLE = "What in HC-Dyna carries the gain? One choice changed at a time, n = 10"
DOMAINS = ("GridWorld", "MountainCar")
VARIANTS: dict[str, dict[str, Any]] = {
    "as in the paper": {},
    "k = 10": {"steps": 10},
    "k = 30": {"steps": 30},
    "k = 300": {"steps": 300},
    "η = 0": {"eta": 0.0},
    "η = 0.01": {"eta": 0.01},
    "η = 1": {"eta": 1.0},
    "ε_a plain average": {"threshold": "average"},
    "at most 20 accepted": {"max_accepted": 20},
    "queue of 10,000": {"queue_size": 10_000},
    "queue of 100,000": {"queue_size": 100_000},
    "regular gradient": {"natural_gradient": False},
    "no terminal states": {"skip_terminal": True},
}


def cells(scale: Scale) -> dict[str, Cell]:
    found = {}
    for domain in DOMAINS:
        for name, options in VARIANTS.items():
            strategy = HillClimbing(**options)
            run = settings(scale, domain, "HC-Dyna", PICKED, search_control=strategy)
            found[f"{domain}/{name}"] = Cell(run, scale.seeds)
        for algorithm in ("DQN", "OnPolicy-Dyna"):
            run = settings(scale, domain, algorithm, PICKED)
            found[f"{domain}/{algorithm}"] = Cell(run, scale.seeds)
        run = changed(
            presets.settings("authors", domain),
            agent={"learning_rate": float(PICKED)},
            training={"steps": scale.steps, "warmup": scale.warmup},
        )
        found[f"{domain}/authors' preset"] = Cell(run, scale.seeds)
    return found
