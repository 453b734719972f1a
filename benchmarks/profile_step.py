"""Where does the time of a step go? Parts of it are left out, and what is saved was their cost.

    python benchmarks/profile_step.py --agents 30

All variants take turns, round by round, and the median of the rounds counts, since machines are
noisy. Costs are per environment step of one agent, with all cores at work.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from hcdyna import HillClimbing, Settings, Training
from ours import WARMUP, Ours

K, N = 100, 10


@dataclass(frozen=True)
class Options:
    """What to measure."""

    agents: int = 30
    """How many agents train together."""
    rounds: int = 5
    """Rounds of all variants in turn."""
    seconds: float = 2.0
    """Roughly how long each variant runs in a round."""


def variant(k: int, n: int, rho: float = 0.5) -> Settings:
    """HC-Dyna on GridWorld with k climb steps, n planning updates and mixing rate ρ."""
    training = Training(planning_steps=n, mixing_rate=rho, warmup=WARMUP)
    return Settings(search_control=HillClimbing(steps=k), training=training)


VARIANTS = {
    "acting, replay, statistics": variant(0, 0),
    "with the climb": variant(K, 0),
    "with planning from replay alone": variant(0, N, rho=0.0),
    "everything": variant(K, N),
}


def main(options: Options) -> None:
    timed = {name: Ours(settings, options.agents) for name, settings in VARIANTS.items()}
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
        table.add_row(name, f"{microseconds:.0f}", f"{100 * microseconds / whole:.0f}%")
    Console(width=100).print(table)


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
