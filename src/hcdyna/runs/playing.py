"""Episodes of a trained agent, step by step on the host, with all that happens in them."""

import contextlib
import warnings
from typing import Any, NamedTuple

import numpy as np

from hcdyna.gymnasium.ours.adapter import compiled
from hcdyna.gymnasium.theirs.environment import LONGEST, Hosted, longest_episode, on_host
from hcdyna.gymnasium.theirs.worlds import Worlds
from hcdyna.runs.episodes import AFTERWARDS, checked_epsilon
from hcdyna.runs.trained import TrainedAgent
from hcdyna.settings.errors import RunError


class Episode(NamedTuple):
    """What happened, from the start state to the last one."""

    states: np.ndarray
    """[n + 1, d] as the environment gives them."""
    rewards: np.ndarray
    """[n]"""
    terminated: bool
    """Whether the world ended it, and not a time limit."""
    pictures: dict[int, np.ndarray]
    """Step → picture [height, width, 3], where the environment draws itself."""


class OwnWorld:
    """One of our environments, or one of the user's."""

    def __init__(self, agent: TrainedAgent) -> None:
        env = agent.settings.environment.build()
        self.limit = env.spec.time_limit
        self._reset, self._step = compiled(env)

    def reset(self, seed: int) -> np.ndarray:
        self.taken = 0
        self.obs = np.asarray(self._reset(np.uint32(seed)))
        return self.obs

    def step(self, seed: int, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool]:
        self.taken += 1
        self.obs, reward, over = (
            np.asarray(x) for x in self._step(np.uint32(seed), self.obs, action)
        )
        return self.obs, float(reward), bool(over), self.taken >= self.limit

    def picture(self) -> None:
        return None

    def close(self) -> None:
        pass


class HostedWorld:
    """A Gymnasium environment; it draws itself, if it can."""

    def __init__(self, hosted: Hosted, pictures: bool) -> None:
        self.hosted = hosted
        self.worlds = self._made(**({"render_mode": "rgb_array"} if pictures else {}))

    def _made(self, **options: Any) -> Worlds:
        """It may know of no pictures."""
        try:
            return Worlds(self.hosted, 1, np.array, **options)  # the agent itself scales
        except RunError:
            if not options:
                raise
        return self._made()

    def reset(self, seed: int) -> np.ndarray:
        return self.worlds.reset(0, seed)

    def step(self, seed: int, action: Any) -> tuple[np.ndarray, float, bool, bool]:
        found = self.worlds.take([action])
        ends = bool(found.terminated[0]), bool(found.truncated[0])
        return found.obs[0], float(found.reward[0]), *ends

    def picture(self) -> np.ndarray | None:
        """None if it can't be drawn, for instance because pygame is not installed."""
        try:
            found = np.asarray(self.worlds.picture())
        except RunError as error:
            instead = "so its variables are shown; pip install 'hcdyna[render]' may help"
            warnings.warn(f"{self.hosted.id} can't be drawn, {instead}: {error}", stacklevel=2)
            return None
        return found if found.ndim == 3 else None

    def close(self) -> None:
        self.worlds.close()


World = OwnWorld | HostedWorld


def play(
    agent: TrainedAgent,
    seed: int | tuple[int, ...] = 0,
    epsilon: float | None = None,
    longest: int = LONGEST,
    pictures: int = 0,
    world: World | None = None,
) -> Episode:
    """One episode as in evaluations: ε-greedy, or without noise where actions are continuous.

    `epsilon` is that of the run's evaluations if not given. At most so many `pictures` are kept,
    evenly spaced, and the last one. A `world` that is given stays open for more episodes.
    """
    settings, discrete = agent.settings, agent.spec.num_actions is not None
    epsilon = checked_epsilon(settings.evaluation.epsilon if epsilon is None else epsilon)
    draw = np.random.default_rng((AFTERWARDS, *np.atleast_1d(seed)))
    keeper = PictureKeeper(pictures)
    with contextlib.ExitStack() as stack:
        if world is None:
            world = stack.enter_context(contextlib.closing(world_of(agent, pictures > 0)))
        states = [world.reset(int(draw.integers(2**32)))]
        rewards: list[float] = []
        terminated = truncated = False
        keeper.keep(0, world)
        while not (terminated or truncated or len(rewards) >= longest):
            act_seed, world_seed = (int(x) for x in draw.integers(2**32, size=2))
            chance = {"epsilon": epsilon, "seed": act_seed} if discrete else {}
            action = agent.predict(states[-1], not discrete, **chance)  # type: ignore[arg-type]
            obs, reward, terminated, truncated = world.step(world_seed, action)
            states.append(obs)
            rewards.append(reward)
            keeper.keep(len(rewards), world)
        keeper.keep(len(rewards), world, last=True)
    return Episode(np.stack(states), np.array(rewards), terminated, keeper.pictures)


def returns_and_lengths(
    agents: list[TrainedAgent], seeds: list[int], episodes: int, epsilon: float
) -> tuple[np.ndarray, np.ndarray]:
    """Both [agents, episodes]; for worlds that can't be compiled, and so one after the other."""
    longest = longest_episode(agents[0].spec)
    with contextlib.closing(world_of(agents[0], pictures=False)) as world:
        found = [
            [play(agent, (seed, n), epsilon, longest, world=world) for n in range(episodes)]
            for agent, seed in zip(agents, seeds, strict=True)
        ]
    returns = np.array([[episode.rewards.sum() for episode in row] for row in found], np.float32)
    lengths = np.array([[len(episode.rewards) for episode in row] for row in found], np.int32)
    return returns, lengths


def world_of(agent: TrainedAgent, pictures: bool) -> World:
    """The world that an agent was trained in, to be stepped here."""
    hosted = on_host(agent.settings.environment)
    return OwnWorld(agent) if hosted is None else HostedWorld(hosted, pictures)


class PictureKeeper:
    """Some pictures of an episode whose length is not known; every other goes when it is full."""

    def __init__(self, most: int) -> None:
        self.most, self.stride = most, 1
        self.pictures: dict[int, np.ndarray] = {}

    def keep(self, step: int, world: World, last: bool = False) -> None:
        """Keep a picture of this step, if it is its turn."""
        if not self.most or (step % self.stride and not last):
            return
        picture = world.picture()
        if picture is None:
            self.most = 0
            return
        self.pictures[step] = picture
        if len(self.pictures) > self.most and not last:
            self.stride *= 2
            self.pictures = {k: x for k, x in self.pictures.items() if k % self.stride == 0}
