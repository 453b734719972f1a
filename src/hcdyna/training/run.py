"""What training leaves behind, in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from hcdyna.settings import Settings


@dataclass
class Progress:
    """What is known so far; the lists grow by one entry per evaluation."""

    settings: list[Settings]
    seeds: list[int]
    steps: list[int] = field(default_factory=list)
    """Environment steps at each evaluation."""
    returns: list[np.ndarray] = field(default_factory=list)
    """Sums of rewards, each [settings, seeds, episodes]."""
    lengths: list[np.ndarray] = field(default_factory=list)
    """Lengths of the same episodes."""
    info: list[dict[str, np.ndarray]] = field(default_factory=list)
    """Diagnostics, each the mean [settings, seeds] over the steps just before the evaluation."""

    def record(self, step: int, returns: Any, lengths: Any, info: dict[str, Any]) -> None:
        """Take in what the devices answer for all agents, and for the padding behind them."""
        self.steps.append(step)
        self.returns.append(self.by_setting(returns))
        self.lengths.append(self.by_setting(lengths))
        self.info.append({name: self.by_setting(x) for name, x in info.items()})

    def by_setting(self, x: Any) -> np.ndarray:
        """[agents and padding, …] → [settings, seeds, …], on the host."""
        shape = (len(self.settings), len(self.seeds))
        return np.asarray(x)[: shape[0] * shape[1]].reshape(*shape, *x.shape[1:])


@dataclass(frozen=True)
class Run:
    """Curves and final states of all agents of one program."""

    settings: list[Settings]
    seeds: list[int]
    steps: np.ndarray
    """[evaluations]"""
    returns: np.ndarray
    """[settings, seeds, evaluations, episodes]"""
    lengths: np.ndarray
    """[settings, seeds, evaluations, episodes]"""
    info: list[dict[str, np.ndarray]]
    """One entry per evaluation, each [settings, seeds]."""
    life: Any
    """The final state of all agents, still on the devices."""

    @staticmethod
    def finished(progress: Progress, life: Any) -> Run:
        """The run that this was the progress of."""
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
