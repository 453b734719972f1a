"""Evaluation episodes, on an environment and random numbers of their own."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from hcdyna.numerics import ring
from hcdyna.runs.episodes import run_episode
from hcdyna.settings import Settings, agent_of, part_of
from hcdyna.types import Array, Environment, Info, Key

STREAM = 0x45564C
"""Sets the random numbers of evaluation apart from those of training with the same seed."""

TRIED = 512
"""Transitions that the model is tried on."""
MOST_NAMED = 16
"""Variables whose errors are told one by one."""


def evaluate_agent(
    settings: Settings, state: Any, seed: Array, step: Array
) -> tuple[Array, Array, Info]:
    """Returns and lengths [episodes] of the DynaState `state`, as it was after `step` steps."""
    env = settings.environment.build()
    agent = agent_of(settings, env.spec)
    key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), STREAM), step)
    episode_key, model_key = jax.random.split(key)
    keys = jax.random.split(episode_key, settings.evaluation.episodes)
    episode = partial(
        run_episode, env=env, agent=agent, state=state.agent, epsilon=settings.evaluation.epsilon
    )
    returns, lengths = jax.vmap(episode)(keys)
    return returns, lengths, model_errors(model_key, env, settings, state)


def model_errors(key: Key, env: Environment, settings: Settings, state: Any) -> Info:
    """How wrong the model of the DynaState `state` is on replayed steps; {} if it learns nothing.

    `model_error_i` is the root mean square error of variable i of the next state, in units of the
    real change: 1 is no better than saying that nothing moves. `model_error` is their mean. Of the
    steps tried, `ends_seen` ended an episode; the model missed some, and imagined others.
    """
    if not jax.tree.leaves(state.model):
        return {}
    replay_key, model_key = jax.random.split(key)
    rows = ring.sample(replay_key, state.replay, TRIED)
    predict = jax.vmap(part_of(settings, "model", env).predict, (0, None, 0, 0))
    outcome = predict(jax.random.split(model_key, TRIED), state.model, rows.obs, rows.action)
    real, wrong = (
        jnp.sqrt(jnp.mean(jnp.square((x - y).reshape(TRIED, -1).astype(jnp.float32)), axis=0))
        for x, y in ((rows.next_obs, rows.obs), (outcome.next_obs, rows.next_obs))
    )
    each = wrong / jnp.where(real > 0, real, 1.0)
    named = {f"model_error_{i}": each[i] for i in range(len(each)) if len(each) <= MOST_NAMED}
    ended = rows.discount == 0.0
    return named | {
        "model_error": jnp.mean(each),
        "ends_seen": jnp.sum(ended),
        "ends_missed": jnp.sum(ended & ~outcome.terminated),
        "ends_imagined": jnp.sum(outcome.terminated & ~ended),
    }
