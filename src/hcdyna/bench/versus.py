"""Ours and a peer in turn, since machines are noisy: the ratio of each round counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hcdyna.bench.cases import Case
from hcdyna.bench.ours import Ours
from hcdyna.bench.peers import LOOP, SBX, STABLE_BASELINES, Peer

HC_DYNA = (Case("hill_climbing", n=10, agents=30), Case("hill_climbing", n=10, agents=1))
DQN = (Case("replay", n=1, agents=30), Case("replay", n=1, agents=1))
GROUPS: dict[Peer, tuple[Case, ...]] = {LOOP: HC_DYNA, STABLE_BASELINES: DQN, SBX: DQN}
"""What is measured beside each peer: the same updates on the same network."""


@dataclass(frozen=True)
class Turns:
    """Environment steps per second, round by round."""

    ours: np.ndarray
    theirs: np.ndarray

    @property
    def ratios(self) -> np.ndarray:
        """Ours over theirs."""
        return self.ours / self.theirs

    def text(self) -> str:
        """Median and range of the ratios."""
        low, median, high = np.quantile(self.ratios, (0, 0.5, 1))
        return f"{number(median)} [{number(low)}, {number(high)}]"

    def record(self) -> dict[str, Any]:
        """For a JSON file."""
        return {
            "rates": self.ours.tolist(),
            "theirs": self.theirs.tolist(),
            "ratios": self.ratios.tolist(),
            "ratio": self.text(),
        }


def number(x: float) -> str:
    """Two digits where there are no more before the point."""
    return f"{x:,.0f}" if x >= 10 else f"{x:.1f}"


def take_turns(
    every_ours: Sequence[Ours], peer: Peer, rounds: int, seconds: float, steps: int | None = None
) -> list[Turns]:
    """Each of ours and then the peer, for some rounds; the peer takes `steps`, or its usual."""
    ours: list[list[float]] = []
    theirs: list[float] = []
    for _ in range(rounds):
        ours.append([program.measure_for(seconds) for program in every_ours])
        theirs.append(peer.speed(steps or peer.steps))
    return [Turns(np.array(rates), np.array(theirs)) for rates in zip(*ours, strict=True)]
