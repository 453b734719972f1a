"""Does planning with a learned model pay? The table of docs/models.md.

    python benchmarks/learned_model.py --out learned.jsonl
    python benchmarks/learned_model.py --out learned.jsonl --only "no model" "known ends"

HC-Dyna under several models, and the agent with replay alone beside it: mean return after warm-up
and over the last 20%, with 95% intervals, and the p-value of Welch's test against it. What
is in the file already is not trained again. For continuous actions:

    python benchmarks/learned_model.py --out ddpg.jsonl --agent ddpg --planning-steps 5 --seeds 10
        --environments GridWorldContinuous Pendulum-v1 --rates 1e-4
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table
from scipy.stats import ttest_ind

from hcdyna import DDPG, DQN, LearnedModel, Settings, Training, train
from hcdyna.experiments.paper.scale import LEARNED_ENDS
from hcdyna.statistics.summaries import last_share, mean_interval

VARIANTS: dict[str, tuple[str, Any]] = {
    "no model": ("replay", None),
    "true model": ("hill_climbing", "true"),
    "as printed": ("hill_climbing", LEARNED_ENDS),
    "everything learned": ("hill_climbing", LearnedModel(ends="learned")),
    "known ends": ("hill_climbing", LearnedModel()),
    "trust": ("hill_climbing", LearnedModel(ends="learned", trust="trust")),
    "replay": ("hill_climbing", LearnedModel(ends="learned", trust="replay")),
    "5 members, spread": (
        "hill_climbing",
        LearnedModel(ends="learned", members=5, doubt="spread"),
    ),
    "known ends, trust": ("hill_climbing", LearnedModel(trust="trust")),
}
DOMAINS = ("GridWorld", "MountainCar", "CartPole", "Acrobot")


@dataclass(frozen=True)
class Options:
    """What to run."""

    out: Path
    """A file with one line of JSON for each result."""
    environments: tuple[str, ...] = DOMAINS
    only: tuple[str, ...] = tuple(VARIANTS)
    rates: tuple[float, ...] = (1e-3, 1e-4)
    """Learning rates of DQN, or of DDPG's actor; they share a program."""
    agent: Literal["dqn", "ddpg"] = "dqn"
    planning_steps: int = 10
    seeds: int = 30
    steps: int = 50_000


def main(options: Options) -> None:
    results = (
        [json.loads(x) for x in options.out.read_text().splitlines()]
        if options.out.exists()
        else []
    )
    for domain in options.environments:
        for name in options.only:
            key = {
                "domain": domain,
                "variant": name,
                "seeds": options.seeds,
                "steps": options.steps,
            }
            have = [r["rate"] for r in results if key.items() <= r.items()]
            rates = [rate for rate in options.rates if rate not in have]
            if rates:
                new = [key | found for found in trained(domain, name, rates, options)]
                with options.out.open("a") as file:
                    file.writelines(json.dumps(row) + "\n" for row in new)
                results += new
    for rate in options.rates:
        Console(width=100).print(table(results, rate, options))


def trained(domain: str, name: str, rates: list[float], options: Options) -> list[dict[str, Any]]:
    strategy, model = VARIANTS[name]
    settings = [
        Settings(
            environment=domain,
            agent=DQN(rate) if options.agent == "dqn" else DDPG(actor_learning_rate=rate),
            model=model,
            search_control=strategy,
            training=Training(steps=options.steps, planning_steps=options.planning_steps),
        )
        for rate in rates
    ]
    run = train(settings, options.seeds)
    found = []
    for index, rate in enumerate(rates):
        returns = run.returns[index].mean(axis=-1)
        whole = returns[:, run.steps > settings[0].training.warmup].mean(axis=1)
        found.append({"rate": rate, "whole": whole.tolist(), "last": last_share(returns).tolist()})
        print(domain, name, rate, f"{whole.mean():.1f}", flush=True)
    return found


def table(results: list[dict[str, Any]], rate: float, options: Options) -> Table:
    shown = Table(
        title=f"learning rate {rate:g}: mean return after warm-up [95% interval], p; last 20%"
    )
    shown.add_column("")
    for domain in options.environments:
        shown.add_column(domain, justify="right")
    of = {(r["domain"], r["variant"]): r for r in results if r["rate"] == rate
          and (r["seeds"], r["steps"]) == (options.seeds, options.steps)}  # fmt: skip
    for name in options.only:
        cells = []
        for domain in options.environments:
            row, dqn = of.get((domain, name)), of.get((domain, "no model"))
            if row is None:
                cells.append("–")
                continue
            x = mean_interval(np.array(row["whole"]))
            words = f"{x.mean:.0f} [{x.low:.0f}, {x.high:.0f}]"
            if dqn is not None and name != "no model":
                words += (
                    f"\np = {ttest_ind(row['whole'], dqn['whole'], equal_var=False).pvalue:.1g}"
                )
            cells.append(f"{words}\n{np.mean(row['last']):.0f}")
        shown.add_row(name, *cells)
    return shown


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
