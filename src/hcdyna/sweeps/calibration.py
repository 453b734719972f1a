"""How long a study will take, from a short measurement of its programs in a process of its own."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from hcdyna.settings.errors import SettingsError
from hcdyna.sweeps.planning import cell_from_plain, cell_to_plain, usual_together, widest
from hcdyna.sweeps.study import Asked
from hcdyna.sweeps.tasks import Task

MOST_PROGRAMS = 4
"""That are measured; the others are reckoned from these, by their steps and n."""
SHORTEST = 0.5
"""Seconds of learning that are measured."""
SECONDS_OF_A_TASK = 600.0
"""To aim at: between 2 and 20 minutes, neither lost in overhead nor dear to repeat."""


class Measured(NamedTuple):
    """One program, with as many cells at a time as were measured."""

    compiling: float
    """Seconds."""
    training: float
    """Seconds to train these cells."""
    cells: int
    device: str


def calibrate(groups: Mapping[str, list[Asked]], workers: int) -> dict[str, Measured]:
    """Program → measurement, of those with most to do. The process that measures is gone
    afterwards, and with it what it held of a GPU."""
    by_cost = sorted(groups, key=lambda name: -cost(groups[name]))
    chosen = by_cost[:MOST_PROGRAMS]
    wanted = []
    for name in chosen:
        group = groups[name]
        together = max(1, min(usual_together(group), len(group) // max(1, workers)))
        first = group[0].cell.first_seed
        same = [each for each in group if each.cell.first_seed == first][:together]
        wanted.append([cell_to_plain(each.cell) for each in same])
    return dict(zip(chosen, measured_apart(wanted), strict=True))


def measured_apart(wanted: list[list[dict[str, Any]]]) -> list[Measured]:
    """`measure` of each, in another process."""
    surroundings = {"JAX_NUM_CPU_DEVICES": "1"} | os.environ  # as a worker has
    answer = subprocess.run(
        [sys.executable, "-m", "hcdyna.sweeps.calibration"],
        input=json.dumps(wanted),
        env=surroundings,
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        return [Measured(*each) for each in json.loads(answer.stdout.splitlines()[-1])]
    except (ValueError, IndexError, TypeError):
        said = answer.stderr.strip().splitlines() or ["without a word"]
        raise SettingsError(
            f"the calibration failed: {said[-1]}; --no-calibrate goes without it"
        ) from None


def measure(plain: list[dict[str, Any]]) -> Measured:
    """Compile the program of some cells, and take a few steps."""
    import jax

    from hcdyna.experiments.running import trainer_of
    from hcdyna.training.compiled import steps_at_once

    cells = [cell_from_plain(each) for each in plain]
    begin = time.monotonic()
    trainer = trainer_of(cells)
    trainer.demand_memory()
    _, life, _ = trainer.begin()
    block = steps_at_once(trainer.static)
    programs, numbers = trainer.programs, trainer.numbers
    life, _ = programs.warm_up(life, numbers, block)
    life, _ = programs.learn(life, numbers, block)
    jax.block_until_ready(programs.evaluate(life, numbers, trainer.seed_of_agent, 1))
    compiling = time.monotonic() - begin
    length, took = block, 0.0
    while took < SHORTEST:
        start = time.monotonic()
        life, _ = jax.block_until_ready(programs.learn(life, numbers, length))
        took = time.monotonic() - start
        per_step, length = took / length, min(2 * length, 1 << 24)
    start = time.monotonic()
    jax.block_until_ready(programs.evaluate(life, numbers, trainer.seed_of_agent, 2))
    evaluating = time.monotonic() - start
    settings = cells[0].settings
    steps, every = settings.training.steps, settings.evaluation.every
    training = steps * per_step + (steps // every) * evaluating
    return Measured(compiling, training, len(cells), jax.devices()[0].device_kind)


def cost(group: list[Asked]) -> float:
    """What a program has to do, in units of its own: agents × steps × updates."""
    found = 0.0
    for each in group:
        training = each.cell.settings.training
        found += each.cell.seeds * training.steps * (1 + training.planning_steps)
    return found


def together(
    groups: Mapping[str, list[Asked]],
    most: Mapping[str, int],
    measured: Mapping[str, Measured],
    workers: int,
    fewest: int = 1,
) -> dict[str, int]:
    """How many cells of each program, as wide as its widest, make a task of some minutes, at `most`
    so many. A program is divided among as many workers as its share of all the work would keep
    busy, since each of them has to compile it, and not into more parts than have about `fewest`
    agents each, if all fit."""
    everything, found = sum(map(cost, groups.values())), {}
    for name, group in groups.items():
        agents = sum(each.cell.seeds for each in group)
        parts = math.ceil(workers * cost(group) / everything)
        if name in measured:
            seconds = measured[name].training / measured[name].cells
            in_time = max(1, int(SECONDS_OF_A_TASK // seconds)) * widest(group).seeds
            parts = max(parts, math.ceil(agents / in_time))
        parts = max(1, min(parts, agents // fewest))
        of_a_part = math.ceil(agents / (parts * widest(group).seeds))
        found[name] = max(1, min(most[name], of_a_part))
    return found


def seconds(
    groups: Mapping[str, list[Asked]],
    tasks: list[Task],
    measured: Mapping[str, Measured],
    workers: int,
) -> float | None:
    """What all tasks take with so many workers; None if nothing was measured."""
    if not measured:
        return None
    work = {name: each.training / each.cells * len(groups[name]) for name, each in measured.items()}
    rate = sum(work.values()) / sum(cost(groups[name]) for name in measured)
    compiling = sum(each.compiling for each in measured.values()) / len(measured)
    busy = 0.0
    for name, group in groups.items():
        parts = sum(task.program == name for task in tasks)
        busy += work.get(name, rate * cost(group)) + compiling * min(workers, parts)
    return busy / max(1, min(workers, len(tasks)))


if __name__ == "__main__":
    print(json.dumps([measure(each) for each in json.load(sys.stdin)]))
