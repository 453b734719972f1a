"""Train the cells that are missing, as many in one program as share it and fit into memory."""

import contextlib
import math
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import jax

from hcdyna.experiments.cells import Cell, CellStore, Result
from hcdyna.experiments.probes import CHANGES, FEW, PROBES
from hcdyna.experiments.unfinished import Unfinished, folder_of
from hcdyna.numerics.devices import available_cores, offer_every_core
from hcdyna.numerics.surroundings import check_surroundings
from hcdyna.planning.budget import MIXING_RATE, PLANNING_STEPS
from hcdyna.runs.progress import Progress
from hcdyna.runs.run import Run
from hcdyna.runs.saving import interruptions
from hcdyna.settings import Settings, with_numbers
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.plain import settings_to_plain
from hcdyna.training import memory
from hcdyna.training.compiled import AgentLife, forget_programs, shared_program
from hcdyna.training.trainer import Trainer

MOST_AGENTS = {"cpu": 240, "gpu": 1_000}
"""More agents in a program gain nothing, and more work is lost if it is interrupted."""
SHARE_OF_MEMORY = 0.6
KEPT = 8
"""Programs in memory. Not one, or what was compiled ahead would be forgotten along with it."""

Say = Callable[[str], None]


def run_missing(
    cells: Iterable[Cell], store: CellStore, say: Say = print, seconds: float = math.inf
) -> int:
    """Train what the store does not have; how many cells are still missing then. No program is
    begun after so many `seconds`, and with 0 none is even compiled."""
    missing = {cell.key: cell for cell in cells if not store.has(cell)}
    if not missing or seconds <= 0:
        return len(missing)
    share_cores(missing.values())
    groups = programs(list(missing.values()))
    begin, left = time.perf_counter(), len(missing)
    with ahead(groups) as compiling:
        for number, group in enumerate(groups, 1):
            start = time.perf_counter()
            if start - begin > seconds:
                break
            compiling[number - 1].result()
            say_here = saying(say, f"[{number}/{len(groups)}] {title(group)}")
            trainer = trainer_of(group)
            unfinished = Unfinished(folder_of(store.folder.parent, group), trainer)
            results = live(group, trainer, unfinished, say_here)
            took = time.perf_counter() - start
            for cell, result in zip(group, results, strict=True):
                share = {"seconds": round(took / len(group), 2), "cells_in_program": len(group)}
                store.save(cell, replace(result, record=result.record | share))
            unfinished.forget()
            left -= len(group)
            say_here(f"{took:.1f} s")
            del trainer, unfinished
            if number % KEPT == 0 or number == len(groups):
                forget_programs()
    return left


def share_cores(cells: Collection[Cell]) -> None:
    """Train on every CPU core where each has agents to fill it; of few, one takes care, and leaves
    the others to the compiler. Comes before anything that starts JAX."""
    if cells and min(cell.seeds for cell in cells) >= 2 * available_cores():
        offer_every_core()
    check_surroundings()


def saying(say: Say, place: str) -> Say:
    """Say it, and where."""
    return lambda line: say(f"{place}: {line}")


@contextlib.contextmanager
def ahead(groups: list[list[Cell]]) -> Iterator[list[Future]]:
    """Compile the next programs beside the running one, which leaves cores idle: nearly all on a
    GPU machine, and some elsewhere, since programs of few agents are small. They reach the training
    through JAX's cache of compiled programs on disk."""
    workers = 1 if jax.default_backend() == "cpu" else min(6, (os.cpu_count() or 2) - 1)
    pool = ThreadPoolExecutor(workers)
    try:
        yield [pool.submit(compile_group, group) for group in groups]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def compile_group(group: list[Cell]) -> None:
    """Compile the programs of a group, each for what the one before it gives back."""
    trainer = trainer_of(group)
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


def trainer_of(cells: list[Cell]) -> Trainer:
    """All agents of cells that share a program."""
    first = cells[0].first_seed
    seeds = list(range(first, first + cells[0].seeds))
    return Trainer([cell.settings for cell in cells], seeds)


def programs(cells: list[Cell]) -> list[list[Cell]]:
    """Cells in groups that share a program and fit into memory."""
    platform = jax.default_backend()
    groups: dict[Any, list[Cell]] = {}
    for cell in cells:
        try:
            static, _ = shared_program([cell.settings])
        except SettingsError as error:
            raise SettingsError(f"cell {cell.key}: {error}") from None
        free: dict[str, Any] = {MIXING_RATE: None}
        if platform != "cpu" and static.training.planning_steps > 0:
            # A fused kernel takes as many planning updates as its agent wants; elsewhere all
            # agents of a program wait for those with the largest n.
            free[PLANNING_STEPS] = None
        shared = with_numbers(static, free)
        groups.setdefault((shared, beside_settings(cell)), []).append(cell)
    return [part for group in groups.values() for part in parts(group, platform)]


def beside_settings(cell: Cell) -> tuple[Any, ...]:
    """What else cells that are trained together have in common."""
    looks = (cell.probe, cell.probe_steps, cell.change, cell.change_step)
    return (cell.seeds, cell.first_seed, *looks)


def parts(group: list[Cell], platform: str) -> list[list[Cell]]:
    """A group in parts of as many cells as there is memory for."""
    seeds = group[0].seeds
    each = sum(memory.needed(Trainer([group[0].settings], [0]).shapes).values()) * seeds
    there = memory.available()
    fitting = len(group) if there is None else int(SHARE_OF_MEMORY * there // max(each, 1))
    most = MOST_AGENTS["cpu" if platform == "cpu" else "gpu"] // seeds
    size = max(1, min(fitting, most))
    return [group[i : i + size] for i in range(0, len(group), size)]


def live(
    cells: list[Cell],
    trainer: Trainer,
    unfinished: Unfinished,
    say: Say = print,
    stop: threading.Event | None = None,
    on_step: Callable[[int], None] = lambda step: None,
) -> list[Result]:
    """Train cells that share a program, and look at them where they ask for it. It ends early, and
    is saved, once `stop` is set, or on Ctrl-C where there is none; `on_step` may raise to end it at
    an evaluation."""
    first, settings = cells[0], trainer.settings
    start, life, progress, seen = unfinished.resumed()
    if start:
        say(f"going on from step {start:,}")

    def look(life: AgentLife, step: int, now: bool) -> AgentLife:
        on_step(step)
        if first.probe is not None and step in first.probe_steps:
            for name, x in probe(first.probe, settings[0], life).items():
                by_cell = progress.by_setting(x)[:, : FEW.get(name)]
                for found, part in zip(seen, by_cell, strict=True):
                    found[f"{name}_{step}"] = part
        if first.change is not None and step == first.change_step:
            life = changed(first.change, life)
        unfinished.keep(step, life, progress, seen, interrupted)
        return life

    def tell(progress: Progress) -> None:
        if progress.steps[-1] % max(1, first.settings.training.steps // 5) == 0:
            mean = progress.returns[-1].mean()
            say(f"{progress.steps[-1]:,} steps, mean return {mean:.1f}")

    with contextlib.ExitStack() as stack:
        interrupted = stack.enter_context(interruptions()) if stop is None else stop
        life = trainer.advance(life, start, progress, tell, look)
    run = Run.of(progress, lambda: life)
    about, results = trainer.record(), []
    for index in range(len(cells)):
        record = {key: about[key] for key in ("versions", "kernels", "commit", "started")}
        diverged = run.diverged[index, :, -1]
        results.append(Result(run.steps, run.mean_returns(index), diverged, seen[index], record))
    return results


def probe(name: str, settings: Settings, life: AgentLife) -> dict[str, Any]:
    """What a probe sees, for all agents [agents, …]."""
    return jax.jit(jax.vmap(lambda state: PROBES[name](settings, state)))(life.dyna)


def changed(name: str, life: AgentLife) -> AgentLife:
    """All agents, changed."""
    return life._replace(dyna=jax.jit(jax.vmap(CHANGES[name]), donate_argnums=0)(life.dyna))


def title(cells: list[Cell]) -> str:
    """In a few words."""
    plain = settings_to_plain(cells[0].settings)
    names = [plain[part]["name"] for part in ("environment", "agent", "search_control", "model")]
    return f"{' '.join(names)}, {len(cells)} cells of {cells[0].seeds} seeds"
