"""How good a policy is, ours or another library's, in any Gymnasium environment."""

import contextlib
from collections.abc import Callable
from typing import Any, Literal, overload

import gymnasium
import numpy as np
from gymnasium.wrappers import TimeLimit

from hcdyna.gymnasium.ours.adapter import AsGymnasium
from hcdyna.gymnasium.theirs.environment import LONGEST, on_host
from hcdyna.gymnasium.theirs.making import time_limit
from hcdyna.runs.episodes import checked_episodes
from hcdyna.runs.playing import returns_and_lengths
from hcdyna.runs.trained import TrainedAgent
from hcdyna.settings import registry
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.fields import checked_seed, shown

EnvironmentLike = gymnasium.Env | Callable[[], gymnasium.Env] | str
"""A Gymnasium environment, a function that makes one, or its name."""


@overload
def evaluate(
    agent: Any,
    env: EnvironmentLike | None = None,
    episodes: int = 10,
    *,
    deterministic: bool = True,
    seed: int = 0,
    return_episodes: Literal[False] = False,
) -> tuple[float, float]: ...


@overload
def evaluate(
    agent: Any,
    env: EnvironmentLike | None = None,
    episodes: int = 10,
    *,
    deterministic: bool = True,
    seed: int = 0,
    return_episodes: Literal[True],
) -> tuple[np.ndarray, np.ndarray]: ...


def evaluate(
    agent: Any,
    env: EnvironmentLike | None = None,
    episodes: int = 10,
    *,
    deterministic: bool = True,
    seed: int = 0,
    return_episodes: bool = False,
) -> tuple[Any, Any]:
    """Mean and standard deviation of the return, or, with `return_episodes`, the return and the
    length of each episode, both [episodes].

    The agent is one of ours, or any object with `predict(obs, deterministic=True)`, such as a model
    of Stable-Baselines3. The environment is an object, a function that makes one, or a name; by
    default the one that the agent was trained on. Episodes are seeded with `seed`, `seed` + 1, …,
    so that agents can be compared on the same episodes. Without a time limit they are cut after
    5,000 steps.
    """
    if not callable(getattr(agent, "predict", None)):
        raise SettingsError(f"agent = {shown(agent)}: must have a method predict")
    episodes, seed = checked_episodes(episodes), checked_seed(seed)
    if env is not None:
        returns, lengths = in_world(agent, env, episodes, deterministic, seed)
    elif isinstance(agent, TrainedAgent):
        epsilon = 0.0 if deterministic else agent.settings.training.epsilon
        found = returns_and_lengths([agent], [seed], episodes, epsilon)
        returns, lengths = (each[0] for each in found)
    else:
        raise SettingsError("env = None: only agents of hcdyna know where they were trained")
    if return_episodes:
        return returns, lengths
    return float(returns.mean()), float(returns.std())


def in_world(
    agent: Any, env: EnvironmentLike, episodes: int, deterministic: bool, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Returns and lengths [episodes]; what is made here is closed, what is given stays open."""
    returns, lengths = np.zeros(episodes), np.zeros(episodes, int)
    with contextlib.ExitStack() as stack:
        if isinstance(env, gymnasium.Env):
            world: Any = env
        else:
            world = stack.enter_context(contextlib.closing(made(env)))
        longest = time_limit(world) or LONGEST
        for number in range(episodes):
            obs, _ = world.reset(seed=(seed + number) % 2**32)
            over = False
            while not over and lengths[number] < longest:
                action = agent.predict(obs, deterministic=deterministic)
                # Stable-Baselines3 answers with a state of its own besides.
                action = action[0] if isinstance(action, tuple) else action
                obs, reward, terminated, truncated, _ = stepped(world, action)
                returns[number] += float(reward)
                lengths[number] += 1
                over = bool(terminated or truncated)
    return returns, lengths


def stepped(world: gymnasium.Env, action: Any) -> tuple[Any, ...]:
    """What the environment answers; SettingsError if it fails on an action that it has not."""
    try:
        return world.step(action)
    except Exception:
        space = getattr(world, "action_space", None)
        if space is None or space.contains(action):
            raise
        raise SettingsError(
            f"agent: predict answers {shown(action)}, and the environment refuses it; must be an "
            f"action of {space}"
        ) from None


def made(env: Any) -> gymnasium.Env:
    """A new environment, by its name or from a function."""
    if isinstance(env, str):
        quick = f"hcdyna/{env}-v0"  # by NumPy, where there is one
        part = registry.make("environments", quick if quick in gymnasium.registry else env)
        hosted = on_host(part)
        if hosted is not None:
            return hosted.make()
        return TimeLimit(AsGymnasium(part), part.build().spec.time_limit)
    found = env() if callable(env) else env
    if not isinstance(found, gymnasium.Env):
        raise SettingsError(
            f"env = {shown(env)}: must be a Gymnasium environment, a function that makes one, or "
            "the name of one"
        )
    return found
