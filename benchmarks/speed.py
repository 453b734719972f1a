"""How fast is it? Environment steps per second, as ratios to peers measured in the same run.

    python benchmarks/speed.py --rounds 3        # the peers: pip install torch stable-baselines3

With the paper's replay buffer and queue, and with the least ratio that we want; `hcdyna bench`
measures much more. Machines are noisy, so ours and the peer take turns, round by round, and the
ratio of each round counts. Peers are a plain PyTorch loop of HC-Dyna and Stable-Baselines3's DQN.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from hcdyna import DQN, Settings, Training
from hcdyna.bench.ours import WARMUP, Ours
from hcdyna.bench.peers import LOOP, STABLE_BASELINES, Peer
from hcdyna.bench.versus import take_turns


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
    peer: Peer
    bar: float


def gridworld(strategy: str, planning_steps: int) -> Settings:
    """GridWorld with the paper's numbers, at the learning rate of the peers."""
    return Settings(
        agent=DQN(learning_rate=1e-3),
        search_control=strategy,
        training=Training(planning_steps=planning_steps, warmup=WARMUP),
    )


CASES = [
    Case("HC-Dyna, n = 10, 30 agents", gridworld("hill_climbing", 10), 30, LOOP, 250),
    Case("HC-Dyna, n = 10, 1 agent", gridworld("hill_climbing", 10), 1, LOOP, 45),
    Case("DQN, n = 1, 30 agents", gridworld("replay", 1), 30, STABLE_BASELINES, 130),
]


def main(options: Options) -> None:
    console = Console(width=100)
    table = Table(title="Environment steps per second (medians), and ours over theirs")
    for heading in ("ours", "compiles in", "steps/s", "peer", "steps/s", "ratio [range]", "bar"):
        table.add_column(heading, justify="left" if heading in ("ours", "peer") else "right")
    for case in CASES:
        missing = case.peer.missing()
        if missing is not None:
            print(f"{case.name}: no {case.peer.name} to compare with ({missing})", flush=True)
            continue
        ours = Ours(case.settings, case.agents)
        (turns,) = take_turns([ours], case.peer, options.rounds, options.seconds)
        table.add_row(
            case.name,
            f"{ours.compile_seconds:.0f} s",
            f"{np.median(turns.ours):,.0f}",
            case.peer.name,
            f"{np.median(turns.theirs):,.1f}",
            turns.text(),
            f"{case.bar:.0f}",
        )
        print(f"{case.name}: {turns.text()} times the {case.peer.name}", flush=True)
    console.print(table)


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
