"""Figure 5: where replay and queue hold their states on GridWorld, for DQN and HC-Dyna."""

from __future__ import annotations

from hcdyna.experiments.cells import Cell
from hcdyna.experiments.paper.scale import Scale, settings

TITLE = "Replay and queue states on GridWorld, 2000 of each"
STEPS = (10_000, 20_000)
"""The paper does not say when: early, while replay is still to the left of the wall, and later."""


def looks(scale: Scale) -> tuple[int, ...]:
    """When to look."""
    return STEPS if scale.name == "full" else (scale.warmup + 2_000, scale.steps)


def cells(scale: Scale) -> dict[str, Cell]:
    found = {}
    for rate in scale.rates:
        for algorithm in ("DQN", "HC-Dyna"):
            run = settings(scale, "GridWorld", algorithm, rate, steps=looks(scale)[-1])
            found[f"{algorithm}/{rate}"] = Cell(
                run, scale.seeds, "replay_and_queue", looks(scale)
            )
    return found
