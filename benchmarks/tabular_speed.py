"""How fast is the tabular study? The agents of one strategy in one program, in steps per second.

    python benchmarks/tabular_speed.py
    python benchmarks/tabular_speed.py --strategy Gibbs --rounds 3

Measured twice: learning alone, and as the study runs it, with an evaluation every 100 steps.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

import numpy as np
import tyro

from hcdyna import train
from hcdyna.bench.ours import Ours
from tabular_study import LEARNING_RATES, STRATEGIES, study_settings

BAR = 10_000
"""Environment steps per second of all agents together, on two cores."""


@dataclass(frozen=True)
class Options:
    """What to measure."""

    strategy: str = "HC-Dyna"
    seeds: int = 30
    """Times eight learning rates."""
    rounds: int = 5
    seconds: float = 3.0
    """Roughly how long a round of learning alone takes."""


def main(options: Options) -> int:
    strategy = STRATEGIES[options.strategy]
    agents = len(LEARNING_RATES) * options.seeds
    ours = Ours(study_settings(strategy, 0.5, steps=50_000, every=100), agents)
    alone = [ours.measure_for(options.seconds) for _ in range(options.rounds)]
    print(f"{options.strategy}, {agents} agents, compiled in {ours.compile_seconds:.0f} s")
    print(f"learning alone: {describe(alone)}")
    del ours

    every_setting = [
        study_settings(strategy, rate, steps=100 * (options.rounds + 1), every=100)
        for rate in LEARNING_RATES
    ]
    moments: list[float] = []
    train(every_setting, options.seeds, lambda progress: moments.append(time.perf_counter()))
    # The first chunk compiles.
    whole = [100 * agents / float(seconds) for seconds in np.diff(moments)]
    print(f"with an evaluation every 100 steps: {describe(whole)}")
    met = float(np.median(whole)) >= BAR
    print(f"at least {BAR:,} with evaluations: {'met' if met else 'MISSED'}")
    return int(not met)


def describe(rates: list[float]) -> str:
    """The median with the range."""
    return f"{np.median(rates):,.0f} steps/s [{min(rates):,.0f}, {max(rates):,.0f}]"


if __name__ == "__main__":
    sys.exit(main(tyro.cli(Options, description=__doc__)))
