"""Why does HC-Dyna gain so little under learned models? One thing is set right at a time.

    python benchmarks/learned_model.py --seeds 10 --steps 30000

All on one domain with n = 10 and learning rate 1e-3: the model's own learning rate, whether it has
to learn where episodes end, and whether states come from replay or from the climb.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tyro
from rich.console import Console
from rich.table import Table

from hcdyna import DQN, KnownEnd, LearnedModel, Settings, Training, train
from hcdyna.statistics.summaries import last_share, mean_interval

VARIANTS: dict[str, tuple[str, Any]] = {
    "DQN": ("replay", "true"),
    "HC-Dyna, true model": ("hill_climbing", "true"),
    "HC-Dyna, learned model": ("hill_climbing", LearnedModel()),
    "HC-Dyna, learned 10 times faster": ("hill_climbing", LearnedModel(learning_rate=1e-3)),
    "HC-Dyna, learned, end known": ("hill_climbing", KnownEnd()),
    "HC-Dyna, 10 times faster, end known": ("hill_climbing", KnownEnd(learning_rate=1e-3)),
    "OnPolicy-Dyna, learned model": ("on_policy", LearnedModel()),
    "OnPolicy-Dyna, learned, end known": ("on_policy", KnownEnd()),
}


@dataclass(frozen=True)
class Scale:
    """How much to run."""

    environment: str = "GridWorld"
    seeds: int = 30
    steps: int = 50_000


def main(scale: Scale) -> None:
    table = Table(
        title=f"{scale.environment}, n = 10, {scale.seeds} seeds, {scale.steps:,} steps: mean "
        "return [95% interval]"
    )
    for heading in ("", "after warm-up", "last 20%"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, (strategy, model) in VARIANTS.items():
        settings = Settings(
            environment=scale.environment,
            agent=DQN(learning_rate=1e-3),
            model=model,
            search_control=strategy,
            training=Training(steps=scale.steps),
        )
        run = train(settings, scale.seeds)
        returns = run.mean_returns()
        whole = mean_interval(returns[:, run.steps > settings.training.warmup].mean(axis=1))
        end = mean_interval(last_share(returns))
        words = [f"{x.mean:.0f} [{x.low:.0f}, {x.high:.0f}]" for x in (whole, end)]
        print(name, *words, flush=True)
        table.add_row(name, *words)
    Console(width=100).print(table)


if __name__ == "__main__":
    main(tyro.cli(Scale, description=__doc__))
