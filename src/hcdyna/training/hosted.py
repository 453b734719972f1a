"""The programs of a run on the host: one compiled call for each environment step of all agents."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.gymnasium.theirs.environment import longest_episode
from hcdyna.gymnasium.theirs.failure import HostFailed, Keeper
from hcdyna.gymnasium.theirs.scaling import known_scale, scale_of
from hcdyna.gymnasium.theirs.worlds import Answer, Read, Worlds, as_float32
from hcdyna.numerics.devices import compiler_options
from hcdyna.numerics.packing import Packed
from hcdyna.settings import Settings
from hcdyna.settings.errors import RunError
from hcdyna.training.compiled import AgentLife, Numbers, Programs
from hcdyna.training.evaluation import STREAM
from hcdyna.training.hosted_steps import init, test_model
from hcdyna.training.packed_steps import PackedSteps, PackedTests, mean
from hcdyna.types import Array, Info


def hosted_programs(static: Settings, seeds: list[int]) -> Programs:
    """As `compiled.compile_programs`, for agents with these seeds."""
    host = Host(static, seeds)
    return Programs(
        init=host.init,
        warm_up=partial(host.advance, warm_up=True),
        learn=partial(host.advance, warm_up=False),
        evaluate=host.evaluate,
    )


@dataclass
class Now:
    """How far a chunk has come, for the thread that waits for it."""

    life: AgentLife | None
    """None while it is packed, …"""
    packed: Any = None
    """… as it is during the steps"""
    done: int = 0


class Host:
    """Environments and compiled functions of all agents."""

    def __init__(self, static: Settings, seeds: list[int]) -> None:
        self.static, self.seeds = static, seeds
        self.keeper = Keeper()
        self.worlds: Worlds | None = None
        self.tests: Worlds | None = None
        self.read: Read = as_float32
        self.at: np.ndarray | None = None
        """Where the environments stand; a life that stands elsewhere begins a new episode."""
        jit = partial(jax.jit, compiler_options=compiler_options())
        self.init = jit(jax.vmap(partial(init, static)))
        self._packed: dict[bool, PackedSteps] = {}
        self._tests: PackedTests | None = None
        self._model_errors = jit(jax.vmap(partial(test_model, static)))

    def advance(
        self, life: AgentLife, numbers: Numbers, length: int, warm_up: bool
    ) -> tuple[AgentLife, Info]:
        """`length` steps of all agents."""
        now = Now(life)
        try:
            info = self._call(lambda: self._steps(now, life, numbers, length, warm_up))
        except RunError as error:
            raise self._failed(error, self._reached(now, warm_up), now.done) from None
        return self._reached(now, warm_up), info

    def _reached(self, now: Now, warm_up: bool) -> AgentLife:
        """The lives of all agents, as far as they have come."""
        return self._packed[warm_up].unpack(now.packed).life if now.life is None else now.life

    def _steps(
        self, now: Now, life: AgentLife, numbers: Numbers, length: int, warm_up: bool
    ) -> Info:
        before = steps_of(life)
        life = now.life = self._scaled(life)
        worlds = self.worlds = self._open(self.worlds)
        if self.at is None or not np.array_equal(self.at, np.asarray(life.obs)):
            life = now.life = self._begin(life, worlds)
        if warm_up not in self._packed:
            self._packed[warm_up] = PackedSteps(self.static, warm_up, life, numbers)
        program = self._packed[warm_up]
        (now.packed, action), now.life = program.pack(life, numbers), None
        while now.done < length:
            answers = worlds.each(np.asarray(action))
            news, self.at = self._news(answers, worlds, before + now.done + 1)
            now.packed, action = program.step(now.packed, news)
            now.done += 1
        return mean(program.unpack(now.packed).total, length)

    def _news(
        self, answers: list[Answer], worlds: Worlds, steps: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """All that is new after so many steps, in one array [agents, 2d + 3], since each that is
        sent costs time; and where the next step begins [agents, d], a part of it."""
        d = len(answers[0].obs)
        news = np.empty((len(answers), 2 * d + 3), np.float32)
        for index, (obs, reward, terminated, truncated) in enumerate(answers):
            over, row = terminated or truncated, news[index]
            row[:d] = row[d : 2 * d] = obs
            if over:
                row[d : 2 * d] = worlds.reset(index, episode_seed(self.seeds[index], steps))
            row[-3], row[-2], row[-1] = reward, terminated, over
        return news, news[:, d : 2 * d]

    def evaluate(
        self, life: AgentLife, numbers: Numbers, seeds: Array, step: int
    ) -> tuple[Array, Array, Info]:
        """Returns and lengths [agents, episodes] on environments of their own."""
        try:
            episodes = self._call(lambda: self._all_episodes(life, numbers, step))
        except RunError as error:
            raise self._failed(error, life, done=0) from None
        returns, lengths = (np.stack(x, axis=1) for x in zip(*episodes, strict=True))
        info = self._model_errors(life, numbers, jnp.full(len(self.seeds), step))
        return jnp.asarray(returns), jnp.asarray(lengths), info

    def _all_episodes(self, life: AgentLife, numbers: Numbers, step: int) -> list[Any]:
        self._scaled(life)
        tests = self.tests = self._open(self.tests)
        if self._tests is None:
            self._tests = PackedTests(self.static, life, numbers)
        actors = (
            self._tests.actors(life, numbers, step, episode)
            for episode in range(self.static.evaluation.episodes)
        )
        return [self._episode(tests, each, step, episode) for episode, each in enumerate(actors)]

    def _episode(
        self, tests: Worlds, actors: Packed, step: int, episode: int
    ) -> tuple[np.ndarray, np.ndarray]:
        assert self._tests is not None
        agents, longest = len(self.seeds), longest_episode(self.static.environment.build().spec)
        seeds = [episode_seed(seed, step, STREAM, episode) for seed in self.seeds]
        obs = np.stack([tests.reset(index, seed) for index, seed in enumerate(seeds)])
        returns, lengths = np.zeros(agents, np.float32), np.zeros(agents, np.int32)
        running, turn = list(range(agents)), 0
        while running:
            actions = np.asarray(self._tests.action(actors, obs, np.uint32(turn)))
            answers = tests.each([actions[index] for index in running], running)
            turn += 1
            for index, answer in zip(running, answers, strict=True):
                obs[index], lengths[index] = answer.obs, turn
                returns[index] += np.float32(answer.reward)
            over = [x.terminated or x.truncated or turn >= longest for x in answers]
            running = [index for index, ends in zip(running, over, strict=True) if not ends]
        return returns, lengths

    def _open(self, worlds: Worlds | None) -> Worlds:
        if worlds is None:
            worlds = Worlds(self.static.environment, len(self.seeds), keeper=self.keeper)
        worlds.read = self.read
        return worlds

    def _begin(self, life: AgentLife, worlds: Worlds) -> AgentLife:
        """The first episodes, or those that were interrupted, retraced to where they were. An
        environment that does not come to the same state again begins a new episode."""
        steps, lengths = steps_of(life), np.array(life.episode_step)
        lost, obs = np.ones(len(self.seeds), bool), np.array(life.obs)
        if steps > 0:
            why = "did not come to where it was by the same seed and actions"
            try:
                lost = ~(retraced(life, worlds, self.seeds) == obs).all(axis=1)
            except RunError as error:
                why = f"can't be brought to where it was ({error})"
            if lost.any():
                warnings.warn(
                    f"{self.static.environment.id}: {why}; a new episode begins, so the run goes "
                    "on, but not bit for bit",
                    stacklevel=2,
                )
        for index in np.flatnonzero(lost):
            obs[index] = worlds.reset(int(index), episode_seed(self.seeds[index], steps))
            lengths[index] = 0
        self.at = obs
        return life._replace(obs=jnp.asarray(obs), episode_step=jnp.asarray(lengths))

    def _scaled(self, life: AgentLife) -> AgentLife:
        """Read observations with the scale of this life, which is measured if it has none yet."""
        if not self.static.environment.scaling:
            return life
        scale = known_scale(np.asarray(life.scale)[0])
        if scale is None:
            scale = scale_of(self.static.environment)
            everywhere = np.broadcast_to(np.stack(scale), life.scale.shape)
            life = life._replace(scale=jnp.asarray(everywhere))
        self.read = scale.__call__
        return life

    def _failed(self, error: Exception, life: AgentLife, done: int) -> HostFailed:
        """With what was learned."""
        self._forget()
        return HostFailed(str(error), life, done)

    def _call(self, function: Callable[[], Any]) -> Any:
        """In the thread of the environments."""
        if self.keeper.left:  # interrupted, but somebody goes on
            self._forget()
        return self.keeper.call(function)

    def _forget(self) -> None:
        """Whoever goes on gets new environments."""
        self.worlds = self.tests = self.at = None
        self.keeper = Keeper()


def retraced(life: AgentLife, worlds: Worlds, seeds: list[int]) -> np.ndarray:
    """Observations [agents, d] after the steps of the present episodes, taken again. Their actions
    are the last ones in the replay buffers, and an episode's seed is known."""
    steps, lengths = steps_of(life), np.asarray(life.episode_step)
    begun = [episode_seed(seed, steps - n) for seed, n in zip(seeds, lengths.tolist(), strict=True)]
    obs = np.stack([worlds.reset(index, seed) for index, seed in enumerate(begun)])
    actions = np.asarray(life.dyna.replay.data.action)
    capacity = actions.shape[1]
    if lengths.max(initial=0) > capacity:
        raise RunError("the replay buffer does not hold the whole episode")
    for turn in range(lengths.max(initial=0)):
        which = np.flatnonzero(lengths > turn)
        places = (steps - lengths[which] + turn) % capacity
        obs[which] = worlds.step(actions[which, places], which.tolist()).obs
    return obs


def steps_of(life: AgentLife) -> int:
    """The steps that all agents have taken."""
    return int(np.asarray(life.dyna.replay.total)[0])


def episode_seed(seed: int, step: int, *more: int) -> int:
    """For `reset`: of the agent's seed and the step alone, so that every process finds the same."""
    (word,) = np.random.SeedSequence((seed, step, *more)).generate_state(1)
    return int(word >> 1)  # some environments take no more than 31 bits
