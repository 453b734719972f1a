"""A first agent: train HC-Dyna on GridWorld, save the run, evaluate and plot it.

    python examples/first_agent.py --out runs/first_agent

Stop it with Ctrl-C at any time: the same command resumes the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tyro

from hcdyna import DQN, Evaluation, HillClimbing, Settings, Training, load_run, train
from hcdyna.figures.plots import plot_agent, plot_curves, save_figure


@dataclass(frozen=True)
class Options:
    """How much to train."""

    steps: int = 15_000
    """Environment steps, warm-up included."""
    warmup: int = 5_000
    """Steps with random actions before learning starts."""
    seeds: int = 3
    """Agents, all trained in one program."""
    out: Path = Path("runs/first_agent")
    """Folder of the run, and of two pictures."""


def main(options: Options) -> None:
    settings = Settings(
        environment="GridWorld",
        agent=DQN(learning_rate=1e-3),
        model="true",
        search_control=HillClimbing(steps=100, eta=0.1, queue_size=100_000),
        training=Training(
            steps=options.steps, warmup=options.warmup, planning_steps=10, replay_size=20_000
        ),
        evaluation=Evaluation(every=max(1, options.steps // 30)),
    )
    train(settings, seeds=options.seeds, out=options.out)

    run = load_run(options.out)  # from here on another process could do the rest
    print("mean return of each agent's last evaluation:", run.mean_returns()[:, -1])
    returns, lengths = run.evaluate(episodes=5)
    print("of five new episodes each:", returns[0].mean(axis=-1), "in steps:", lengths[0].mean())
    agent = run.agent(seed=0)
    print("action at the start:", agent.predict([0.02, 0.02]), "V̂:", agent.value([0.02, 0.02]))
    print(save_figure(plot_curves(run), options.out / "curves.png"))
    print(save_figure(plot_agent(run, seed=0), options.out / "agent.png"))


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
