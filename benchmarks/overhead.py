"""What does a sweep cost beside training? Small cells, one process against the workers of a sweep.

    python benchmarks/overhead.py --cells 200 --steps 1600000

The one process trains the cells one after another and keeps nothing. Prints the time of the sweep
over that of the process, both as time of all cores used; on a machine that does nothing else, the
time by the clock counts, elsewhere processor time says more. Exits with 1 if neither is within the
bar.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

import chaos
from hcdyna.experiments.running import live, trainer_of
from hcdyna.experiments.unfinished import Unfinished
from hcdyna.sweeps.sweep import Resources, sweep

BAR = 1.15


@dataclass(frozen=True)
class Options:
    """How many cells, and how long."""

    cells: int = 200
    steps: int = 1_600_000
    """Of each agent; sets how long a cell takes, some 5 s on an idle core."""
    workers: int = 2
    alone: bool = False
    """Only train the cells in this process."""


def train_here(options: Options) -> None:
    """All cells, one after another."""
    for asked in study(options).cells():
        trainer = trainer_of([asked.cell])
        with tempfile.TemporaryDirectory() as place:
            kept = Unfinished(Path(place) / "kept", trainer)
            kept.last = float("inf")  # keep nothing
            live([asked.cell], trainer, kept, lambda line: None, threading.Event())


def study(options: Options) -> Any:
    return chaos.study(chaos.Options(cells=options.cells, steps=options.steps))


def timed(what: Callable[[], Any]) -> tuple[float, float]:
    """Seconds by the clock, and seconds of processors in processes that were started."""
    begin, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    what()
    end, after = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return end - begin, busy


def main(options: Options) -> None:
    if options.alone:
        train_here(options)
        return
    words = [sys.executable, __file__, "--alone", "--cells", str(options.cells)]
    words += ["--steps", str(options.steps)]
    here = os.environ | {"JAX_NUM_CPU_DEVICES": "1"}
    one = timed(lambda: subprocess.run(words, check=True, env=here))
    with tempfile.TemporaryDirectory() as place:
        resources = Resources(options.workers)
        many = timed(lambda: sweep(study(options), place, "local", resources, calibrate=False))
    clock, busy = options.workers * many[0] / one[0], many[1] / one[1]
    print(f"{options.cells} cells of {one[0] / options.cells:.2f} s each in one process")
    print(f"{options.workers} workers: {clock:.3f} times by the clock of all cores, ", end="")
    print(f"{busy:.3f} times the processor time ({many[1]:.0f} and {one[1]:.0f} s)")
    sys.exit(min(clock, busy) > BAR)


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
