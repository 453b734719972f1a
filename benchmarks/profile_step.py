"""Where does the time of a step go? Parts of it are left out, and what is saved was their cost.

    python benchmarks/profile_step.py --agents 30

All variants take turns, round by round, and the median of the rounds counts, since machines are
noisy. Costs are per environment step of one agent, with all cores at work.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from hcdyna import HillClimbing, Settings, Training
from hcdyna.bench.ours import WARMUP, Ours

K, N = 100, 10
Kernels = Literal["auto", "on", "off"]


@dataclass(frozen=True)
class Options:
    """What to measure."""

    agents: int = 30
    """How many agents train together."""
    rounds: int = 5
    """Rounds of all variants in turn."""
    seconds: float = 2.0
    """Roughly how long each variant runs in a round."""
    kernels: Kernels = "off"
    """Whether to use the fused kernels."""


VARIANTS: dict[str, tuple[int, int, float]] = {
    "acting, replay, statistics": (0, 0, 0.5),
    "with the climb": (K, 0, 0.5),
    "with planning from replay alone": (0, N, 0.0),
    "everything": (K, N, 0.5),
}
"""Climb steps k, planning updates n, mixing rate ρ."""


def variant(k: int, n: int, rho: float, kernels: Kernels) -> Settings:
    """HC-Dyna on GridWorld; queues of many agents must fit, so they are smaller than usual."""
    training = Training(planning_steps=n, mixing_rate=rho, warmup=WARMUP, kernels=kernels)
    return Settings(search_control=HillClimbing(steps=k, queue_size=100_000), training=training)


def main(options: Options) -> None:
    timed = {
        name: Ours(variant(*numbers, options.kernels), options.agents)
        for name, numbers in VARIANTS.items()
    }
    cost: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for _ in range(options.rounds):
        for name, ours in timed.items():
            cost[name].append(1e6 / ours.measure_for(options.seconds))
    median = {name: float(np.median(rounds)) for name, rounds in cost.items()}
    base, climbing, replaying, whole = median.values()
    parts = {
        "acting, replay, statistics": base,
        f"the climb, k = {K}": climbing - base,
        f"{N} updates from replay": replaying - base,
        "what half of each batch from the queue adds": whole - climbing - replaying + base,
        "everything": whole,
    }
    table = Table(title=f"GridWorld, HC-Dyna, n = {N}, {options.agents} agents: cost of a step")
    for heading in ("part", "µs per agent", "share"):
        table.add_column(heading, justify="left" if heading == "part" else "right")
    for name, microseconds in parts.items():
        table.add_row(name, f"{microseconds:.3g}", f"{100 * microseconds / whole:.0f}%")
    Console(width=100).print(table)


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
