"""From a study to a store full of cells: plan, say what it takes, and start workers."""

from __future__ import annotations

import dataclasses
import importlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hcdyna.numerics.devices import leave_memory
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.fields import check, number, shown
from hcdyna.settings.words import count
from hcdyna.sweeps import calibration, planning
from hcdyna.sweeps.calibration import Measured
from hcdyna.sweeps.checks import check_cases
from hcdyna.sweeps.status import Status, duration, status
from hcdyna.sweeps.store import PATIENCE, SweepStore
from hcdyna.sweeps.study import Asked, Study
from hcdyna.sweeps.tasks import Task

Say = Callable[[str], None]
Engine = Literal["local", "ray", "slurm"]
ENGINES = ("local", "ray", "slurm")
MOST_WORKERS, MOST_CORES, MOST_GPUS = 100_000, 4_096, 64
LONG_CELL = 1_200.0
"""Seconds above which workers share the work better in smaller blocks of seeds."""


@dataclass(frozen=True)
class Resources:
    """What to start, and what each worker gets."""

    workers: int | None = number(None, at_least=1, at_most=MOST_WORKERS)
    """How many; as many as there are devices, cores or tasks if not given."""
    cores: int = number(1, at_least=1, at_most=MOST_CORES)
    """CPU cores of each."""
    gpus: float | None = number(None, at_least=0, at_most=MOST_GPUS)
    """GPUs of each, 0.25 for a quarter; one if there are any, and not told otherwise."""
    options: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """For the engine: the address of a Ray cluster, or options of Slurm such as partition."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Plan:
    """What a study amounts to."""

    study: Study
    keys: list[str]
    """Of all its cells."""
    groups: dict[str, list[Asked]]
    """The cells that are missing, by program."""
    tasks: list[Task]
    done: list[Task]
    """Cells that are there already."""
    listed: int
    """Cells that were asked for before, by this study or another one of this store; …"""
    waiting: int
    """… and those of them that are not done yet."""
    measured: dict[str, Measured]
    workers: int

    def line(self) -> str:
        """How much that is, in a line."""
        agents = sum(task.agents for task in self.tasks)
        cells = sum(len(task.keys) for task in self.tasks)
        words = [
            f"{self.study.name}: {count(agents, 'agent')} in {count(cells, 'cell')}",
            f"{count(len(self.groups), 'program')}, {count(len(self.tasks), 'task')}",
        ]
        there = sum(len(task.keys) for task in self.done) + self.listed - self.waiting
        words += [f"{count(there, 'cell')} there already"] if there else []
        words += [f"{count(self.waiting, 'cell')} planned before"] if self.waiting else []
        seconds = self.seconds
        if seconds is not None:
            work = f"{seconds * self.workers / 3600:.2g} hours of work"
            words.append(f"about {duration(seconds)} ({work}) with {self.like()}")
        longest = max((each.training / each.cells for each in self.measured.values()), default=0)
        if longest > LONG_CELL and self.study.paper is None:
            words.append(
                f"a cell takes up to {duration(longest)}: a smaller block makes it shorter"
            )
        return "; ".join(words)

    @property
    def seconds(self) -> float | None:
        """What it takes with these workers; None if nothing was measured."""
        return calibration.seconds(self.groups, self.tasks, self.measured, self.workers)

    def like(self) -> str:
        """Which workers that is said of."""
        device = next(iter(self.measured.values())).device
        parts = f"{len(self.measured)} of {count(len(self.groups), 'program')} measured"
        return f"{count(self.workers, 'worker')} like this machine's {device} ({parts})"


def checked_cells(study: Study) -> dict[str, Asked]:
    """All cells of a study by their keys; SettingsError for a study that can't be trained."""
    if not isinstance(study, Study):
        raise SettingsError(f"study = {shown(study)}: must be a Study; Study.read reads a file")
    found = study.cells()
    check_cases(study.compare, [each.case for each in found])
    return {each.cell.key: each for each in found}


def plan(
    study: Study,
    store: SweepStore | None,
    workers: int = 1,
    calibrate: bool = True,
    asked: dict[str, Asked] | None = None,
    here: str | None = None,
    measured: Mapping[str, Measured] | None = None,
    gpus: float = 0.0,
) -> Plan:
    """What is to be done for a study, given what a store has or was asked for already. `asked` are
    its cells and `measured` its programs, where the caller knows them; `here` is the platform,
    where this process trains; `gpus` are those of this machine that each worker will have."""
    if here is None:
        leave_memory()
    asked = checked_cells(study) if asked is None else asked
    known = {key for task in store.tasks() for key in task.keys} if store else set()
    done = store.scan().done if store else set()
    new = [each for key, each in asked.items() if key not in known]
    missing = [each for each in new if each.cell.key not in done]
    on_gpu = gpus > 0 or here not in (None, "cpu")
    groups = planning.by_program(missing, on_gpu)
    if measured is None:
        measured = calibration.calibrate(groups, workers) if calibrate and groups else {}
    measured = {name: each for name, each in measured.items() if name in groups}

    def most(group: list[Asked]) -> int:
        if here is None and not on_gpu:
            return planning.usual_together(group)
        return planning.together_here(group, on_gpu, min(gpus or 1.0, 1.0))

    together = {name: study.together or most(group) for name, group in groups.items()}
    if here is None and not study.together:
        fewest = planning.FEWEST_AGENTS_ON_GPU if on_gpu else 1
        # Workers that share a device do not do more of a program together than one of them alone.
        apart = math.ceil(workers * gpus - 1e-9) if 0 < gpus < 1 else workers
        together = calibration.together(groups, together, measured, apart, fewest)
    there = planning.by_program([each for each in new if each.cell.key in done])
    ready = planning.split(there, {name: planning.usual_together(x) for name, x in there.items()})
    listed, waiting = len(asked) - len(new), len((known & asked.keys()) - done)
    return Plan(
        study, list(asked), groups, planning.split(groups, together), ready, listed, waiting,
        measured, workers,
    )  # fmt: skip


def add(
    study: Study,
    folder: str | Path,
    workers: int = 1,
    calibrate: bool = True,
    patience: float = PATIENCE,
    here: str | None = None,
    gpus: float = 0.0,
) -> tuple[SweepStore, Plan]:
    """The store of a study, with its tasks in it."""
    if here is None:
        leave_memory()
    asked = checked_cells(study)  # a study that can't be trained leaves no store behind
    store = SweepStore.create(folder, patience)
    store.place.demand_writable()
    before, planned = store.tasks(), plan(study, store, workers, calibrate, asked, here, gpus=gpus)
    with store.alone("plan"):
        if store.tasks() != before:  # another sweep was quicker while this one was measuring
            planned = plan(study, store, workers, False, asked, here, planned.measured, gpus)
        store.add(study, planned.keys, [*planned.tasks, *planned.done])
    return store, planned


def engine(name: str) -> Any:
    """The module of an engine, with `run(folder, resources, follow)` and `workers(resources)`."""
    if name not in ENGINES:
        raise SettingsError(f"on = {name!r}: must be one of {', '.join(ENGINES)}")
    return importlib.import_module(f"hcdyna.sweeps.engines.{name}")


def gpus_here(on: str, resources: Resources) -> float:
    """GPUs of this machine that each worker will have; what those of a cluster are like is not
    known here."""
    if on != "local" or resources.gpus == 0 or not engine(on).visible_gpus():
        return 0.0
    return resources.gpus or 1.0


def sweep(
    study: Study,
    folder: str | Path,
    on: Engine = "local",
    resources: Resources = Resources(),  # noqa: B008 (frozen)
    say: Say = print,
    calibrate: bool = True,
    follow: Callable[[Status], None] | None = None,
) -> Status:
    """Train all cells of a study on an engine; returns the state of the store. Cells in the store
    are not trained again, so the same call resumes an interrupted sweep."""
    workers, gpus = engine(on).workers(resources), gpus_here(on, resources)
    store, planned = add(study, folder, workers, calibrate, gpus=gpus)
    say(planned.line())
    return run(store, on, resources, follow)


def run(
    store: SweepStore,
    on: Engine,
    resources: Resources,
    follow: Callable[[Status], None] | None = None,
) -> Status:
    """Let workers do all that a store asks for."""
    now = status(store)
    if not now.finished:
        engine(on).run(store, resources, follow or (lambda status: None))
        now = status(store)
    return now
