"""What does a time step with the default learned model cost, against the paper's own?

    python benchmarks/model_cost.py --environment GridWorld --agents 30

Both in turn, several times in one run: seconds until the first steps are done (compiling), and
microseconds of a time step of all agents afterwards; the ratio is the median over the rounds.
"""

import time
from dataclasses import dataclass
from functools import partial

import numpy as np
import tyro

from hcdyna import DQN, Evaluation, LearnedModel, Settings, Training, train
from hcdyna.experiments.paper.scale import LEARNED_ENDS
from hcdyna.runs.progress import Progress

MODELS = {"as printed": LEARNED_ENDS, "default": LearnedModel(ends="learned")}


@dataclass(frozen=True)
class Options:
    """How much to run."""

    environment: str = "GridWorld"
    agents: int = 30
    steps: int = 4_000
    rounds: int = 3


def note(times: list[float], progress: Progress) -> None:
    """Remember when a chunk ended."""
    times.append(time.perf_counter())


def main(options: Options) -> None:
    ratios = []
    for number in range(options.rounds):
        cost = {}
        for name, model in MODELS.items():
            settings = Settings(
                environment=options.environment,
                agent=DQN(1e-3),
                model=model,
                training=Training(steps=options.steps, warmup=1_000),
                evaluation=Evaluation(every=500),
            )
            times = [time.perf_counter()]
            train(settings, options.agents, partial(note, times))
            cost[name] = float(np.median(np.diff(times)[4:])) / 500 * 1e6
            print(f"round {number}, {name}: {times[3] - times[0]:.1f} s to compile and start, "
                  f"then {cost[name]:.0f} µs a step", flush=True)  # fmt: skip
        ratios.append(cost["default"] / cost["as printed"])
    print(f"default / as printed: {np.median(ratios):.2f}")


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
