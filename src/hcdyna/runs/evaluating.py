"""New episodes of all agents of a run, once they are trained."""

from functools import partial
from typing import Any

import jax
import numpy as np

from hcdyna.gymnasium.theirs.environment import on_host
from hcdyna.numerics import memory
from hcdyna.numerics.packing import at_hand
from hcdyna.runs.episodes import AFTERWARDS, checked_episodes, checked_epsilon, run_episode
from hcdyna.runs.playing import returns_and_lengths
from hcdyna.runs.trained import TrainedAgent
from hcdyna.settings import Settings, agent_of


def evaluate(
    settings: list[Settings],
    seeds: list[int],
    agents: Any,
    episodes: int,
    epsilon: float | None,
    scale: Any = (),
) -> tuple[np.ndarray, np.ndarray]:
    """Returns and lengths [settings, seeds, episodes] of trained `agents` [settings·seeds, …].
    `scale` [settings·seeds, 2, d] is that of the run, as in `AgentLife`."""
    episodes, first = checked_episodes(episodes), settings[0]
    epsilon = checked_epsilon(first.evaluation.epsilon if epsilon is None else epsilon)
    count = len(settings) * len(seeds)
    states, scales = jax.tree.map(lambda x: at_hand(x)[:count], (agents, scale))
    seed_of_agent = np.tile(np.array(seeds, np.uint32), len(settings))
    if on_host(first.environment) is not None:
        players = [
            TrainedAgent(
                settings[i // len(seeds)], *jax.tree.map(lambda x, i=i: x[i], (states, scales))
            )
            for i in range(count)
        ]
        found = returns_and_lengths(players, seed_of_agent.tolist(), episodes, epsilon)
    else:
        found = compiled_episodes(first, states, seed_of_agent, episodes, epsilon)
    returns, lengths = (np.asarray(x).reshape(len(settings), len(seeds), -1) for x in found)
    return returns, lengths


def compiled_episodes(
    settings: Settings, states: Any, seeds: np.ndarray, episodes: int, epsilon: float
) -> tuple[Any, Any]:
    """Returns and lengths [agents, episodes] where the world is compiled together with them."""
    env = settings.environment.build()
    agent = agent_of(settings, env.spec)

    def play(seed: jax.Array, state: Any) -> tuple[jax.Array, jax.Array]:
        key = jax.random.fold_in(jax.random.key(seed), AFTERWARDS)
        episode = partial(run_episode, env=env, agent=agent, state=state, epsilon=epsilon)
        return jax.vmap(episode)(jax.random.split(key, episodes))

    first = jax.tree.map(lambda x: x[0], (seeds, states))
    taken = {"the episodes": len(seeds) * memory.working(play, *first)}
    memory.demand(taken, memory.available(), {"the episodes": f"episodes = {episodes}"}, len(seeds))
    return jax.vmap(jax.jit(play))(seeds, states)
