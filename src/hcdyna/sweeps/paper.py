"""Train the cells of the paper's figures: studies of their store, by a worker in this process or by
those of an engine."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax

from hcdyna.experiments.paper.reproduce import Labels, Reproduction
from hcdyna.numerics.devices import available_cores, keep_compiled_programs, offer_every_core
from hcdyna.numerics.surroundings import check_surroundings
from hcdyna.runs.saving import interruptions
from hcdyna.settings.words import count
from hcdyna.sweeps.compiling import idle_cores
from hcdyna.sweeps.status import Status, status
from hcdyna.sweeps.study import Study
from hcdyna.sweeps.sweep import add
from hcdyna.sweeps.worker import Worker

Train = Callable[[Study, float], Any]
"""Trains a study into the store of the figures, and begins nothing after so many seconds."""


def train_figures(
    paper: Reproduction,
    figures: Sequence[str],
    train: Train,
    seeds: int = 0,
    undecided: int | None = None,
    seconds: float = math.inf,
) -> int:
    """Train what is missing of some figures, up to so many `seeds` of each cell. Then give the
    cells of `undecided` claims more, look by look, until all are decided or have so many. How many
    cells are still missing then."""
    end = time.monotonic() + seconds
    missing = train_missing(
        paper, {name: [*paper.cells(name)] for name in figures}, seeds, train, end
    )
    while not missing and undecided and (looks := paper.next_looks(figures, undecided)):
        for look, labels in looks.items():
            cells = count(sum(map(len, labels.values())), "cell")
            paper.say(f"{cells} of undecided claims, up to {look} seeds")
            missing += train_missing(paper, labels, look, train, end)
    return missing


def train_missing(paper: Reproduction, labels: Labels, seeds: int, train: Train, end: float) -> int:
    """Train what the store does not have of some cells; how many are missing after that."""
    wanted, left = paper.lacking(labels, seeds), end - time.monotonic()
    study = Study("paper", paper={"figures": wanted, "scale": paper.scale.name, "seeds": seeds})
    if wanted and left > 0:
        train(study, left)
    return sum(not paper.store.has(asked.cell) for asked in study.cells())


def train_here(paper: Reproduction, study: Study, seconds: float) -> Status:
    """Train a study in this process, and say how it goes."""
    fewest = min(asked.cell.seeds for asked in study.cells())
    if fewest >= 2 * available_cores():
        offer_every_core()  # of fewer agents, one takes care, and leaves the rest to the compiler
    keep_compiled_programs()
    check_surroundings()
    store, planned = add(study, paper.folder, calibrate=False, here=jax.default_backend())
    store.retry()
    paper.say(planned.line())
    with interruptions() as stop:
        Worker(store, paper.say, stop, {*planned.keys}, idle_cores(alone=True)).work(seconds)
    return status(store)
