"""How much memory do 30 GridWorld agents take, with the paper's replay buffer and queue?

    python benchmarks/memory.py

Prints the peak resident memory of training, beyond what importing JAX takes.
"""

from __future__ import annotations

import resource
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import tyro

from hcdyna import Evaluation, Settings, Training, train
from hcdyna.numerics.devices import offer_every_core


@dataclass(frozen=True)
class Options:
    """What to train."""

    agents: int = 30
    steps: int = 3_000


def peak_megabytes() -> float:
    """Most memory this process ever had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(options: Options) -> None:
    offer_every_core()
    jax.block_until_ready(jnp.zeros(1) + 1)
    before = peak_megabytes()
    training = Training(steps=options.steps, warmup=1_000)
    settings = Settings(training=training, evaluation=Evaluation(every=1_000))
    train(settings, options.agents)
    print(
        f"{options.agents} agents, replay {training.replay_size:,}, queue 1,000,000: "
        f"{peak_megabytes() - before:,.0f} MB beyond JAX's own {before:,.0f} MB"
    )


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
