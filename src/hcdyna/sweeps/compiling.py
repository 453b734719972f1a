"""Programs are compiled beside the one that is running, and shared by all workers of a store."""

import hashlib
import itertools
import json
import os
import platform
import warnings
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax

from hcdyna.experiments.running import trainer_of
from hcdyna.numerics.caches import not_private, trim
from hcdyna.numerics.devices import MOST_KEPT
from hcdyna.sweeps.places import Folder
from hcdyna.sweeps.planning import cells_of
from hcdyna.sweeps.store import SweepStore
from hcdyna.sweeps.tasks import Task
from hcdyna.training.trainer import Trainer

MOST_THREADS = 6
COMPILERS = "HCDYNA_COMPILERS"
"""The environment variable by which an engine says otherwise."""


def idle_cores(alone: bool) -> int:
    """Cores that a worker leaves to the compiler: nearly all on a GPU machine, unless workers share
    the GPU. Elsewhere one, if no other worker wants it, since programs of few agents are small."""
    if jax.config.values["jax_compilation_cache_dir"] is None:
        return 0
    if jax.default_backend() == "cpu":
        return int(alone)
    most = int(os.environ.get(COMPILERS, MOST_THREADS))
    return min(most, (os.cpu_count() or 2) - 1)


class Ahead:
    """A compiler beside the training. What it makes gets there through JAX's cache on disk."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.pool: ThreadPoolExecutor | None = None
        self.begun: dict[tuple[str, int], Future] = {}

    def compile(self, tasks: Iterable[Task]) -> None:
        """Begin with the programs of some tasks: a few more than there are threads, because other
        workers may take the tasks."""
        busy = sum(not future.done() for future in self.begun.values())
        new = {kind(task): task for task in tasks if kind(task) not in self.begun}
        self.pool = self.pool or ThreadPoolExecutor(max(1, self.threads))
        for name, task in itertools.islice(new.items(), max(0, 2 * self.threads - busy)):
            self.begun[name] = self.pool.submit(compile_task, task)

    def wait_for(self, task: Task) -> None:
        """Wait for the program of a task, if it is on its way."""
        if kind(task) in self.begun:
            self.begun[kind(task)].result()

    def close(self) -> None:
        """Leave what has not begun."""
        if self.pool is not None:
            self.pool.shutdown(wait=False, cancel_futures=True)
        self.pool, self.begun = None, {}


def kind(task: Task) -> tuple[str, int]:
    """A program is compiled for its number of agents."""
    return task.program, task.agents


def compile_task(task: Task) -> None:
    """Compile the programs of a task, each for what the one before it gives back."""
    trainer = trainer_of(cells_of(task))
    programs: Any = trainer.programs
    seeds, numbers = trainer.seed_of_agent, trainer.numbers
    life = given_back(trainer, programs.init.lower(seeds, numbers).compile().output_shardings)
    for program in (programs.warm_up, programs.learn):
        compiled = program.lower(life, numbers, 1).compile()
        life = given_back(trainer, compiled.output_shardings[0])
    programs.evaluate.lower(life, numbers, seeds, 1).compile()


def given_back(trainer: Trainer, shardings: Any) -> Any:
    """The lives of all agents as a program gives them back. How they lie on the devices is part of
    what the next one is compiled for: described in other words, it would be compiled once more."""
    return jax.tree.map(
        lambda x, sharding: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding),
        trainer.shapes,
        shardings,
    )


def share_compiled_programs(store: SweepStore) -> None:
    """Let JAX keep what it compiles in the store, for all workers on machines like this one, unless
    the user has told it where, or others could write there."""
    known = jax.config.values["jax_compilation_cache_dir"]
    if known is not None or not isinstance(store.place, Folder):
        return
    folder = store.place.root / "compiled" / kind_of_machine()
    folder.mkdir(parents=True, exist_ok=True)
    problem = not_private(store.place.root) or not_private(folder)
    if problem is not None:
        warnings.warn(
            f"{store.place}: {problem}, so compiled programs are not shared", stacklevel=2
        )
        return
    trim(folder, MOST_KEPT)
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)


def kind_of_machine() -> str:
    """A name for all machines that can run the same compiled programs."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        known = [line for line in lines if line.startswith(("model name", "flags"))][:2]
    except OSError:
        known = [platform.processor()]
    text = json.dumps([platform.machine(), jax.__version__, *known])
    return hashlib.sha256(text.encode()).hexdigest()[:12]
