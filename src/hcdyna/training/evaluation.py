"""Evaluation episodes, on an environment and random numbers of their own."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from hcdyna.settings import Settings
from hcdyna.types import Agent, Array, Environment, Key

STREAM = 0x45564C
"""Sets the random numbers of evaluation apart from those of training with the same seed."""


class Episode(NamedTuple):
    """An episode under way."""

    key: Key
    obs: Array
    total: Array
    length: Array
    over: Array


def evaluate_agent(settings: Settings, state: Any, seed: Array, step: Array) -> tuple[Array, Array]:
    """Returns and lengths [episodes] of the agent `state`, as it was after `step` steps."""
    env = settings.environment.build()
    agent = settings.agent.build(env.spec)
    key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), STREAM), step)
    keys = jax.random.split(key, settings.evaluation.episodes)
    epsilon = settings.evaluation.epsilon
    return jax.vmap(lambda key: run_episode(key, env, agent, state, epsilon))(keys)


def run_episode(
    key: Key, env: Environment, agent: Agent, state: Any, epsilon: Array | float
) -> tuple[Array, Array]:
    """The sum of rewards and the number of steps of one episode, cut at the time limit.

    Discrete actions are ε-greedy; continuous ones are without noise, whatever ε.
    """
    key, reset_key = jax.random.split(key)
    zero = jnp.zeros(())
    start = Episode(key, env.reset(reset_key), zero, jnp.zeros((), jnp.int32), zero > 1)

    def step(episode: Episode) -> Episode:
        key, act_key, env_key = jax.random.split(episode.key, 3)
        if env.spec.num_actions is None:
            action = agent.greedy(state, episode.obs)
        else:
            action = agent.act(act_key, state, episode.obs, epsilon)
        outcome = env.dynamics(env_key, episode.obs, action)
        length = episode.length + 1
        over = outcome.terminated | (length >= env.spec.time_limit)
        return Episode(key, outcome.next_obs, episode.total + outcome.reward, length, over)

    end = jax.lax.while_loop(lambda episode: ~episode.over, step, start)
    return end.total, end.length
