"""A compiled program of ours, warmed up and ready to be timed."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import replace

import jax
import numpy as np
from jax.experimental.compilation_cache.compilation_cache import reset_cache

from hcdyna.numerics.devices import mesh_for
from hcdyna.settings import Settings
from hcdyna.training import compiled

WARMUP = 5_000


class Ours:
    """A compiled program that has warmed up, ready to be timed."""

    def __init__(self, settings: Settings, agents: int, warmup: int = WARMUP) -> None:
        self.agents = agents
        mesh = mesh_for(agents)
        static, table = compiled.shared_program([settings])
        numbers = {path: np.full(agents, value, np.float32) for path, (value,) in table.items()}
        seeds = np.arange(agents, dtype=np.uint32)
        self.numbers, seeds = compiled.spread((numbers, seeds), mesh)
        shared, _ = compiled.shared_program([without_planning(settings)])
        beginning = compiled.compile_programs(shared, mesh)
        self.life = beginning.init(seeds, self.numbers)
        self.life, _ = beginning.warm_up(self.life, self.numbers, whole(warmup, shared))
        jax.block_until_ready(self.life)
        self.static = static
        program = compiled.compile_programs(static, mesh).learn
        start = time.perf_counter()
        with compiling_afresh():
            self.learn = program.lower(self.life, self.numbers, 1).compile()  # type: ignore[attr-defined]
        self.compile_seconds = time.perf_counter() - start
        self.peak_bytes = mesh.size * bytes_on_a_device(self.learn)
        self.advance(5)
        self.rate = self.measure(steps=5)

    def advance(self, steps: int) -> None:
        """Some steps, in whole blocks."""
        steps = whole(steps, self.static)
        self.life, _ = self.learn(self.life, self.numbers, steps)
        jax.block_until_ready(self.life)

    def measure(self, steps: int) -> float:
        """Environment steps per second, of all agents together."""
        steps = whole(steps, self.static)
        start = time.perf_counter()
        self.advance(steps)
        return steps * self.agents / (time.perf_counter() - start)

    def measure_for(self, seconds: float, at_least: int = 20) -> float:
        """The same, with as many steps as take about so long at the rate of last time."""
        self.rate = self.measure(max(at_least, int(seconds * self.rate / self.agents)))
        return self.rate


def whole(steps: int, static: Settings) -> int:
    """So many steps or a few more, since the programs take whole blocks."""
    block = compiled.steps_at_once(static)
    return -(-steps // block) * block


def without_planning(settings: Settings) -> Settings:
    """Programs that differ in n only begin alike, so that the beginning is compiled once."""
    return replace(settings, training=replace(settings.training, planning_steps=0))


@contextlib.contextmanager
def compiling_afresh() -> Iterator[None]:
    """Look nothing up on disk, where the program may lie since an earlier run."""
    before = jax.config.values["jax_enable_compilation_cache"]
    jax.config.update("jax_enable_compilation_cache", False)
    reset_cache()  # JAX asks only once in a process whether there is a cache
    try:
        yield
    finally:
        jax.config.update("jax_enable_compilation_cache", before)
        reset_cache()


def bytes_on_a_device(program: jax.stages.Compiled) -> int:
    """What a program holds at its peak on one device, by XLA's own count."""
    count = program.memory_analysis()
    if count is None:
        return 0
    return (
        count.argument_size_in_bytes
        + count.output_size_in_bytes
        + count.temp_size_in_bytes
        - count.alias_size_in_bytes
    )
