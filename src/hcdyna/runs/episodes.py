"""How an agent acts: one action of its behaviour, and one whole episode in a compiled world."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from hcdyna.numerics.devices import most_turns_at_once
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.fields import MOST_EPISODES, is_real, settled, shown
from hcdyna.types import Agent, Array, Environment, Key, Spec

AFTERWARDS = 0x504C4159
"""Sets the random numbers of these episodes apart from those of training and its evaluations."""


def checked_epsilon(epsilon: Any) -> float:
    """ε itself, if it can be one."""
    if not is_real(epsilon) or not 0 <= epsilon <= 1:
        raise SettingsError(f"epsilon = {shown(epsilon)}: must be a number from 0 to 1")
    return float(epsilon)


def checked_episodes(episodes: Any) -> int:
    """The number of episodes, if it can be one."""
    found = settled(episodes, int)
    if type(found) is not int or not 1 <= found <= MOST_EPISODES:
        raise SettingsError(
            f"episodes = {shown(episodes)}: must be a whole number from 1 to {MOST_EPISODES}"
        )
    return found


def behave(
    spec: Spec, agent: Agent, state: Any, obs: Array, key: Key, epsilon: Array | float
) -> Array:
    """One action of the behaviour, with noise of its own where actions are continuous."""
    if spec.num_actions is not None or agent.explore is None:
        return agent.act(key, state, obs, epsilon)
    normal = jax.random.normal(key, (spec.action_size or 0,))
    return jnp.where(epsilon > 0, agent.explore(state, obs, normal), agent.greedy(state, obs))


def behave_in_all(
    spec: Spec, agent: Agent, state: Any, obs: Array, seed: Array, epsilon: Array
) -> Array:
    """Actions [n, …] of the behaviour in obs [n, d]; a row does not depend on those behind it."""
    numbers = jnp.arange(len(obs))
    keys = jax.vmap(jax.random.fold_in, (None, 0))(jax.random.key(seed), numbers)
    action = partial(behave, spec, agent, state, epsilon=epsilon)
    return jax.vmap(action)(obs, keys)


class EpisodeState(NamedTuple):
    """An episode under way."""

    key: Key
    obs: Array
    total: Array
    length: Array
    over: Array


def run_episode(
    key: Key, env: Environment, agent: Agent, state: Any, epsilon: Array | float
) -> tuple[Array, Array]:
    """The sum of rewards and the number of steps of one episode, cut at the time limit. Discrete
    actions are ε-greedy; continuous ones are without noise, whatever ε."""
    key, reset_key = jax.random.split(key)
    zero = jnp.zeros(())
    start = EpisodeState(key, env.reset(reset_key), zero, jnp.zeros((), jnp.int32), zero > 1)

    def step(episode: EpisodeState) -> EpisodeState:
        key, act_key, env_key = jax.random.split(episode.key, 3)
        if env.spec.num_actions is None:
            action = agent.greedy(state, episode.obs)
        else:
            action = agent.act(act_key, state, episode.obs, epsilon)
        outcome = env.dynamics(env_key, episode.obs, action)
        length = episode.length + 1
        over = outcome.terminated | (length >= env.spec.time_limit)
        return EpisodeState(key, outcome.next_obs, episode.total + outcome.reward, length, over)

    def unless_over(_: int, episode: EpisodeState) -> EpisodeState:
        return jax.tree.map(partial(jnp.where, episode.over), episode, step(episode))

    block, turn = most_turns_at_once(), step
    if block > 1:
        turn = partial(jax.lax.fori_loop, 0, block, unless_over)
    end = jax.lax.while_loop(lambda episode: ~episode.over, turn, start)
    return end.total, end.length
