"""Gymnasium environments on the host: the same results as our compiled ones, and how fast.

    python benchmarks/hosted.py same        # CartPole and Acrobot, hosted against compiled
    python benchmarks/hosted.py speed       # steps per second against Stable-Baselines3's DQN
    python benchmarks/hosted.py others      # LunarLander, Pendulum, HalfCheetah: 20,000 steps each

`same` fails if the intervals of the mean returns do not overlap, `speed` if a ratio is below its
bar (8 with one seed, 10 with eight) or HC-Dyna with a learned model takes less than 2,000 steps a
second, `others` if one can't be trained on; what is not installed is left out, and said.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import gymnasium
import numpy as np
import tyro

from hcdyna import DQN, Evaluation, Settings, Training, train
from hcdyna.settings.errors import SettingsError
from hcdyna.statistics.summaries import last_share, mean_interval

PAIRS = {"CartPole": "CartPole-v1", "Acrobot": "Acrobot-v1"}
OTHERS = ("LunarLander-v3", "Pendulum-v1", "HalfCheetah-v5")


@dataclass(frozen=True)
class Options:
    """What to measure."""

    what: Annotated[Literal["same", "speed", "others"], tyro.conf.Positional]
    seeds: int = 10
    steps: int = 30_000
    rounds: int = 3


def same(options: Options) -> bool:
    """Mean return over the last 20% of evaluations, hosted and compiled, with intervals."""
    good = True
    for ours, theirs in PAIRS.items():
        found = {}
        for name in (ours, theirs):
            settings = Settings(
                environment=name,
                agent=DQN(learning_rate=1e-3),
                model="learned",
                search_control="hill_climbing",
                training=Training(steps=options.steps, planning_steps=10),
                evaluation=Evaluation(every=1_000),
            )
            run = train(settings, options.seeds)
            found[name] = mean_interval(last_share(run.mean_returns()))
            each = found[name]
            print(f"{name}: {each.mean:.1f} [{each.low:.1f}, {each.high:.1f}]", flush=True)
        a, b = found.values()
        overlap = bool(a.low <= b.high and b.low <= a.high)
        print(f"{ours}: the intervals {'overlap' if overlap else 'DO NOT OVERLAP'}", flush=True)
        good &= overlap
    return good


def hosted_rate(seeds: int, steps: int = 4_000, climbing: bool = False) -> float:
    """Environment steps per second of all seeds together, learning included, compiling not. Plain
    replay with n = 1; or HC-Dyna with n = 10 and a learned model."""
    settings = Settings(
        environment="CartPole-v1",
        agent=DQN(learning_rate=1e-3),
        model="learned",
        search_control="hill_climbing" if climbing else "replay",
        training=Training(steps=steps, warmup=1_000, planning_steps=10 if climbing else 1),
        evaluation=Evaluation(every=1_000),
    )
    marks: list[tuple[int, float]] = []
    train(settings, seeds, lambda progress: marks.append((progress.steps[-1], time.perf_counter())))
    (first, start), (last, end) = marks[1], marks[-1]
    return seeds * (last - first) / (end - start)


def peer_rate(steps: int = 2_000) -> float:
    """Stable-Baselines3's DQN with the same network, batch and one update a step."""
    from stable_baselines3 import DQN as Peer

    agent = Peer(
        "MlpPolicy",
        gymnasium.make("CartPole-v1"),
        learning_starts=1_000,
        train_freq=1,
        gradient_steps=1,
        batch_size=32,
        buffer_size=100_000,
        policy_kwargs={"net_arch": [32, 32]},
        device="cpu",
    )
    agent.learn(1_500)
    start = time.perf_counter()
    agent.learn(steps, reset_num_timesteps=False)
    return steps / (time.perf_counter() - start)


def speed(options: Options) -> bool:
    """Ours and theirs in turn; evaluations are part of our time."""
    good = True
    climbing = [hosted_rate(1, climbing=True) for _ in range(options.rounds)]
    print(f"HC-Dyna, learned model, n = 10: {np.median(climbing):,.0f} steps a second, bar 2,000")
    good &= bool(np.median(climbing) >= 2_000)
    for seeds, bar in ((1, 8.0), (8, 10.0)):
        ratios = []
        for _ in range(options.rounds):
            ours, theirs = hosted_rate(seeds), peer_rate()
            ratios.append(ours / theirs)
            print(f"{seeds} seeds: {ours:,.0f} against {theirs:,.0f} steps a second", flush=True)
        middle = float(np.median(ratios))
        print(
            f"{seeds} seeds: {middle:.1f} times [{min(ratios):.1f}, {max(ratios):.1f}], bar {bar}"
        )
        good &= middle >= bar
    return good


def others(options: Options) -> bool:
    """20,000 steps of each without an error."""
    for name in OTHERS:
        try:
            settings: Any = Settings(
                environment=name,
                search_control="hill_climbing",
                training=Training(steps=20_000, warmup=1_000, planning_steps=1),
                evaluation=Evaluation(every=5_000),
            )
        except SettingsError as error:
            print(f"{name}: left out ({error})")
            continue
        start = time.perf_counter()
        returns = train(settings, 2).mean_returns()
        seconds = time.perf_counter() - start
        print(f"{name}: {seconds:.0f} s for two seeds, mean returns {returns.mean(axis=0)}")
    return True


if __name__ == "__main__":
    chosen = tyro.cli(Options, description=__doc__)
    sys.exit(not {"same": same, "speed": speed, "others": others}[chosen.what](chosen))
