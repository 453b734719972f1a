"""Why did, or didn't, planning help? The model, the planned states and the values of trained agents
against what really happened."""

import textwrap
from typing import Any

import jax
import numpy as np

from hcdyna.numerics.devices import start
from hcdyna.runs.diagnosis.causes import judged
from hcdyna.runs.diagnosis.evidence import Evidence
from hcdyna.runs.diagnosis.looking import compiled
from hcdyna.runs.diagnosis.measuring import Measured, measure
from hcdyna.runs.diagnosis.table import WIDTH, Row, in_lines, rows_of
from hcdyna.settings import Settings, part_of, traced_numbers, with_numbers
from hcdyna.settings.errors import RunError


class Diagnosis:
    """What was found out about the agents of one setting; `print` shows all of it."""

    def __init__(self, evidence: Evidence, seeds: list[int]) -> None:
        self.settings, self.seeds = evidence.settings, seeds
        self.measured: Measured = evidence.measured
        """Every number, for each seed [seeds, …]."""
        self.rows: list[Row] = rows_of(evidence)
        """What, at visited states, at planned states."""
        self.cause, self.verdict = judged(evidence)
        """The cause in a word or two (a key of `causes.CAUSES`, or "sound"), and in sentences."""

    def __str__(self) -> str:
        return f"{in_lines(self.rows, len(self.seeds))}\n\n{textwrap.fill(self.verdict, WIDTH)}"


def diagnose(settings: Settings, seeds: list[int], lives: list[Any]) -> Diagnosis:
    """The diagnosis of trained agents of one setting, from the state (`AgentLife`) of each."""
    start()
    numbers = traced_numbers(settings)
    program = compiled(with_numbers(settings, dict.fromkeys(numbers)))
    env = settings.environment.build()
    instead = part_of(settings, "model", env).instead is not None
    found = []
    for seed, life in zip(seeds, lives, strict=True):
        replay = life.dyna.replay
        size = min(int(replay.total), len(replay.data.reward))
        if size == 0:
            raise RunError("no step has been taken yet: there is nothing to diagnose")
        visited = jax.tree.map(lambda x, size=size: x[:size], replay.data)
        said, planned = jax.tree.map(
            np.asarray,
            program(numbers, life.dyna, visited, life.seen, life.scale, np.uint32(seed)),
        )
        found.append(measure(visited, said, planned, env.spec.discount, life.dyna))
    measured = jax.tree.map(lambda *each: np.stack(each), *found)
    return Diagnosis(Evidence(settings, env.spec, measured, instead), seeds)
