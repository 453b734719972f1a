"""The board: ours beside what one would use instead, on Gymnasium environments, with few samples.

    python benchmarks/board.py --out results/board
    python benchmarks/board.py --out results/board --seeds 3 --only CartPole-v1 --steps 20000

Stable-Baselines3's agents have the tuned settings of rl-baselines3-zoo; ours have one preset for
each kind of task, with search-control and without. Each agent is evaluated without exploration
every 1,000 steps. Every agent is a line of cells.jsonl, and what is there is not trained again;
the tables and curves are drawn from that file. `make board` installs what it needs: torch,
stable-baselines3 and gymnasium[box2d].
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import tyro
from rich.console import Console
from rich.table import Table
from scipy.stats import ttest_ind

from hcdyna import Evaluation, train
from hcdyna.settings.shorthand import settings_named
from hcdyna.statistics.summaries import mean_interval

EPISODES, EVERY = 5, 1_000
OURS = {"hcdyna": {}, "hcdyna, replay alone": {"search_control": "replay"}}
PRESETS = {"LunarLander-v3": "shaped"}
"""Where rewards differ from step to step; elsewhere ours has the preset `gym`."""
WIDE = {"policy_kwargs": {"net_arch": [256, 256]}}
ZOO: dict[str, dict[str, dict[str, Any]]] = {
    "CartPole-v1": {"DQN": {
        "learning_rate": 2.3e-3, "batch_size": 64, "buffer_size": 100_000, "learning_starts": 1_000,
        "gamma": 0.99, "target_update_interval": 10, "train_freq": 256, "gradient_steps": 128,
        "exploration_fraction": 0.16, "exploration_final_eps": 0.04, **WIDE}},
    "Acrobot-v1": {"DQN": {
        "learning_rate": 6.3e-4, "batch_size": 128, "buffer_size": 50_000, "learning_starts": 0,
        "gamma": 0.99, "target_update_interval": 250, "train_freq": 4, "gradient_steps": -1,
        "exploration_fraction": 0.12, "exploration_final_eps": 0.1, **WIDE}},
    "MountainCar-v0": {"DQN": {
        "learning_rate": 4e-3, "batch_size": 128, "buffer_size": 10_000, "learning_starts": 1_000,
        "gamma": 0.98, "target_update_interval": 600, "train_freq": 16, "gradient_steps": 8,
        "exploration_fraction": 0.2, "exploration_final_eps": 0.07, **WIDE}},
    "LunarLander-v3": {"DQN": {
        "learning_rate": 6.3e-4, "batch_size": 128, "buffer_size": 50_000, "learning_starts": 0,
        "gamma": 0.99, "target_update_interval": 250, "train_freq": 4, "gradient_steps": -1,
        "exploration_fraction": 0.12, "exploration_final_eps": 0.1, **WIDE}},
    "Pendulum-v1": {
        "TD3": {"gamma": 0.98, "buffer_size": 200_000, "learning_starts": 10_000,
                "noise": 0.1, "train_freq": 1, "gradient_steps": 1, "learning_rate": 1e-3,
                "policy_kwargs": {"net_arch": [400, 300]}},
        "SAC": {"learning_rate": 1e-3}},
    "InvertedPendulum-v5": {
        "TD3": {"learning_starts": 10_000, "noise": 0.1, "train_freq": 1, "gradient_steps": 1,
                "learning_rate": 1e-3, "batch_size": 256,
                "policy_kwargs": {"net_arch": [400, 300]}},
        "SAC": {"learning_starts": 10_000}},
}  # fmt: skip
"""From rl-baselines3-zoo at 22e3ff2, hyperparams/*.yml; it has no InvertedPendulum, so that one has
its settings for the other MuJoCo environments."""
ZOO_STEPS = {"CartPole-v1": 50_000, "Acrobot-v1": 100_000, "MountainCar-v0": 120_000,
             "LunarLander-v3": 100_000}  # fmt: skip
"""Steps that the share of exploration is meant of."""
TUNED = {"DQN": "SB3 DQN", "TD3": "SB3 TD3", "SAC": "SB3 SAC"}
SHORT = {"Pendulum-v1": 20_000, "InvertedPendulum-v5": 20_000}
"""Environments that are over sooner, as in the zoo."""
POINTS = (10_000, 20_000, 50_000)


@dataclass(frozen=True)
class Options:
    """What to run."""

    out: Path = Path("results/board")
    """Folder of cells.jsonl, board.md and board.png."""
    seeds: int = 10
    steps: int = 50_000
    """At most: some environments are over sooner."""
    only: tuple[str, ...] = tuple(ZOO)
    who: tuple[str, ...] = (*OURS, *TUNED.values())
    draw: bool = False
    """Only draw what is there."""


def main(options: Options) -> None:
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "cells.jsonl"
    cells = [json.loads(x) for x in path.read_text().splitlines()] if path.exists() else []
    for world in () if options.draw else options.only:
        gymnasium.make(world).close()  # what is not installed is missing at the start
    have = {(c["environment"], c["who"], c["seed"], c["budget"]) for c in cells}
    for world in () if options.draw else options.only:
        budget = min(options.steps, SHORT.get(world, options.steps))
        for who in options.who:
            missing = [s for s in range(options.seeds) if (world, who, s, budget) not in have]
            if not missing or (who not in OURS and who.split()[-1] not in ZOO[world]):
                continue
            make = ours if who in OURS else peer
            for cell in make(world, who, missing, budget):
                cells.append({"environment": world, "who": who, "budget": budget, **cell})
                with path.open("a") as file:
                    file.write(json.dumps(cells[-1]) + "\n")
            print(world, who, f"{np.mean([c['returns'][-1] for c in cells[-len(missing):]]):.1f}",
                  f"{cells[-1]['seconds']:.0f} s a seed", flush=True)  # fmt: skip
    if cells:
        show(cells, options.out)


def ours(world: str, who: str, seeds: list[int], steps: int) -> Iterator[dict[str, Any]]:
    """All seeds in one program."""
    settings = settings_named(world, PRESETS.get(world), steps=steps, **OURS[who])
    evaluation = Evaluation(every=EVERY, episodes=EPISODES, epsilon=0.0)
    start = time.perf_counter()
    run = train(replace(settings, evaluation=evaluation), seeds)
    seconds = (time.perf_counter() - start) / len(seeds)
    for seed, returns in zip(seeds, run.returns[0].mean(axis=-1), strict=True):
        yield curve(seed, run.steps.tolist(), returns.tolist(), seconds)


def peer(world: str, who: str, seeds: list[int], steps: int) -> Iterator[dict[str, Any]]:
    """One agent of Stable-Baselines3 after the other."""
    import torch

    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", category=UserWarning)
    for seed in seeds:
        yield peer_of(world, who.split()[-1], seed, steps)


def peer_of(world: str, kind: str, seed: int, steps: int) -> dict[str, Any]:
    """Of one seed."""
    import stable_baselines3 as sb3
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.evaluation import evaluate_policy
    from stable_baselines3.common.noise import NormalActionNoise
    from stable_baselines3.common.vec_env import DummyVecEnv

    env = gymnasium.make(world)
    # As many environments as episodes, one episode in each: all are asked for in one forward pass.
    test = DummyVecEnv([lambda: gymnasium.make(world)] * EPISODES)
    test.seed(seed + 1_000_000)
    options = dict(ZOO[world][kind])
    if "exploration_fraction" in options:  # over as many steps as there
        share = options["exploration_fraction"] * ZOO_STEPS[world] / steps
        options["exploration_fraction"] = min(1.0, share)
    if "noise" in options:
        size: Any = env.action_space.shape
        noise = options.pop("noise") * np.ones(size)
        options["action_noise"] = NormalActionNoise(np.zeros(size), noise)
    when, returns = [], []

    class Look(BaseCallback):
        def _on_step(self) -> bool:
            if self.num_timesteps % EVERY == 0:
                found, _ = evaluate_policy(self.model, test, EPISODES, deterministic=True)
                when.append(self.num_timesteps)
                returns.append(float(found))
            return True

    start = time.perf_counter()
    model = getattr(sb3, kind)("MlpPolicy", env, seed=seed, device="cpu", **options)
    model.learn(steps, callback=Look())
    return curve(seed, when, returns, time.perf_counter() - start)


def curve(seed: int, steps: list[int], returns: list[float], seconds: float) -> dict[str, Any]:
    """A cell, without what all of a kind share."""
    rounded = [round(x, 2) for x in returns]
    return {"seed": seed, "steps": steps, "returns": rounded, "seconds": round(seconds, 1)}


def show(cells: list[dict[str, Any]], out: Path) -> None:
    """The table and the curves of what is there."""
    import matplotlib.pyplot as plt

    worlds = [world for world in ZOO if any(c["environment"] == world for c in cells)]
    table = Table("", "agent", *(f"{n:,} steps" for n in POINTS), "area", "p", "s", "seeds",
                  title="mean return without exploration [95% interval]")  # fmt: skip
    lines = ["| environment | agent | " + " | ".join(f"{n:,} steps" for n in POINTS)
             + " | area under the curve | p against the best of SB3 | s a seed | seeds |",
             "| --- | --- |" + " --- |" * (len(POINTS) + 4)]  # fmt: skip
    columns = min(3, len(worlds))
    rows_of_panels = -(-len(worlds) // columns)
    size = (4.2 * columns, 3.3 * rows_of_panels)
    figure, axes = plt.subplots(rows_of_panels, columns, figsize=size, squeeze=False)
    for axis in axes.flat[len(worlds) :]:
        axis.set_axis_off()
    for axis, world in zip(axes.flat, worlds, strict=False):
        rows = {
            who: [c for c in cells if (c["environment"], c["who"]) == (world, who)]
            for who in (*OURS, *TUNED.values())
        }
        rows = {who: found for who, found in rows.items() if found}
        areas = {
            who: np.array([np.mean(c["returns"]) for c in found]) for who, found in rows.items()
        }
        peers = [who for who in rows if who not in OURS]
        best = max(peers, key=lambda who: areas[who].mean()) if peers else None
        for who, found in rows.items():
            steps, curves = np.array(found[0]["steps"]), np.array([c["returns"] for c in found])
            colour = f"C{[*OURS, *TUNED.values()].index(who)}"
            axis.plot(steps, curves.mean(axis=0), color=colour, label=f"{who} ({len(found)})")
            if len(found) > 1:
                _, low, high = mean_interval(curves)
                axis.fill_between(steps, low, high, color=colour, alpha=0.15, linewidth=0)
            words = [interval(curves[:, steps == n][:, 0]) if n in steps else "" for n in POINTS]
            p = ""
            if who in OURS and best is not None and min(len(found), len(rows[best])) > 1:
                p = f"{ttest_ind(areas[who], areas[best], equal_var=False).pvalue:.2g}"
            seconds = f"{np.mean([c['seconds'] for c in found]):.0f}"
            row = [who, *words, interval(areas[who]), p, seconds, str(len(found))]
            table.add_row(world if who == next(iter(rows)) else "", *row)
            lines.append("| " + " | ".join([world, *row]) + " |")
        axis.set_title(world)
        axis.legend(fontsize=7)
    for axis in axes[:, 0]:
        axis.set_ylabel("return without exploration")
    for axis in axes[-1]:
        axis.set_xlabel("environment steps")
    figure.tight_layout()
    figure.savefig(out / "board.png", dpi=110)
    (out / "board.md").write_text("\n".join(lines) + "\n")
    Console(width=140).print(table)


def interval(values: np.ndarray) -> str:
    """Mean and 95% interval; of one value, that."""
    if len(values) < 2:
        return f"{values.mean():.0f}"
    found = mean_interval(values)
    return f"{found.mean:.0f} [{found.low:.0f}, {found.high:.0f}]"


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
