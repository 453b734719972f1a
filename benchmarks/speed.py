"""How fast is it? Environment steps per second, as ratios to peers measured in the same run.

    make bench                                   # or: python benchmarks/speed.py --rounds 3

Machines are noisy, so ours and the peer take turns, round by round, and the ratio of each round
counts. Peers are a plain PyTorch loop of HC-Dyna and Stable-Baselines3's DQN (benchmarks/peers.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

import peers
from hcdyna import DQN, Settings, Training
from ours import WARMUP, Ours


@dataclass(frozen=True)
class Options:
    """How long to measure."""

    rounds: int = 5
    """Rounds of ours and theirs in turn."""
    seconds: float = 4.0
    """Roughly how long ours runs in each round."""


@dataclass(frozen=True)
class Case:
    """Something of ours, the peer it is compared with, and the least ratio we want."""

    name: str
    settings: Settings
    agents: int
    peer: str
    bar: float


def gridworld(strategy: str, planning_steps: int) -> Settings:
    """GridWorld with the paper's numbers, at the learning rate of the peers."""
    return Settings(
        agent=DQN(learning_rate=1e-3),
        search_control=strategy,
        training=Training(planning_steps=planning_steps, warmup=WARMUP),
    )


CASES = [
    Case("HC-Dyna, n = 10, 30 agents", gridworld("hill_climbing", 10), 30, "PyTorch loop", 250),
    Case("HC-Dyna, n = 10, 1 agent", gridworld("hill_climbing", 10), 1, "PyTorch loop", 45),
    Case("DQN, n = 1, 30 agents", gridworld("replay", 1), 30, "Stable-Baselines3 DQN", 130),
]
PEERS: dict[str, Callable[[], float]] = {
    "PyTorch loop": lambda: peers.torch_hcdyna(steps=80, warmup=1_000, planning_steps=10),
    "Stable-Baselines3 DQN": lambda: peers.sb3_dqn(steps=2_500, warmup=500),
}


def main(options: Options) -> None:
    console = Console(width=100)
    table = Table(title="Environment steps per second (medians), and ours over theirs")
    for heading in ("ours", "compiles in", "steps/s", "peer", "steps/s", "ratio [range]", "bar"):
        table.add_column(heading, justify="left" if heading in ("ours", "peer") else "right")
    for case in CASES:
        ours = Ours(case.settings, case.agents)
        rates, theirs = [], []
        for _ in range(options.rounds):
            rates.append(ours.measure_for(options.seconds))
            theirs.append(PEERS[case.peer]())
        ratios = np.array(rates) / np.array(theirs)
        table.add_row(
            case.name,
            f"{ours.compile_seconds:.0f} s",
            f"{np.median(rates):,.0f}",
            case.peer,
            f"{np.median(theirs):,.1f}",
            f"{np.median(ratios):.0f} [{ratios.min():.0f}, {ratios.max():.0f}]",
            f"{case.bar:.0f}",
        )
        print(f"{case.name}: {np.median(ratios):.0f} times the {case.peer}", flush=True)
    console.print(table)


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
