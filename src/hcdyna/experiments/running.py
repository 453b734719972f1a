"""Train cells that share a program, and look at them on the way."""

import threading
from collections.abc import Callable
from typing import Any

import jax

from hcdyna.experiments.cells import Cell, Result
from hcdyna.experiments.probes import CHANGES, FEW, PROBES
from hcdyna.experiments.unfinished import Unfinished
from hcdyna.runs.progress import Progress
from hcdyna.runs.run import Run
from hcdyna.settings import Settings
from hcdyna.training.compiled import AgentLife
from hcdyna.training.trainer import Trainer

Say = Callable[[str], None]


def saying(say: Say, place: str) -> Say:
    """Say it, and where."""
    return lambda line: say(f"{place}: {line}")


def trainer_of(cells: list[Cell]) -> Trainer:
    """All agents of cells that share a program: the same seeds for each of their settings."""
    settings = list(dict.fromkeys(cell.settings for cell in cells))
    return Trainer(settings, list(places(cells)))


def places(cells: list[Cell]) -> dict[int, int]:
    """Seed → its place among all that are trained with each of the settings."""
    blocks = dict.fromkeys((cell.first_seed, cell.seeds) for cell in cells)
    seeds = [first + i for first, count in blocks for i in range(count)]
    return {seed: place for place, seed in enumerate(seeds)}


def beside_settings(cell: Cell) -> tuple[Any, ...]:
    """What else cells that are trained together have in common."""
    return (cell.probe, cell.probe_steps, cell.change, cell.change_step)


def live(
    cells: list[Cell],
    trainer: Trainer,
    unfinished: Unfinished,
    say: Say,
    stop: threading.Event,
    on_step: Callable[[int], None] = lambda step: None,
) -> list[Result]:
    """Train cells that share a program, and look at them where they ask for it. It ends early, and
    is saved, once `stop` is set; `on_step` may raise to end it at an evaluation."""
    first, settings, place = cells[0], trainer.settings, places(cells)
    rows = [settings.index(cell.settings) for cell in cells]
    parts = [slice(place[x.first_seed], place[x.first_seed] + x.seeds) for x in cells]
    start, life, progress, seen = unfinished.resumed(len(cells))
    if start:
        say(f"going on from step {start:,}")

    def look(life: AgentLife, step: int, now: bool) -> AgentLife:
        on_step(step)
        if first.probe is not None and step in first.probe_steps:
            for name, x in probe(first.probe, settings[0], life).items():
                by_setting = progress.by_setting(x)
                for found, row, part in zip(seen, rows, parts, strict=True):
                    found[f"{name}_{step}"] = by_setting[row, part][: FEW.get(name)]
        if first.change is not None and step == first.change_step:
            life = changed(first.change, life)
        unfinished.keep(step, life, progress, seen, stop)
        return life

    def tell(progress: Progress) -> None:
        if progress.steps[-1] % max(1, first.settings.training.steps // 5) == 0:
            mean = progress.returns[-1].mean()
            say(f"{progress.steps[-1]:,} steps, mean return {mean:.1f}")

    life = trainer.advance(life, start, progress, tell, look)
    run = Run.of(progress, lambda: life)
    about, results = trainer.record(), []
    for index, (row, part) in enumerate(zip(rows, parts, strict=True)):
        record = {key: about[key] for key in ("versions", "kernels", "commit", "started")}
        returns, diverged = run.mean_returns(row)[part], run.diverged[row, part, -1]
        results.append(Result(run.steps, returns, diverged, seen[index], record))
    return results


def probe(name: str, settings: Settings, life: AgentLife) -> dict[str, Any]:
    """What a probe sees, for all agents [agents, …]."""
    return jax.jit(jax.vmap(lambda state: PROBES[name](settings, state)))(life.dyna)


def changed(name: str, life: AgentLife) -> AgentLife:
    """All agents, changed."""
    return life._replace(dyna=jax.jit(jax.vmap(CHANGES[name]), donate_argnums=0)(life.dyna))
