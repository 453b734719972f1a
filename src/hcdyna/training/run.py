"""What training leaves behind, in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np

from hcdyna.settings import Settings


class Progress(NamedTuple):
    """What is known so far; lists grow by one entry per evaluation."""

    settings: list[Settings]
    seeds: list[int]
    steps: list[int]
    returns: list[np.ndarray]
    """Each [settings, seeds, episodes]."""
    lengths: list[np.ndarray]
    info: list[dict[str, np.ndarray]]
    """Diagnostics, each averaged over the chunk: [settings, seeds]."""


@dataclass(frozen=True)
class Run:
    """Curves and final states of all agents of one program."""

    settings: list[Settings]
    seeds: list[int]
    steps: np.ndarray
    """[evaluations] environment steps at which the agents were evaluated."""
    returns: np.ndarray
    """[settings, seeds, evaluations, episodes] sums of rewards."""
    lengths: np.ndarray
    info: list[dict[str, np.ndarray]]
    life: Any

    @staticmethod
    def finished(progress: Progress, life: Any, agents: int) -> Run:
        return Run(
            settings=progress.settings,
            seeds=progress.seeds,
            steps=np.array(progress.steps),
            returns=np.stack(progress.returns, axis=2),
            lengths=np.stack(progress.lengths, axis=2),
            info=progress.info,
            life=life,
        )

    def curves(self, setting: int = 0) -> np.ndarray:
        """[seeds, evaluations] mean return of each evaluation."""
        return self.returns[setting].mean(axis=-1)

    def state(self, seed: int, setting: int = 0) -> Any:
        """The final DynaState of one agent, on the host."""
        index = setting * len(self.seeds) + self.seeds.index(seed)
        return jax.tree.map(lambda x: np.asarray(x[index]), self.life.dyna)
