"""Plain DQN (replay), OnPolicy-Dyna and HC-Dyna side by side on GridWorld.

Prints a table of the three and writes two pictures: the learning curves, and the value surface of
one HC-Dyna agent with what it plans from.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax
import matplotlib.pyplot as plt
import numpy as np
import tyro
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from hcdyna import DQN, Evaluation, GridWorld, Run, Settings, Training, train
from hcdyna.figures import plots
from hcdyna.runs.snapshots import surface_and_climbs
from hcdyna.statistics.summaries import mean_interval

STRATEGIES = {"replay": "DQN", "on_policy": "OnPolicy-Dyna", "hill_climbing": "HC-Dyna"}


@dataclass(frozen=True)
class Demo:
    """Train three agents side by side on GridWorld; a table and two pictures show the outcome."""

    steps: int = 15_000
    """Environment steps."""
    warmup: int = 5_000
    """Steps before learning starts."""
    seeds: int = 10
    """Agents per strategy."""
    out: Path = Path("demo")
    """Where the pictures go."""


def main(demo: Demo) -> None:
    console = Console()
    demo.out.mkdir(parents=True, exist_ok=True)
    runs = train_all(demo, console)
    console.print(outcome_table(runs))
    draw(runs, demo.out)
    console.print(f"Pictures: {demo.out / 'curves.png'}  {demo.out / 'surface.png'}")


def train_all(demo: Demo, console: Console) -> dict[str, Run]:
    """One program per strategy, one agent per seed."""
    every = max(1, min(500, demo.steps // 10))
    training = Training(steps=demo.steps, warmup=demo.warmup)
    environment = GridWorld(move_noise=0.01, goal_reward=0.0)
    bar = Progress(
        TextColumn("{task.description:<14}"),
        BarColumn(bar_width=10),
        TextColumn("{task.completed:>6.0f} steps"),
        TextColumn("{task.fields[speed]:>13}"),
        TextColumn("{task.fields[outcome]:>18}"),
        TimeRemainingColumn(),
        console=console,
    )
    runs = {}
    with bar:
        for strategy, name in STRATEGIES.items():
            task = bar.add_task(name, total=demo.steps, speed="compiling", outcome="")

            def show(progress: Any, task: Any = task) -> None:
                returns = progress.returns[-1]
                speed = (bar.tasks[task].speed or 0) * demo.seeds
                bar.update(
                    task,
                    completed=progress.steps[-1],
                    speed=f"{speed:,.0f} steps/s",
                    outcome=f"return {returns.mean():.0f} ± {returns.std():.0f}",
                )

            settings = Settings(
                environment=environment,
                agent=DQN(learning_rate=1e-3),
                search_control=strategy,
                training=training,
                evaluation=Evaluation(every=every),
            )
            runs[strategy] = train(settings, demo.seeds, show)
    return runs


def outcome_table(runs: dict[str, Run]) -> Table:
    """Mean return and its 95% interval, halfway and at the end."""
    steps = next(iter(runs.values())).steps
    halfway = len(steps) // 2
    table = Table(title="GridWorld: mean return of an evaluation episode [95% interval over seeds]")
    table.add_column("algorithm")
    table.add_column("plans from")
    for column in (halfway, -1):
        table.add_column(f"at {steps[column]:,} steps", justify="right")
    for strategy, run in runs.items():
        mean, low, high = mean_interval(run.mean_returns())
        cells = [f"{mean[i]:.0f} [{low[i]:.0f}, {high[i]:.0f}]" for i in (halfway, -1)]
        table.add_row(STRATEGIES[strategy], strategy, *cells)
    return table


def draw(runs: dict[str, Run], out: Path) -> None:
    """The learning curves, and what the HC-Dyna agent sees whose climbs lead furthest."""
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    curves = {STRATEGIES[name]: (run.steps, run.mean_returns()) for name, run in runs.items()}
    plots.learning_curves(axes, curves)
    axes.set_title("GridWorld, 10 planning updates a step")
    figure.savefig(out / "curves.png", dpi=150)

    run = runs["hill_climbing"]
    seed = run.seeds[int(np.argmin(ways_left(run)))]
    figure, axes = plt.subplots(figsize=(7, 6), layout="constrained")
    plots.value_surface(axes, run.settings[0], run.state(seed))
    axes.set_title(f"HC-Dyna after {run.steps[-1]:,} steps (seed {seed})")
    figure.legend(loc="outside lower center", ncols=3, facecolor="#21918c", labelcolor="white")
    figure.savefig(out / "surface.png", dpi=150)


def ways_left(run: Run) -> np.ndarray:
    """Mean distance from the goal at which climbs on each agent's value estimate end [seeds]."""
    env = run.settings[0].environment.build()
    value = run.settings[0].agent.build(env.spec).value
    look = jax.jit(jax.vmap(partial(surface_and_climbs, env, value, points=2)))
    _, climbs = look(run.final().dyna.agent)
    return np.linalg.norm(np.asarray(env.spec.high) - climbs[:, :, -1], axis=-1).mean(axis=-1)


if __name__ == "__main__":
    main(tyro.cli(Demo, description=__doc__))
