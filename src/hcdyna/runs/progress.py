"""The curves and diagnostics of a run as they grow."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hcdyna.settings import Settings

SIGNS_OF_DIVERGENCE = ("loss", "mean_q")
"""Diagnostics that are finite as long as learning is sound."""


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
    diverged: list[np.ndarray] = field(default_factory=list)
    """Whether each agent [settings, seeds] has diverged, then or before."""

    def record(self, step: int, returns: Any, lengths: Any, info: dict[str, Any]) -> None:
        """Take in what the devices answer for all agents, and for the padding behind them."""
        self.steps.append(step)
        self.returns.append(self.by_setting(returns))
        self.lengths.append(self.by_setting(lengths))
        self.info.append({name: self.by_setting(x) for name, x in info.items()})
        broken = self.diverged[-1].copy() if self.diverged else np.zeros(self.shape, bool)
        for name in SIGNS_OF_DIVERGENCE:
            if name in info:
                broken |= ~np.isfinite(self.info[-1][name])
        self.diverged.append(broken)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.settings), len(self.seeds)

    def by_setting(self, x: Any) -> np.ndarray:
        """[agents and padding, …] → [settings, seeds, …], on the host."""
        return np.asarray(x)[: self.shape[0] * self.shape[1]].reshape(*self.shape, *x.shape[1:])
