"""The programs of a run on the host: one compiled call for each environment step of all agents."""

from __future__ import annotations

import contextlib
import warnings
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.dyna import build
from hcdyna.errors import RunError
from hcdyna.hosted.environment import longest_episode
from hcdyna.hosted.failure import HostFailed
from hcdyna.hosted.scaling import known_scale, scale_of
from hcdyna.hosted.worlds import Read, Step, Worlds, as_float32
from hcdyna.settings import Settings, with_numbers
from hcdyna.training.compiled import AgentLife, Numbers, Programs, of_agent, random_action
from hcdyna.training.evaluation import STREAM
from hcdyna.types import Array, Info, Transition


def hosted_programs(static: Settings, seeds: list[int]) -> Programs:
    """As `compiled.compile_programs`, for agents with these seeds."""
    host = Host(static, seeds)
    return Programs(
        init=host.init,
        warm_up=partial(host.advance, warm_up=True),
        learn=partial(host.advance, warm_up=False),
        evaluate=host.evaluate,
    )


class Host:
    """Environments and compiled functions of all agents."""

    def __init__(self, static: Settings, seeds: list[int]) -> None:
        self.static, self.seeds = static, seeds
        self.worlds: Worlds | None = None
        self.tests: Worlds | None = None
        self.read: Read = as_float32
        self.at: np.ndarray | None = None
        """Where the environments stand; a life that stands elsewhere begins a new episode."""
        self._init = jax.jit(jax.vmap(partial(init, static)))
        self._act = {
            warm: jax.jit(jax.vmap(partial(choose, static, warm))) for warm in (True, False)
        }
        self._advance = {
            warm: jax.jit(jax.vmap(partial(time_step, static, warm)), donate_argnums=(0, 2))
            for warm in (True, False)
        }
        self._test = jax.jit(jax.vmap(partial(test_action, static)))

    def init(self, seeds: Array, numbers: Numbers) -> AgentLife:
        return self._init(seeds, numbers)

    def advance(
        self, life: AgentLife, numbers: Numbers, length: int, warm_up: bool
    ) -> tuple[AgentLife, Info]:
        """`length` steps of all agents."""
        step, total, done = self._advance[warm_up], None, 0
        before = steps_of(life)
        try:
            life = self._scaled(life)
            worlds = self._worlds()
            if self.at is None or not np.array_equal(self.at, np.asarray(life.obs)):
                life = self._begin(life, worlds)
            action = self._act[warm_up](life, numbers)
            while done < length:
                found = worlds.step(np.asarray(action))
                over = found.terminated | found.truncated
                start = found.obs.copy()
                for index in np.flatnonzero(over):
                    seed = episode_seed(self.seeds[index], before + done + 1)
                    start[index] = worlds.reset(int(index), seed)
                self.at = start
                news = packed(found, over, start)
                life, total, action = step(life, numbers, total, action, news)
                done += 1
        except RunError as error:
            raise self._failed(error, life, done) from None
        share = 1.0 / length
        return life, jax.tree.map(lambda x: x * share, total)

    def evaluate(
        self, life: AgentLife, numbers: Numbers, seeds: Array, step: int
    ) -> tuple[Array, Array, Info]:
        """Returns and lengths [agents, episodes] on environments of their own."""
        try:
            self._scaled(life)
            if self.tests is None:
                self.tests = Worlds(self.static.environment, len(self.seeds))
            self.tests.read = self.read
            episodes = [
                self._episode(self.tests, life, numbers, step, episode)
                for episode in range(self.static.evaluation.episodes)
            ]
        except RunError as error:
            raise self._failed(error, life, done=0) from None
        returns, lengths = (np.stack(x, axis=1) for x in zip(*episodes, strict=True))
        return jnp.asarray(returns), jnp.asarray(lengths), {}

    def _episode(
        self, tests: Worlds, life: AgentLife, numbers: Numbers, step: int, episode: int
    ) -> tuple[np.ndarray, np.ndarray]:
        agents, longest = len(self.seeds), longest_episode(self.static.environment.build().spec)
        seeds = [episode_seed(seed, step, STREAM, episode) for seed in self.seeds]
        obs = np.stack([tests.reset(index, seed) for index, seed in enumerate(seeds)])
        returns, lengths = np.zeros(agents, np.float32), np.zeros(agents, np.int32)
        running, turn = np.ones(agents, bool), 0
        while running.any():
            when = np.broadcast_to(np.array([step, episode, turn], np.uint32), (agents, 3))
            action = np.asarray(self._test(life, numbers, obs, when))
            which = np.flatnonzero(running)
            found = tests.step(action[which], which.tolist())
            obs[which] = found.obs
            returns[which] += found.reward
            lengths[which] += 1
            running[which] = ~(found.terminated | found.truncated) & (lengths[which] < longest)
            turn += 1
        return returns, lengths

    def _worlds(self) -> Worlds:
        if self.worlds is None:
            self.worlds = Worlds(self.static.environment, len(self.seeds))
        self.worlds.read = self.read
        return self.worlds

    def _begin(self, life: AgentLife, worlds: Worlds) -> AgentLife:
        """The first episodes, or those that were interrupted, retraced to where they were.

        An environment that does not come to the same state again begins a new episode.
        """
        steps, lengths = steps_of(life), np.array(life.episode_step)
        lost, obs = np.ones(len(self.seeds), bool), np.array(life.obs)
        if steps > 0:
            with contextlib.suppress(RunError):
                found = retraced(life, worlds, self.seeds)
                lost = ~(found == obs).all(axis=1)
            if lost.any():
                warnings.warn(
                    f"{self.static.environment.id}: did not come to where it was by the same seed "
                    "and actions; a new episode begins, so the run goes on, but not bit for bit",
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
        """With what was learned; whoever goes on gets new environments."""
        self.worlds = self.tests = self.at = None
        return HostFailed(str(error), life, done)


def retraced(life: AgentLife, worlds: Worlds, seeds: list[int]) -> np.ndarray:
    """Observations [agents, d] after the steps of the present episodes, taken again.

    Their actions are the last ones in the replay buffers, and an episode's seed is known.
    """
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


def packed(found: Step, over: np.ndarray, start: np.ndarray) -> np.ndarray:
    """All that is new, in one array [agents, 2d + 3]: each array sent costs as much as a step."""
    ends = np.stack([found.reward, found.terminated, over], axis=1)
    return np.concatenate([found.obs, start, ends], axis=1, dtype=np.float32)


def init(static: Settings, seed: Array, numbers: Numbers) -> AgentLife:
    """A new agent that has seen nothing."""
    env, dyna = build(of_agent(static, numbers))
    life_key, init_key, _ = jax.random.split(jax.random.key(seed), 3)
    obs = jnp.asarray(env.spec.example_obs())
    nothing = (jnp.full_like(obs, jnp.inf), jnp.full_like(obs, -jnp.inf))
    scale = jnp.full((2, *obs.shape), jnp.nan) if static.environment.scaling else ()
    return AgentLife(life_key, dyna.init(init_key), obs, jnp.zeros((), jnp.int32), nothing, scale)


def settings_now(static: Settings, life: AgentLife, numbers: Numbers) -> Settings:
    """The settings of an agent, with Π where it has been if the Box has no bounds."""
    settings = of_agent(static, numbers)
    spec = static.environment.build().spec
    finite = np.isfinite(spec.low) & np.isfinite(spec.high) & (not static.environment.scaling)
    bounds = tuple(
        jnp.where(finite, given, seen)
        for given, seen in zip((spec.low, spec.high), life.seen, strict=True)
    )
    return with_numbers(settings, {"environment.bounds": bounds})


def choose(static: Settings, warm_up: bool, life: AgentLife, numbers: Numbers) -> Array:
    """The action of the behaviour policy."""
    _, act_key, _ = jax.random.split(life.key, 3)
    env, dyna = build(settings_now(static, life, numbers))
    if warm_up:
        return random_action(act_key, env.spec)
    return dyna.act(act_key, life.dyna, life.obs)


def time_step(
    static: Settings,
    warm_up: bool,
    life: AgentLife,
    numbers: Numbers,
    total: Info | None,
    action: Array,
    news: Array,
) -> tuple[AgentLife, Info, Array]:
    """Learn from what the action led to, and choose the next one."""
    key, _, learn_key = jax.random.split(life.key, 3)
    d = (len(news) - 3) // 2
    obs, start, (reward, terminated, over) = news[:d], news[d : 2 * d], news[2 * d :]
    low, high = life.seen
    seen = (jnp.minimum(low, obs), jnp.maximum(high, obs))
    life = life._replace(seen=(jnp.minimum(seen[0], life.obs), jnp.maximum(seen[1], life.obs)))
    env, dyna = build(settings_now(static, life, numbers))
    discount = env.spec.discount * (1.0 - terminated)
    transition = Transition(life.obs, action, reward, discount, obs)
    learn = dyna.observe if warm_up else dyna.learn
    state, info = learn(learn_key, life.dyna, transition)
    episode_step = jnp.where(over > 0, 0, life.episode_step + 1)
    life = life._replace(key=key, dyna=state, obs=start, episode_step=episode_step)
    info = {name: x.astype(jnp.float32) for name, x in info.items()}
    total = info if total is None else jax.tree.map(jnp.add, total, info)
    return life, total, choose(static, warm_up, life, numbers)


def test_action(
    static: Settings, life: AgentLife, numbers: Numbers, obs: Array, when: Array
) -> Array:
    """The action of an evaluation episode: `when` is the step, the episode and its turn."""
    settings = settings_now(static, life, numbers)
    env = settings.environment.build()
    agent = settings.agent.build(env.spec)
    if env.spec.num_actions is None:
        return agent.greedy(life.dyna.agent, obs)
    key = jax.random.fold_in(life.key, STREAM)
    for number in range(3):
        key = jax.random.fold_in(key, when[number])
    return agent.act(key, life.dyna.agent, obs, settings.evaluation.epsilon)
