"""The study of sampling distributions on TabularGridWorld (figures 7 and 8 of the paper).

    python benchmarks/tabular_study.py                   # in full: 8 learning rates × 30 seeds
    python benchmarks/tabular_study.py --seeds 10 --steps 10000 --only HC-Dyna Gibbs

Every strategy trains at the eight learning rates of the appendix, and the rate with the highest
mean return over the last 20% of evaluations counts. Finished pieces stay in a folder: a run that
was interrupted goes on where it was.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

import hcdyna
from hcdyna import (
    Evaluation,
    Gibbs,
    OnPolicy,
    PrioritisedSweeping,
    Replay,
    Settings,
    Tabular,
    TabularHillClimbing,
    Training,
    Uniform,
    train,
)
from hcdyna.statistics.bootstrap import Interval
from hcdyna.statistics.summaries import mean_interval

LEARNING_RATES = (1.0, 0.8409, 0.70711, 0.59460, 0.5, 0.35356, 0.25, 0.17678)
"""As the appendix prints them."""
LAST = 0.2
"""Share of the evaluations, at the end, that chooses the learning rate (appendix)."""
STRATEGIES: dict[str, Any] = {
    "HC-Dyna": TabularHillClimbing(),
    "HC-Dyna-Vstar": TabularHillClimbing(surface="optimal"),
    "Gibbs": Gibbs(),
    "Gibbs-Vstar": Gibbs(surface="optimal"),
    "OnPolicy-Dyna": OnPolicy(),
    "ER": Replay(),
    "Uniform-Dyna": Uniform(),
    "Prioritised sweeping": PrioritisedSweeping(),
}


@dataclass(frozen=True)
class Scale:
    """How much to run."""

    seeds: int = 30
    steps: int = 50_000
    every: int = 100
    """Environment steps between two evaluations."""
    only: tuple[str, ...] = tuple(STRATEGIES)
    """Which strategies."""
    together: int = 30
    """Seeds in one program, times the eight learning rates."""
    folder: Path = Path("build/tabular_study")
    """Where finished pieces are kept."""


def study_settings(strategy: Any, learning_rate: float, steps: int, every: int) -> Settings:
    """The numbers of the appendix: ε = 0.2, ρ = 0.5, n = 10, b = 1, replay 100,000."""
    return Settings(
        environment="TabularGridWorld",
        agent=Tabular(learning_rate),
        search_control=strategy,
        training=Training(steps=steps, warmup=0, epsilon=0.2, batch_size=1),
        evaluation=Evaluation(every=every),
    )


def curves_of(name: str, scale: Scale) -> np.ndarray:
    """Returns [learning rates, seeds, evaluations] of a strategy, trained or from the folder."""
    pieces = []
    for first in range(0, scale.seeds, scale.together):
        seeds = list(range(first, min(first + scale.together, scale.seeds)))
        label = f"{name.replace(' ', '-')}_{scale.steps}_{scale.every}_{seeds[0]}-{seeds[-1]}.npy"
        path = scale.folder / label
        if not path.exists():
            start = time.perf_counter()
            every_setting = [
                study_settings(STRATEGIES[name], rate, scale.steps, scale.every)
                for rate in LEARNING_RATES
            ]
            returns = train(every_setting, seeds).returns.mean(axis=-1)
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, returns)
            seconds = time.perf_counter() - start
            speed = returns.shape[0] * returns.shape[1] * scale.steps / seconds
            print(f"{name}, seeds {seeds[0]} to {seeds[-1]}: {seconds:.0f} s, {speed:,.0f} steps/s")
        pieces.append(np.load(path))
    return np.concatenate(pieces, axis=1)


def best_rate(curves: np.ndarray) -> int:
    """The learning rate with the highest mean return over the last 20% of evaluations."""
    return int(np.argmax(at_the_end(curves).mean(axis=1)))


def at_the_end(curves: np.ndarray) -> np.ndarray:
    """Mean over the last 20% of evaluations [..., evaluations]."""
    last = max(1, round(LAST * curves.shape[-1]))
    return curves[..., -last:].mean(axis=-1)


def table_of(found: dict[str, np.ndarray], scale: Scale) -> Table:
    """A row for each strategy, at its best learning rate."""
    table = Table(
        title=f"TabularGridWorld: mean return of the evaluation episode [95% interval], "
        f"{scale.seeds} seeds, {scale.steps:,} steps"
    )
    for heading in ("strategy", "learning rate", "last 20%", "all evaluations", "reaches −100 at"):
        table.add_column(heading, justify="left" if heading == "strategy" else "right")
    for name, curves in found.items():
        best = best_rate(curves)
        chosen = curves[best]
        table.add_row(
            name,
            f"{LEARNING_RATES[best]:g}",
            words(mean_interval(at_the_end(chosen))),
            words(mean_interval(chosen.mean(axis=-1))),
            reaches(chosen.mean(axis=0), scale.every),
        )
    return table


def words(interval: Interval) -> str:
    return f"{interval.mean:.1f} [{interval.low:.1f}, {interval.high:.1f}]"


def reaches(mean: np.ndarray, every: int, goal: float = -100.0, window: int = 10) -> str:
    """The step at which the mean of `window` evaluations first is at least `goal`."""
    smooth = np.convolve(mean, np.ones(window) / window, "valid")
    good = np.flatnonzero(smooth >= goal)
    return f"{(good[0] + window) * every:,}" if len(good) else "–"


def main(scale: Scale) -> None:
    found = {name: curves_of(name, scale) for name in scale.only}
    console = Console(width=110)
    kind = jax.devices()[0].device_kind
    console.print(f"hcdyna {hcdyna.__version__}, jax {jax.__version__}, {kind}")
    console.print(table_of(found, scale))
    ends = {name: at_the_end(curves) for name, curves in found.items()}
    wholes = {name: curves.mean(axis=-1) for name, curves in found.items()}
    console.print(by_rate("Mean return over the last 20% of evaluations, by learning rate", ends))
    console.print(by_rate("Mean return over all evaluations, by learning rate", wholes))


def by_rate(title: str, found: dict[str, np.ndarray]) -> Table:
    """The mean over seeds of numbers [learning rates, seeds], a row for each strategy."""
    table = Table(title=title)
    for heading in ("strategy", *(f"{rate:g}" for rate in LEARNING_RATES)):
        table.add_column(heading, justify="left" if heading == "strategy" else "right")
    for name, per_seed in found.items():
        table.add_row(name, *(f"{mean:.0f}" for mean in per_seed.mean(axis=1)))
    return table


if __name__ == "__main__":
    main(tyro.cli(Scale, description=__doc__))
