"""Evaluation episodes, on an environment and random numbers of their own."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from hcdyna.numerics import ring
from hcdyna.runs.episodes import run_episode
from hcdyna.search_control.moments import distance
from hcdyna.settings import Settings, agent_of
from hcdyna.types import Array, Environment, Info, Key, Model

STREAM = 0x45564C
"""Sets the random numbers of evaluation apart from those of training with the same seed."""

TRIED = 128
"""Transitions that the model is tried on."""


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
    info: Info = {}
    if jax.tree.leaves(state.model):  # else it learns nothing, or nobody asks it
        info["model_error"] = model_error(model_key, env, settings.model.build(env), state)
    return returns, lengths, info


def model_error(key: Key, env: Environment, model: Model, state: Any) -> Array:
    """Mean distance ‖ŝ′ − s′‖₂/√d between the model's and the true next state, on replayed steps.

    Where the world is stochastic, its own spread is part of this.
    """
    replay_key, model_key, env_key = jax.random.split(key, 3)
    rows = ring.sample(replay_key, state.replay, TRIED)

    def error(model_key: Key, env_key: Key, obs: Array, action: Array) -> Array:
        predicted = model.predict(model_key, state.model, obs, action).next_obs
        return distance(predicted, env.dynamics(env_key, obs, action).next_obs)

    model_keys, env_keys = (jax.random.split(key, TRIED) for key in (model_key, env_key))
    return jnp.mean(jax.vmap(error)(model_keys, env_keys, rows.obs, rows.action))
