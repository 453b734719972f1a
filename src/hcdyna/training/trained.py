"""What can be done with agents once they are trained."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import numpy as np

from hcdyna.errors import SettingsError
from hcdyna.settings import Settings
from hcdyna.training.evaluation import run_episode

AFTERWARDS = 0x504C4159
"""Sets the random numbers of these episodes apart from those of training and its evaluations."""


class TrainedAgent:
    """A policy and its value estimate.

    >>> from hcdyna import Settings, Training, train
    >>> settings = Settings(search_control="uniform", training=Training(steps=200, warmup=100))
    >>> agent = train(settings, seeds=2).agent()
    >>> agent.predict([0.1, 0.1]).shape, agent.predict([[0.1, 0.1], [0.5, 0.4]]).shape
    ((), (2,))
    """

    def __init__(self, settings: Settings, state: Any) -> None:
        self.settings, self.state = settings, state
        self.spec = settings.environment.build().spec
        agent = settings.agent.build(self.spec)
        self._greedy = jax.jit(jax.vmap(agent.greedy, (None, 0)))
        self._value = jax.jit(jax.vmap(agent.value, (None, 0)))

    def predict(self, obs: Any) -> np.ndarray:
        """The best action for an observation [d], or for many [n, d]."""
        return self._for_all(self._greedy, obs)

    def value(self, obs: Any) -> np.ndarray:
        """The value estimate V̂(s) of an observation [d], or of many [n, d]."""
        return self._for_all(self._value, obs)

    def _for_all(self, function: Any, obs: Any) -> np.ndarray:
        shape = self.spec.low.shape
        rows = np.asarray(obs, self.spec.low.dtype)
        one = rows.shape == shape
        if not one and rows.shape[1:] != shape:
            raise SettingsError(
                f"obs of shape {rows.shape}: must be {shape} for one or (n, *{shape}) for many"
            )
        found = np.asarray(function(self.state, rows[None] if one else rows))
        return found[0] if one else found


def evaluate(
    settings: list[Settings], seeds: list[int], agents: Any, episodes: int, epsilon: float | None
) -> tuple[np.ndarray, np.ndarray]:
    """Returns and lengths [settings, seeds, episodes] of trained `agents` [settings·seeds, …]."""
    if episodes < 1:
        raise SettingsError(f"episodes = {episodes}: must be at least 1")
    first = settings[0]
    epsilon = first.evaluation.epsilon if epsilon is None else epsilon
    if not 0 <= epsilon <= 1:
        raise SettingsError(f"epsilon = {epsilon}: must be from 0 to 1")
    env = first.environment.build()
    agent = first.agent.build(env.spec)
    count = len(settings) * len(seeds)

    @jax.jit
    def play(seed: jax.Array, state: Any) -> tuple[jax.Array, jax.Array]:
        key = jax.random.fold_in(jax.random.key(seed), AFTERWARDS)
        episode = partial(run_episode, env=env, agent=agent, state=state, epsilon=epsilon)
        return jax.vmap(episode)(jax.random.split(key, episodes))

    states = jax.tree.map(lambda x: np.asarray(x)[:count], agents)
    found = jax.vmap(play)(np.tile(np.array(seeds, np.uint32), len(settings)), states)
    returns, lengths = (np.asarray(x).reshape(len(settings), len(seeds), -1) for x in found)
    return returns, lengths
