"""DDPG with replay, OnPolicy-Dyna and HC-Dyna on GridWorld with continuous actions (Figure 6).

    python benchmarks/ddpg.py                # in full: 30 seeds, 50,000 steps, n = 5
    python benchmarks/ddpg.py --seeds 4 --steps 20000 --time-limit 500

    python benchmarks/ddpg.py --tf32 --strategies hill_climbing      # as a GPU rounds by default

The table has the mean return of the evaluation episode with its 95% interval (BCa).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Literal

import jax
import tyro
from rich.console import Console
from rich.table import Table

import hcdyna
from _tf32 import round_products
from hcdyna import DDPG, GridWorldContinuous, Run, Settings, Training, train
from hcdyna.statistics.summaries import mean_interval

VARIANTS = {"replay": "DDPG", "on_policy": "OnPolicy-Dyna", "hill_climbing": "HC-Dyna"}


@dataclass(frozen=True)
class Scale:
    """How much to run."""

    seeds: int = 30
    steps: int = 50_000
    warmup: int = 5_000
    planning_steps: int = 5
    model: Literal["true", "learned"] = "true"
    wall: bool = True
    time_limit: int = 2_000
    """Steps after which an episode is cut; evaluation episodes too, so it bounds the return."""
    columns: int = 4
    """At how many step counts to report, evenly spaced."""
    td3: bool = False
    """Twin critics, a delayed actor and target smoothing."""
    tf32: bool = False
    """Round the factors of every product of a network to TF32's ten bits, on any machine."""
    strategies: tuple[Literal["replay", "on_policy", "hill_climbing"], ...] = (
        "replay",
        "on_policy",
        "hill_climbing",
    )


def main(scale: Scale) -> None:
    runs: dict[str, Run] = {}
    begin = time.perf_counter()
    if scale.tf32:
        round_products()
    for strategy, name in ((each, VARIANTS[each]) for each in scale.strategies):

        def show(progress: Any, name: str = name) -> None:
            if progress.steps[-1] % 5_000 == 0:
                mean, seconds = progress.returns[-1].mean(), time.perf_counter() - begin
                print(
                    f"{name}: {progress.steps[-1]:>7,} steps, mean return {mean:9.1f}, "
                    f"{seconds:.0f} s since the start",
                    flush=True,
                )

        runs[name] = train(settings_of(scale, strategy), scale.seeds, show)
    console = Console(width=110)
    device = jax.devices()[0]
    console.print(f"hcdyna {hcdyna.__version__}, jax {jax.__version__}, {device.device_kind}")
    console.print(table_of(runs, scale))


def settings_of(scale: Scale, strategy: str) -> Settings:
    """One of the three variants."""
    td3 = scale.td3
    return Settings(
        environment=GridWorldContinuous(wall=scale.wall, time_limit=scale.time_limit),
        agent=DDPG(twin_critics=td3, actor_delay=2 if td3 else 1, target_smoothing=td3),
        model=scale.model,
        search_control=strategy,
        training=Training(
            steps=scale.steps, warmup=scale.warmup, planning_steps=scale.planning_steps
        ),
    )


def table_of(runs: dict[str, Run], scale: Scale) -> Table:
    """Mean return and interval at a few step counts."""
    table = Table(
        title=f"GridWorldContinuous, {scale.model} model, n = {scale.planning_steps}, "
        f"{scale.seeds} seeds: mean return of the evaluation episode [95% interval]"
    )
    table.add_column("algorithm")
    count = len(next(iter(runs.values())).steps)
    at = sorted({max(0, round(count * i / scale.columns) - 1) for i in range(1, scale.columns + 1)})
    for i in at:
        table.add_column(f"{next(iter(runs.values())).steps[i]:,} steps", justify="right")
    for name, run in runs.items():
        mean, low, high = mean_interval(run.mean_returns())
        table.add_row(name, *(f"{mean[i]:.0f} [{low[i]:.0f}, {high[i]:.0f}]" for i in at))
    return table


if __name__ == "__main__":
    main(tyro.cli(Scale, description=__doc__))
