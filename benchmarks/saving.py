"""What does it cost to keep a run in a folder? The share of its time that goes into saving.

python benchmarks/saving.py            # 30 agents, replay 100,000, queue 1,000,000
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import tyro

from hcdyna import Settings, Training, train
from hcdyna.runs.saving import Saving
from hcdyna.training.compiled import AgentLife


@dataclass(frozen=True)
class Options:
    """What to train."""

    agents: int = 30
    steps: int = 20_000
    """Environment steps; the queue is full after some 15,000."""
    planning_steps: int = 10


def main(options: Options) -> None:
    settings = Settings(
        training=Training(steps=options.steps, planning_steps=options.planning_steps)
    )
    spent: list[float] = []
    saving = Saving.__call__

    def timed(self: Saving, life: AgentLife, step: int, now: bool) -> None:
        # The device may still be at work on this chunk; that is not the cost of saving it.
        life.obs.block_until_ready()
        start = time.perf_counter()
        saving(self, life, step, now)
        spent.append(time.perf_counter() - start)

    Saving.__call__ = timed  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory() as place:
        start = time.perf_counter()
        run = train(settings, options.agents, out=place, progress=False)
        total = time.perf_counter() - start
        folder = Path(place)
        sizes = [path.stat().st_size for path in folder.glob("checkpoints/*")]
        saves = len(list(folder.glob("curves/*")))
    print(
        f"{options.agents} agents, {options.steps:,} steps, {len(run.steps)} evaluations: "
        f"{total:.0f} s in all, {sum(spent):.1f} s of it in {saves} saves "
        f"({100 * sum(spent) / total:.1f}%); a checkpoint takes up to {max(sizes) / 1e6:.0f} MB"
    )


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
