"""How fast is it? Environment steps per second, as ratios to peers measured in the same run.

    python benchmarks/speed.py --rounds 3        # the peers: pip install torch stable-baselines3

With the paper's replay buffer and queue, and with the least ratio that we want; `hcdyna bench`
measures much more. Machines are noisy, so ours (with kernels and plain) and the peer take turns,
round by round, and the ratio of each round counts. Peers are a plain PyTorch loop of HC-Dyna and
Stable-Baselines3's DQN.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from hcdyna import DQN, Settings, Training
from hcdyna.bench.ours import WARMUP, Ours
from hcdyna.bench.peers import LOOP, STABLE_BASELINES, Peer
from hcdyna.bench.versus import Turns, take_turns


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
    Case("HC-Dyna, n = 10, 30 agents", gridworld("hill_climbing", 10), 30, LOOP, 600),
    Case("HC-Dyna, n = 10, 1 agent", gridworld("hill_climbing", 10), 1, LOOP, 400),
    Case("DQN, n = 1, 30 agents", gridworld("replay", 1), 30, STABLE_BASELINES, 130),
    Case("DQN, n = 1, 1 agent", gridworld("replay", 1), 1, STABLE_BASELINES, 60),
]


def main(options: Options) -> None:
    console = Console(width=110)
    table = Table(title="Environment steps per second (medians), and ratios of rounds [range]")
    for heading in ("ours", "steps/s", "plain", "fused/plain", "peer", "steps/s", "ratio", "bar"):
        table.add_column(heading, justify="left" if heading in ("ours", "peer") else "right")
    for case in CASES:
        missing = case.peer.missing()
        if missing is not None:
            print(f"{case.name}: no {case.peer.name} to compare with ({missing})", flush=True)
            continue
        plain = replace(case.settings, training=replace(case.settings.training, kernels="off"))
        both = [Ours(each, case.agents) for each in (case.settings, plain)]
        turns, slow = take_turns(both, case.peer, options.rounds, options.seconds)
        beside = Turns(turns.ours, slow.ours).text()
        table.add_row(
            case.name,
            f"{np.median(turns.ours):,.0f}",
            f"{np.median(slow.ours):,.0f}",
            beside,
            case.peer.name,
            f"{np.median(turns.theirs):,.1f}",
            turns.text(),
            f"{case.bar:.0f}",
        )
        compiled = [f"{ours.compile_seconds:.1f} s" for ours in both]
        print(
            f"{case.name}: {turns.text()} times the {case.peer.name}, {beside} times the plain "
            f"program; compiled in {compiled[0]}, plain in {compiled[1]}",
            flush=True,
        )
    console.print(table)


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
