"""From the cells of a study to tasks: which share a program, and how many to take at once."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from hcdyna.experiments.cells import Cell
from hcdyna.experiments.running import beside_settings, trainer_of
from hcdyna.models.true import TrueModel
from hcdyna.planning.budget import MIXING_RATE, PLANNING_STEPS
from hcdyna.runs.record import commit
from hcdyna.settings import traced_numbers, with_numbers
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.plain import settings_from_plain, settings_to_plain
from hcdyna.sweeps.study import Asked
from hcdyna.sweeps.tasks import Task, in_words, named
from hcdyna.training import memory
from hcdyna.training.compiled import shared_program

MOST_AGENTS = 240
"""In a task, where nothing was measured: more gain little on a CPU …"""
MOST_AGENTS_ON_GPU = 2_000
"""… or on a GPU, and more work is lost if they are interrupted."""
FEWEST_AGENTS_ON_GPU = 200
"""About so many at least in a task there: half of them would take nearly as long."""
SHARE_OF_MEMORY = 0.6


def cells_of(task: Task) -> list[Cell]:
    """The cells to train; imports the modules that their settings name."""
    return [cell_from_plain(each) for each in json.loads(task.cells)]


def cell_to_plain(cell: Cell) -> dict[str, Any]:
    """A cell with all that is needed to train it, kernels included."""
    return cell.plain() | {"settings": settings_to_plain(cell.settings)}


def cell_from_plain(plain: Mapping[str, Any]) -> Cell:
    """The cell that `cell_to_plain` was given."""
    rest = {name: x for name, x in plain.items() if name != "settings"}
    if "probe_steps" in rest:
        rest["probe_steps"] = tuple(rest["probe_steps"])
    return Cell(settings_from_plain(plain["settings"]), **rest)


def program_of(cell: Cell, on_gpu: bool = False) -> str:
    """A name for the program of a cell: that of all which differ in traced numbers and ρ only.

    A fused kernel on a GPU takes as many planning updates as its agent wants, so that those with
    another n share it, unless a model would have to answer as many questions for each as for the
    largest n; elsewhere all agents of a program wait for those with the largest n."""
    free = dict.fromkeys(traced_numbers(cell.settings)) | {MIXING_RATE: None}
    asks_little = isinstance(cell.settings.model, TrueModel)
    if on_gpu and asks_little and cell.settings.training.planning_steps > 0:
        free |= {PLANNING_STEPS: None}
    shared = settings_to_plain(with_numbers(cell.settings, free))
    return named([json.dumps([shared, beside_settings(cell)], sort_keys=True)])


def by_program(asked: Iterable[Asked], on_gpu: bool = False) -> dict[str, list[Asked]]:
    """The cells of each program by their seeds; SettingsError if the first of a program can't be
    built."""
    groups: dict[str, list[Asked]] = {}
    for each in asked:
        groups.setdefault(program_of(each.cell, on_gpu), []).append(each)
    for group in groups.values():
        try:
            shared_program([planned(group[0].cell).settings])
        except SettingsError as error:
            raise SettingsError(f"{in_words(group[0].case)}: {error}") from None
        group.sort(key=lambda each: each.cell.first_seed)
    return groups


def planned(cell: Cell) -> Cell:
    """A cell to plan with: kernels that may be there or not are the same to a plan, and to compile
    them takes long."""
    training = cell.settings.training
    if training.kernels != "auto":
        return cell
    return replace(cell, settings=replace(cell.settings, training=replace(training, kernels="off")))


def split(groups: Mapping[str, list[Asked]], together: Mapping[str, int]) -> list[Task]:
    """All cells as tasks: of each program at most as many agents as so many of its widest cells
    have `together`, in parts that are as equal as can be, since a program is compiled for its
    number of agents. All settings of a task have the same blocks of seeds."""
    tasks = []
    for program, group in groups.items():
        most = max(1, together[program]) * widest(group).seeds
        same: dict[tuple[tuple[int, int], ...], list[list[Asked]]] = {}
        for some in by_settings(group):
            blocks = tuple((each.cell.first_seed, each.cell.seeds) for each in some)
            same.setdefault(blocks, []).append(some)
        for blocks, rows in same.items():
            seeds = [count for _, count in blocks]
            for column in columns_of(seeds, most):
                agents = sum(seeds[i] for i in column)
                for part in parts_of(rows, max(1, most // agents)):
                    tasks.append(task_of(program, [row[i] for row in part for i in column]))
    return tasks


def columns_of(seeds: list[int], most: int) -> list[list[int]]:
    """Which blocks of so many seeds to take together: as few groups as do, as equal as can be."""
    by_size = sorted(range(len(seeds)), key=lambda i: -seeds[i])
    for count in range(1, len(seeds) + 1):
        groups: list[list[int]] = [[] for _ in range(count)]
        sizes = [0] * count
        for i in by_size:
            smallest = sizes.index(min(sizes))
            groups[smallest].append(i)
            sizes[smallest] += seeds[i]
        if max(sizes) <= most:
            break
    return [sorted(group) for group in groups]


def by_settings(group: list[Asked]) -> list[list[Asked]]:
    """Cells that differ in their seeds alone, together."""
    found: dict[Any, list[Asked]] = {}
    for each in group:
        found.setdefault(each.cell.settings, []).append(each)
    return list(found.values())


def parts_of(some: list[Any], most: int) -> list[list[Any]]:
    """A list in parts of at most so many, as equal as can be."""
    count = -(-len(some) // most)
    return [some[number::count] for number in range(count)]


def task_of(program: str, asked: list[Asked]) -> Task:
    keys = [each.cell.key for each in asked]
    return Task(
        id=named(keys),
        program=program,
        keys=tuple(keys),
        cases=tuple(each.case for each in asked),
        agents=sum(each.cell.seeds for each in asked),
        steps=asked[0].cell.settings.training.steps,
        cells=json.dumps([cell_to_plain(each.cell) for each in asked]),
        commit=commit(),
    )


def usual_together(group: list[Asked]) -> int:
    """Cells of a task where nothing was measured."""
    return max(1, MOST_AGENTS // widest(group).seeds)


def widest(group: list[Asked]) -> Cell:
    """The cell with the most seeds."""
    return max((each.cell for each in group), key=lambda cell: cell.seeds)


def together_here(group: list[Asked], on_gpu: bool, share: float = 1.0) -> int:
    """Cells of a task for the device of this process, or for a `share` of it: as many as gain, and
    fit into its memory."""
    seeds, there = widest(group).seeds, memory.available()
    most = max(1, (MOST_AGENTS_ON_GPU if on_gpu else MOST_AGENTS) // seeds)
    if there is None:
        return most
    each = sum(memory.needed(trainer_of([planned(widest(group))]).shapes).values())
    return max(1, min(most, int(SHARE_OF_MEMORY * share * there // max(each, 1))))
