"""What does a time step with the default learned model cost, against the paper's own?

    python benchmarks/model_cost.py --environment GridWorld --agents 30

Both in turn, several times in one run: microseconds of a time step of all agents; the ratio is the
median over the rounds. Compiling is not counted.
"""

from dataclasses import dataclass

import numpy as np
import tyro

from hcdyna import DQN, HillClimbing, LearnedModel, Settings, Training
from hcdyna.bench.ours import Ours
from hcdyna.experiments.paper.scale import LEARNED_ENDS

MODELS = {"as printed": LEARNED_ENDS, "default": LearnedModel(ends="learned")}


@dataclass(frozen=True)
class Options:
    """How much to run."""

    environment: str = "GridWorld"
    agents: int = 30
    steps: int = 1_000
    """In a round, of each agent."""
    rounds: int = 5


def program(environment: str, model: LearnedModel, agents: int) -> Ours:
    """HC-Dyna with a model, n = 10, with kernels where they can be used."""
    settings = Settings(
        environment=environment,
        agent=DQN(1e-3),
        model=model,
        search_control=HillClimbing(queue_size=100_000),
        training=Training(planning_steps=10, replay_size=20_000),
    )
    return Ours(settings, agents)


def main(options: Options) -> None:
    programs = {
        name: program(options.environment, model, options.agents) for name, model in MODELS.items()
    }
    ratios = []
    for number in range(options.rounds):
        cost = {
            name: options.agents / ours.measure(options.steps) * 1e6
            for name, ours in programs.items()
        }
        ratios.append(cost["default"] / cost["as printed"])
        words = ", ".join(f"{name} {each:.0f} µs a step" for name, each in cost.items())
        print(f"round {number}: {words}, {ratios[-1]:.2f}", flush=True)
    print(f"default / as printed: {np.median(ratios):.2f} [{min(ratios):.2f}, {max(ratios):.2f}]")


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
