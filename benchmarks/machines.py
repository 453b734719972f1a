"""Do cells of the paper's store come out the same on this machine? Train them again, and compare.

    python benchmarks/machines.py fig4 GridWorld/10/HC-Dyna/1e-3
    python benchmarks/machines.py fig6 DDPG DDPG-HC-Dyna --seeds 10
    python benchmarks/machines.py fig4 GridWorld/10/HC-Dyna/1e-3 --tf32
    python benchmarks/machines.py fig6 --other store-of-another-machine
    python benchmarks/machines.py fig4 --commit f01186a

Seeds are the same but bits are not, since machines round differently; so the mean returns after
warm-up and over the last 20% of evaluations are compared, by a permutation test. With a commit,
nothing is trained: of each cell the seeds that were trained there are compared with the others.
Fails if a difference is significant at 0.01, with Holm's correction for how many were looked at.
"""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import numpy as np
import tyro

from _tf32 import round_products
from hcdyna.experiments.cells import Cell, CellStore, Result, joined
from hcdyna.experiments.paper import figure
from hcdyna.experiments.paper.scale import FULL
from hcdyna.experiments.running import live, trainer_of
from hcdyna.experiments.unfinished import Unfinished
from hcdyna.statistics.comparisons import holm, permutation_test
from hcdyna.statistics.summaries import last_share, mean_interval
from hcdyna.statistics.verdicts import LOOKS


@dataclass(frozen=True)
class Options:
    """What to compare."""

    figure: Annotated[str, tyro.conf.Positional]
    cells: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Names of cells of the figure at full scale; all of them if none is named."""
    seeds: int = FULL.seeds
    tf32: bool = False
    """Round the factors of every product of a network to TF32's ten bits, as GPUs do by default."""
    store: Path = Path("results/paper")
    other: Path | None = None
    """A store to take the cells from instead of training them."""
    commit: str | None = None
    """How a commit begins that trained some of the seeds."""


def main(options: Options) -> int:
    cells = figure(options.figure).cells(FULL)
    unknown = [name for name in options.cells if name not in cells]
    if unknown:
        print(f"{unknown[0]}: must be one of {', '.join(cells)}")
        return 2
    if options.commit is not None and (options.other is not None or options.tf32):
        print("--commit: trains nothing, so that it goes with neither --other nor --tf32")
        return 2
    if options.tf32:
        round_products()
    chances = []
    for name in options.cells or cells:
        pair = both(cells[name], options)
        if pair is None:
            continue
        there, here = pair
        late = there.steps > cells[name].settings.training.warmup
        for words, numbers in (
            ("after warm-up", lambda r, late=late: r[:, late].mean(axis=1)),
            ("last 20%", last_share),
        ):
            a, b = numbers(there.returns), numbers(here.returns)
            chances.append(permutation_test(a, b))
            print(
                f"{name}, {words}: {described(a)} on {there.record['versions']['device']}, "
                f"{described(b)} on {here.record['versions']['device']}, p = {chances[-1]:.2g}",
                flush=True,
            )
    if not chances:
        print(f"{options.figure}: no cell has seeds to compare")
        return 2
    corrected = min(holm(np.array(chances)))
    print(f"the smallest of {len(chances)}: p = {min(chances):.2g}, {corrected:.2g} with Holm")
    return int(corrected < 0.01)


def both(cell: Cell, options: Options) -> tuple[Result, Result] | None:
    """What is in the store, and what to compare it with; None: there is none of one of them."""
    store = CellStore(options.store)
    if options.commit is None:
        if options.other is not None:
            return store.load(cell), CellStore(options.other).load(cell)
        return store.load(cell), trained(replace(cell, seeds=options.seeds))
    parts: tuple[list[Result], list[Result]] = ([], [])
    for block in filter(store.has, cell.blocks(LOOKS[-1])):
        result = store.load(block)
        parts[str(result.record["commit"]).startswith(options.commit)].append(result)
    others, mine = parts
    return (joined(others), joined(mine)) if others and mine else None


def trained(cell: Cell) -> Result:
    group = [cell]
    trainer = trainer_of(group)
    with TemporaryDirectory() as folder:
        unfinished = Unfinished(Path(folder) / "unfinished", trainer)
        (result,) = live(group, trainer, unfinished, lambda line: None, threading.Event())
    return result


def described(scores: np.ndarray) -> str:
    found = mean_interval(scores)
    return f"{found.mean:.1f} [{found.low:.1f}, {found.high:.1f}]"


if __name__ == "__main__":
    sys.exit(main(tyro.cli(Options, description=__doc__)))
