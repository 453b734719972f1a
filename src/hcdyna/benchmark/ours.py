"""A compiled program of ours, warmed up and ready to be timed; for the other benchmarks."""

from __future__ import annotations

import time

import jax
import numpy as np

from hcdyna import Settings
from hcdyna.training import compiled
from hcdyna.training.devices import mesh_for

WARMUP = 5_000


class Ours:
    """A compiled program that has warmed up, ready to be timed."""

    def __init__(self, settings: Settings, agents: int) -> None:
        self.agents = agents
        mesh = mesh_for(agents)
        static, table = compiled.shared_program([settings])
        self.programs = compiled.compile_programs(static, mesh)
        numbers = {path: np.full(agents, value, np.float32) for path, (value,) in table.items()}
        seeds = np.arange(agents, dtype=np.uint32)
        self.numbers, seeds = compiled.spread((numbers, seeds), mesh)
        self.life = self.programs.init(seeds, self.numbers)
        self.life, _ = self.programs.warm_up(self.life, self.numbers, WARMUP)
        start = time.perf_counter()
        self.advance(50)
        self.compile_seconds = time.perf_counter() - start
        self.rate = self.measure(steps=100)

    def advance(self, steps: int) -> None:
        self.life, _ = self.programs.learn(self.life, self.numbers, steps)
        jax.block_until_ready(self.life)

    def measure(self, steps: int) -> float:
        """Environment steps per second, of all agents together."""
        start = time.perf_counter()
        self.advance(steps)
        return steps * self.agents / (time.perf_counter() - start)

    def measure_for(self, seconds: float) -> float:
        self.rate = self.measure(max(20, int(seconds * self.rate / self.agents)))
        return self.rate
