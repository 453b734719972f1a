"""One measurement: what it is of, and how it is made."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import jax
import numpy as np

from hcdyna.agents.dqn import DQN
from hcdyna.bench.counts import multiply_adds
from hcdyna.bench.ours import Ours
from hcdyna.numerics.memory import WORKSPACE, amount
from hcdyna.search_control.hill_climbing import HillClimbing
from hcdyna.settings import Settings, Training
from hcdyna.settings.words import count
from hcdyna.training import memory
from hcdyna.training.trainer import Trainer, kernels_used

REPLAY_SIZE, QUEUE_SIZE = 20_000, 100_000
"""Smaller than the paper's, so that 1,920 agents fit into the memory of most machines."""
WARMUP = 1_000


@dataclass(frozen=True)
class Case:
    """What one measurement is of."""

    strategy: str
    n: int
    """Planning updates a step."""
    agents: int
    k: int = 100
    """Climb steps a step, where the strategy climbs."""
    environment: str = "GridWorld"
    width: int = 32
    """Units of each of the two hidden layers."""
    kernels: Literal["auto", "off"] = "auto"
    """Fused kernels where they can be used, or the plain program."""

    def settings(self) -> Settings:
        """At the learning rate of the peers."""
        climbing = HillClimbing(steps=self.k, queue_size=QUEUE_SIZE)
        return Settings(
            environment=self.environment,
            agent=DQN(learning_rate=1e-3, hidden=(self.width, self.width)),
            search_control=climbing if self.strategy == "hill_climbing" else self.strategy,
            training=Training(
                planning_steps=self.n,
                warmup=WARMUP,
                replay_size=REPLAY_SIZE,
                kernels=self.kernels,
            ),
        )

    def __str__(self) -> str:
        agents = count(self.agents, "agent")
        climb = f"k = {self.k}, " if self.strategy == "hill_climbing" else ""
        return (
            f"{self.strategy}, {self.environment}, {climb}n = {self.n}, "
            f"width {self.width}, {agents}{', plain' * (self.kernels == 'off')}"
        )


@dataclass(frozen=True)
class Measurement:
    """What was measured, or why it was not."""

    case: Case
    multiply_adds: int
    """Of one environment step of one agent."""
    kernels: str
    """Whether the fused kernels ran, or why they didn't."""
    rates: tuple[float, ...] = ()
    """Environment steps per second of all agents together, round by round."""
    compile_seconds: float = 0.0
    peak_bytes: int = 0
    """Of the compiled program on all devices, by XLA's own count."""
    skipped: str | None = None

    @property
    def rate(self) -> float:
        """Median of the rounds; not a number if there are none."""
        return float(np.median(self.rates)) if self.rates else float("nan")

    def share(self, peak: float) -> float:
        """Multiply-adds a second over those of a large product of matrices."""
        return self.rate * self.multiply_adds / peak

    def record(self, peak: float) -> dict[str, Any]:
        """For a JSON file."""
        found = asdict(self.case) | {"multiply_adds": self.multiply_adds, "kernels": self.kernels}
        if self.skipped is not None:
            return found | {"skipped": self.skipped}
        return found | {
            "steps_per_second": self.rate,
            "rates": list(self.rates),
            "compile_seconds": self.compile_seconds,
            "peak_bytes": self.peak_bytes,
            "share_of_peak": self.share(peak),
        }


def prepare(case: Case) -> Ours | str:
    """The program of a case, ready to be timed, or why there is none."""
    settings = case.settings()
    reason = too_large(settings, case.agents)
    if reason is not None:
        return reason
    try:
        return Ours(settings, case.agents, WARMUP)
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        return "out of memory"


def result(case: Case, ours: Ours | str, rates: Sequence[float] = ()) -> Measurement:
    """What was measured with a program, or why there is none."""
    settings = case.settings()
    count, kernels = multiply_adds(settings), kernels_used(settings)
    if isinstance(ours, str):
        return Measurement(case, count, kernels, skipped=ours)
    return Measurement(case, count, kernels, tuple(rates), ours.compile_seconds, ours.peak_bytes)


def too_large(settings: Settings, agents: int) -> str | None:
    """Why so many agents do not fit into memory; None if they do."""
    shapes = Trainer([settings], list(range(agents))).shapes
    total, there = sum(memory.needed(shapes).values()) + WORKSPACE, memory.available()
    if there is None or total <= there:
        return None
    return f"needs {amount(total)}, and {amount(there)} are free"
