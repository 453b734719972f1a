"""The policy of each agent that did best in an evaluation, kept while training goes on."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from hcdyna.gymnasium.theirs.environment import is_scaled
from hcdyna.runs.checkpoint import on_host
from hcdyna.runs.policy_file import SCALE, filled, named_leaves, state_and_read
from hcdyna.runs.progress import Progress
from hcdyna.runs.trained import TrainedAgent
from hcdyna.settings import Settings
from hcdyna.settings.errors import RunError
from hcdyna.settings.plain import to_act

PREFIX = "best/"
"""Of its arrays in a checkpoint, so that the two always are of the same moment."""


class Best:
    """Of each agent: the highest mean return of an evaluation, its step, and what the policy read
    then. Of equal returns, the first counts; those of diverged agents never do."""

    def __init__(self, agents: int) -> None:
        self.returns = np.full(agents, -np.inf)
        self.steps = np.zeros(agents, np.int64)
        self.policy: dict[str, np.ndarray] = {}
        """Name of a leaf → array [agents, …]."""

    def look(self, life: Any, progress: Progress) -> None:
        """Keep the policies that did better in the latest evaluation than ever before."""
        agents = len(self.returns)
        returns = progress.returns[-1].reshape(agents, -1).mean(axis=1)
        better = np.isfinite(returns) & ~progress.diverged[-1].ravel() & (returns > self.returns)
        if not better.any():
            return
        self.returns[better], self.steps[better] = returns[better], progress.steps[-1]
        names = self.policy or read_by_policy(progress.settings[0])
        leaves = named_leaves(life.dyna.agent)
        leaves |= {SCALE: life.scale} if len(life.scale) else {}
        for name in names:
            now = on_host(leaves[name], agents)
            kept = self.policy.setdefault(name, np.zeros_like(now))
            kept[better] = now[better]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """For a checkpoint."""
        numbers = {"returns": self.returns, "steps": self.steps}
        policy = {f"policy/{name}": x for name, x in self.policy.items()}
        return {f"{PREFIX}{name}": x for name, x in (numbers | policy).items()}

    @staticmethod
    def taken_from(arrays: dict[str, np.ndarray], agents: int) -> Best:
        """Take it out of the arrays of a checkpoint; those of before it was kept have none."""
        names = [name for name in arrays if name.startswith(PREFIX)]
        mine = {name.removeprefix(PREFIX): arrays.pop(name) for name in names}
        best = Best(agents)
        if not mine:
            return best
        if {"returns", "steps"} - mine.keys() or any(len(x) != agents for x in mine.values()):
            raise RunError("checkpoint: the best policies do not belong to this run")
        best.returns, best.steps = mine.pop("returns"), mine.pop("steps")
        best.policy = {name.removeprefix("policy/"): x for name, x in mine.items()}
        return best

    def agent(self, index: int, settings: Settings, seed: int) -> TrainedAgent:
        """The policy of one agent, ready to act."""
        settings = to_act(settings)
        like, _ = state_and_read(settings)
        mine = {name: x[index] for name, x in self.policy.items()}
        scale = mine.pop(SCALE, ())
        about = (
            f"seed {seed}, best return {self.returns[index]:.1f} after {self.steps[index]:,} steps"
        )
        return TrainedAgent(settings, filled(like, mine), scale, about)

    def states(self, settings: Settings) -> tuple[Any, Any]:
        """States and scales of all agents [agents, …], as those of a run."""
        like, _ = state_and_read(to_act(settings))
        agents = len(self.returns)
        many = jax.tree.map(lambda x: jax.ShapeDtypeStruct((agents, *x.shape), x.dtype), like)
        policy = dict(self.policy)
        scale = policy.pop(SCALE, ())
        return filled(many, policy), scale


def read_by_policy(settings: Settings) -> set[str]:
    """The names of what is kept of an agent."""
    return state_and_read(settings)[1] | ({SCALE} if is_scaled(settings.environment) else set())
