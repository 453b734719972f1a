"""Compiled training: one program for all agents (settings that differ in numbers × seeds).

Each agent's life is written for one agent, vmapped over those of a device and sharded over devices.
The program returns to the host after every chunk of steps, for progress and evaluation.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from hcdyna.dyna import DynaState, build
from hcdyna.errors import SettingsError
from hcdyna.randomness import below
from hcdyna.settings import Settings, traced_numbers, with_numbers
from hcdyna.training.devices import compiler_options, mesh_for
from hcdyna.training.evaluation import evaluate_agent
from hcdyna.training.run import Progress, Run
from hcdyna.types import Array, Info, Key, Transition

Numbers = dict[str, Array]


class AgentLife(NamedTuple):
    """All that one agent carries from step to step, and where it stands in its environment."""

    key: Key
    dyna: DynaState
    obs: Array
    episode_step: Array


class Programs(NamedTuple):
    """The compiled functions of one program; agents are the first axis of every array."""

    init: Callable[[Array, Numbers], AgentLife]
    warm_up: Callable[[AgentLife, Numbers, int], tuple[AgentLife, Info]]
    learn: Callable[[AgentLife, Numbers, int], tuple[AgentLife, Info]]
    evaluate: Callable[[AgentLife, Numbers, Array, int], tuple[Array, Array]]


def train(
    settings: Settings | Sequence[Settings],
    seeds: int | Sequence[int] = 1,
    on_chunk: Callable[[Progress], Any] = lambda progress: None,
) -> Run:
    """Train one agent per setting and seed, all in one program; `seeds=3` means 0, 1, 2.

    Settings may differ in numbers only (learning rate, η, ε, …). `on_chunk` is called on the host
    after every evaluation.
    """
    every_setting = [settings] if isinstance(settings, Settings) else list(settings)
    every_seed = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    if not every_seed or not every_setting:
        raise SettingsError(f"seeds = {seeds!r}: must name at least one seed and one setting")
    static = shared_program(every_setting)
    agents = len(every_setting) * len(every_seed)
    mesh = mesh_for(agents)
    programs = compile_programs(static, mesh)

    numbers = {
        path: np.repeat(
            np.float32([traced_numbers(s)[path] for s in every_setting]), len(every_seed)
        )
        for path in traced_numbers(every_setting[0])
    }
    seed_of_agent = np.tile(np.array(every_seed, np.uint32), len(every_setting))
    numbers, seed_of_agent = spread((numbers, seed_of_agent), agents, mesh)

    def by_setting(x: Array) -> np.ndarray:
        """[agents (and padding), …] → [settings, seeds, …]."""
        return np.asarray(x)[:agents].reshape(len(every_setting), len(every_seed), *x.shape[1:])

    life = programs.init(seed_of_agent, numbers)
    progress = Progress(every_setting, every_seed, [], [], [], [])
    for start, stop in chunks(static):
        advance = programs.warm_up if stop <= static.training.warmup else programs.learn
        life, info = advance(life, numbers, stop - start)
        if stop % static.evaluation.every == 0 or stop == static.training.steps:
            returns, lengths = programs.evaluate(life, numbers, seed_of_agent, stop)
            progress.steps.append(stop)
            progress.returns.append(by_setting(returns))
            progress.lengths.append(by_setting(lengths))
            progress.info.append({name: by_setting(x) for name, x in info.items()})
            on_chunk(progress)
    return Run.finished(progress, life, agents)


def shared_program(every_setting: Sequence[Settings]) -> Settings:
    """The settings without their traced numbers, which must be the same for all."""
    static = {with_numbers(s, dict.fromkeys(traced_numbers(s))) for s in every_setting}
    if len(static) > 1:
        raise SettingsError(
            "settings that are trained together may differ in numbers (learning rate, η, ε, …) "
            f"only, but these make {len(static)} different programs; train them one by one"
        )
    for setting in every_setting:
        build(setting)
    return static.pop()


def chunks(static: Settings) -> list[tuple[int, int]]:
    """Where to return to the host: the end of warm-up, every evaluation, the end."""
    training, every = static.training, static.evaluation.every
    stops = {*range(every, training.steps, every), min(training.warmup, training.steps)}
    stops = sorted((stops | {training.steps}) - {0})
    return list(zip([0, *stops], stops, strict=False))


def spread(tree: Any, agents: int, mesh: Mesh) -> Any:
    """Put [agents, …] arrays onto the devices, in equal parts; the last agent fills up the rest."""
    missing = -agents % mesh.size
    index = np.minimum(np.arange(agents + missing), agents - 1)
    return jax.device_put(jax.tree.map(lambda x: x[index], tree), NamedSharding(mesh, P("agents")))


@functools.lru_cache(maxsize=16)
def compile_programs(static: Settings, mesh: Mesh) -> Programs:
    """The programs of these settings. Each compiles on first use, and never again for other seeds,
    numbers or chunk lengths."""

    def init(seed: Array, numbers: Numbers) -> AgentLife:
        env, dyna = build(with_numbers(static, numbers))
        life_key, init_key, reset_key = jax.random.split(jax.random.key(seed), 3)
        obs = env.reset(reset_key)
        return AgentLife(life_key, dyna.init(init_key), obs, jnp.zeros((), jnp.int32))

    def advance(warm_up: bool, life: AgentLife, numbers: Numbers, length: Array) -> Any:
        step = functools.partial(time_step, with_numbers(static, numbers), warm_up)
        shapes = jax.eval_shape(step, life)[1]
        total = jax.tree.map(lambda x: jnp.zeros(x.shape, jnp.float32), shapes)

        def body(_: Array, carry: tuple[AgentLife, Info]) -> tuple[AgentLife, Info]:
            life, info = step(carry[0])
            return life, jax.tree.map(jnp.add, carry[1], info)

        life, total = jax.lax.fori_loop(0, length, body, (life, total))
        return life, jax.tree.map(lambda x: x / length, total)

    def evaluate(life: AgentLife, numbers: Numbers, seed: Array, step: Array) -> Any:
        return evaluate_agent(with_numbers(static, numbers), life.dyna.agent, seed, step)

    def compiled(function: Callable, shared: int = 0, donate: bool = False) -> Callable:
        """jit(shard(vmap(function))); the last `shared` arguments are the same for all agents."""
        parts = function.__code__.co_argcount if hasattr(function, "__code__") else 3
        mapped = parts - shared
        agents = jax.vmap(function, in_axes=(0,) * mapped + (None,) * shared)
        sharded = jax.shard_map(
            agents,
            mesh=mesh,
            in_specs=(P("agents"),) * mapped + (P(),) * shared,
            out_specs=P("agents"),
            check_vma=False,
        )
        return jax.jit(
            sharded,
            donate_argnums=(0,) if donate else (),
            compiler_options=compiler_options(),
        )

    return Programs(
        init=compiled(init),
        warm_up=compiled(functools.partial(advance, True), shared=1, donate=True),
        learn=compiled(functools.partial(advance, False), shared=1, donate=True),
        evaluate=compiled(evaluate, shared=1),
    )


def time_step(settings: Settings, warm_up: bool, life: AgentLife) -> tuple[AgentLife, Info]:
    """Act, see what happens, learn from it (in warm-up: act at random and only remember)."""
    env, dyna = build(settings)
    spec = env.spec
    key, act_key, env_key, learn_key, reset_key = jax.random.split(life.key, 5)
    if warm_up:
        action = random_action(act_key, spec)
    else:
        action = dyna.act(act_key, life.dyna, life.obs)
    outcome = env.dynamics(env_key, life.obs, action)
    discount = spec.discount * (1.0 - outcome.terminated)
    transition = Transition(life.obs, action, outcome.reward, discount, outcome.next_obs)
    learn = dyna.observe if warm_up else dyna.learn
    dyna_state, info = learn(learn_key, life.dyna, transition)
    # A time limit ends the episode here, in the loop, and nowhere in what is learned.
    episode_step = life.episode_step + 1
    over = outcome.terminated | (episode_step >= spec.time_limit)
    obs = jnp.where(over, env.reset(reset_key), outcome.next_obs)
    return AgentLife(key, dyna_state, obs, jnp.where(over, 0, episode_step)), info


def random_action(key: Key, spec: Any) -> Array:
    """Uniform over the action space."""
    if spec.num_actions is not None:
        return below(jax.random.bits(key), spec.num_actions)
    return jax.random.uniform(key, (spec.action_size,), minval=-1.0, maxval=1.0)
