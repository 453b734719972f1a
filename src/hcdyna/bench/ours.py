"""A compiled program of ours, warmed up and ready to be timed."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jax
from jax.experimental.compilation_cache.compilation_cache import reset_cache

from hcdyna.settings import Settings
from hcdyna.training.compiled import steps_at_once
from hcdyna.training.trainer import Trainer

WARMUP = 5_000


class Ours:
    """A compiled program that has warmed up, ready to be timed."""

    def __init__(self, settings: Settings, agents: int, warmup: int = WARMUP) -> None:
        self.agents = agents
        # Programs that differ in n only begin alike, so that the beginning is compiled once.
        plain = replace(settings, training=replace(settings.training, planning_steps=0))
        trainer, beginning = (Trainer([each], list(range(agents))) for each in (settings, plain))
        self.static, self.numbers = trainer.static, trainer.numbers
        _, life, _ = beginning.begin()
        steps = whole(warmup, beginning.static)
        self.life, _ = beginning.programs.warm_up(life, self.numbers, steps)
        jax.block_until_ready(self.life)
        program: Any = trainer.programs.learn
        start = time.perf_counter()
        with compiling_afresh():
            self.learn = program.lower(self.life, self.numbers, 1).compile()
        self.compile_seconds = time.perf_counter() - start
        self.peak_bytes = trainer.mesh.size * bytes_on_a_device(self.learn)
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
    block = steps_at_once(static)
    return -(-steps // block) * block


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
