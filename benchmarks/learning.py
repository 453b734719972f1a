"""Does it learn as it should? HC-Dyna against plain replay on two domains, with the known bars.

    python benchmarks/learning.py            # in full: 30 seeds, 50,000 steps
    python benchmarks/learning.py --seeds 4 --steps 20000

Exits with 1 if a bar that can be judged at this scale is missed.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Literal

import jax
import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

import hcdyna
from hcdyna import DQN, GridWorld, MountainCar, Run, Settings, Training, train
from hcdyna.statistics.summaries import mean_interval

DOMAINS: dict[str, Any] = {
    "GridWorld (authors)": GridWorld(move_noise=0.01, goal_reward=0.0),
    "MountainCar": MountainCar(),
}


@dataclass(frozen=True)
class Bar:
    """A mean return that must be above (or below) a bound at some step; None: at the end."""

    domain: str
    strategy: str
    step: int | None
    bound: float
    above: bool


BARS = [
    Bar("GridWorld (authors)", "hill_climbing", None, -60, above=True),
    Bar("GridWorld (authors)", "hill_climbing", 20_000, -150, above=True),
    Bar("GridWorld (authors)", "replay", 20_000, -500, above=False),
    Bar("MountainCar", "hill_climbing", 20_000, -350, above=True),
    Bar("MountainCar", "replay", 20_000, -700, above=False),
]


@dataclass(frozen=True)
class Scale:
    """How much to run."""

    seeds: int = 30
    steps: int = 50_000
    planning_steps: int = 10
    learning_rate: float = 1e-3
    domain: Literal["all", "GridWorld", "MountainCar"] = "all"


def main(scale: Scale) -> int:
    console = Console(width=100)
    runs: dict[tuple[str, str], Run] = {}
    chosen = {
        name: env for name, env in DOMAINS.items() if scale.domain in ("all", env.build().spec.name)
    }
    for domain, environment in chosen.items():
        for strategy in ("replay", "hill_climbing"):
            settings = Settings(
                environment=environment,
                agent=DQN(learning_rate=scale.learning_rate),
                search_control=strategy,
                training=Training(steps=scale.steps, planning_steps=scale.planning_steps),
            )

            def show(progress: Any, name: str = f"{domain}, {strategy}") -> None:
                if progress.steps[-1] % 5_000 == 0:
                    mean = progress.returns[-1].mean()
                    print(
                        f"{name}: {progress.steps[-1]:>7,} steps, mean return {mean:9.1f}",
                        flush=True,
                    )

            runs[domain, strategy] = train(settings, scale.seeds, show)
    device = jax.devices()[0]
    console.print(f"hcdyna {hcdyna.__version__}, jax {jax.__version__}, {device.device_kind}")
    console.print(table_of(runs, scale))
    bars = [bar for bar in BARS if bar.domain in chosen]
    results = [judge(bar, runs[bar.domain, bar.strategy]) for bar in bars]
    for bar, (words, _) in zip(bars, results, strict=True):
        console.print(f"{bar.domain}, {bar.strategy}: {words}")
    return int(any(met is False for _, met in results))


def table_of(runs: dict[tuple[str, str], Run], scale: Scale) -> Table:
    """Mean return and interval at 20,000 steps and at the end."""
    title = (
        f"Mean return of the evaluation episode [95% interval], {scale.seeds} seeds, "
        f"n = {scale.planning_steps}, learning rate {scale.learning_rate:g}"
    )
    table = Table(title=title)
    for heading in ("domain", "strategy", "20,000 steps", f"{scale.steps:,} steps"):
        table.add_column(heading)
    for (domain, strategy), run in runs.items():
        mean, low, high = mean_interval(run.mean_returns())
        cells = []
        for step in (20_000, None):
            at = column(run, step)
            text = "–" if at is None else f"{mean[at]:.1f} [{low[at]:.1f}, {high[at]:.1f}]"
            cells.append(text)
        table.add_row(domain, strategy, *cells)
    return table


def column(run: Run, step: int | None) -> int | None:
    """Which evaluation was made at `step`; None if none was."""
    if step is None:
        return len(run.steps) - 1
    found = np.flatnonzero(run.steps == step)
    return int(found[0]) if len(found) else None


def judge(bar: Bar, run: Run) -> tuple[str, bool | None]:
    """A sentence, and whether the bar is met; None where this scale can't tell."""
    when = "at the end" if bar.step is None else f"at {bar.step:,} steps"
    wanted = f"{'above' if bar.above else 'below'} {bar.bound:g} {when}"
    at = column(run, bar.step)
    full = bar.step is not None or run.steps[-1] >= 50_000
    if at is None or not full:
        return f"{wanted}: not judged at this scale", None
    mean = float(run.mean_returns().mean(axis=0)[at])
    met = mean > bar.bound if bar.above else mean < bar.bound
    return f"{wanted}: {mean:.1f}, {'met' if met else 'MISSED'}", met


if __name__ == "__main__":
    sys.exit(main(tyro.cli(Scale, description=__doc__)))
