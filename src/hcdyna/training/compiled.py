"""Compiled training: one program for all agents (settings that differ in numbers × seeds).

The life of an agent is written for one agent, vmapped over the agents of a device and sharded over
devices. The program returns to the host after every chunk of steps, for progress and evaluation.
"""

import functools
import gc
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from hcdyna.dyna import DynaState, build
from hcdyna.kernels.accelerate import after, keys_for, usual_keys
from hcdyna.numerics.devices import compiler_options, most_turns_at_once
from hcdyna.numerics.randomness import below
from hcdyna.planning.budget import MIXING_RATE, PLANNING_STEPS, Budget, budget_of
from hcdyna.settings import Settings, traced_numbers, with_numbers
from hcdyna.settings.errors import SettingsError
from hcdyna.training.evaluation import evaluate_agent
from hcdyna.types import Array, Info, Key, Spec, Transition

Numbers = dict[str, Array]
"""The traced numbers of the settings, by `part.field`."""


class AgentLife(NamedTuple):
    """All that one agent carries from step to step, and where it stands in its environment."""

    key: Key
    dyna: DynaState
    obs: Array
    episode_step: Array
    seen: Any = ()
    """Of environments on the host: the lowest and highest values of each variable so far."""
    scale: Any = ()
    """Of those that scale observations: centre and width [2, d]; NaN: not measured yet."""


class Programs(NamedTuple):
    """Compiled functions; agents are the first axis of every array but `length` and `step`."""

    init: Callable[[Array, Numbers], AgentLife]
    """seeds, numbers → lives"""
    warm_up: Callable[[AgentLife, Numbers, int], tuple[AgentLife, Info]]
    """lives (donated), numbers, length → lives, mean info: `length` steps of warm-up, a multiple of
    `steps_at_once`"""
    learn: Callable[[AgentLife, Numbers, int], tuple[AgentLife, Info]]
    """lives (donated), numbers, length → lives, mean info: `length` steps of learning, likewise"""
    evaluate: Callable[[AgentLife, Numbers, Array, int], tuple[Array, Array, Info]]
    """lives, numbers, seeds, step → returns and lengths [agents, episodes], and diagnostics"""


def shared_program(every_setting: Sequence[Settings]) -> tuple[Settings, dict[str, list[float]]]:
    """What all settings share, and the numbers of each. Also checks that they build.

    n and ρ are numbers like the others only where the settings differ in them, since that has a
    price; the shared settings then hold the largest n.
    """
    if not every_setting:
        raise SettingsError("settings = []: must be at least one")
    for setting in every_setting:
        build(setting)
    numbers = [traced_numbers(setting) for setting in every_setting]
    shapes: dict[str, Any] = {}
    for path, value_of in (
        (PLANNING_STEPS, lambda setting: setting.training.planning_steps),
        (MIXING_RATE, lambda setting: setting.training.mixing_rate),
    ):
        values = [value_of(setting) for setting in every_setting]
        if len(set(values)) > 1:
            shapes[path] = max(values) if path == PLANNING_STEPS else None
            for row, value in zip(numbers, values, strict=True):
                row[path] = value
    try:
        static = {
            with_numbers(setting, dict.fromkeys(row) | shapes)
            for setting, row in zip(every_setting, numbers, strict=True)
        }
    except TypeError as error:
        raise SettingsError(
            f"settings: {error}; parts must be frozen dataclasses, and their fields numbers, "
            "tuples, functions or such parts"
        ) from None
    if len(static) > 1:
        raise SettingsError(
            "settings that are trained together may differ in numbers (learning rate, η, ε, n, ρ, "
            f"…) only, but these make {len(static)} different programs; train them one by one"
        )
    return static.pop(), {path: [row[path] for row in numbers] for path in numbers[0]}


def of_agent(static: Settings, numbers: Numbers) -> tuple[Settings, Budget]:
    """The settings of one agent, with tracers for its numbers, and what its planning may cost."""
    shapes = (PLANNING_STEPS, MIXING_RATE)
    values = {path: x for path, x in numbers.items() if path not in shapes}
    settings = with_numbers(static, values)
    return settings, budget_of(settings.training, numbers)


def chunks(static: Settings) -> list[tuple[int, int]]:
    """What the program runs at a time: to the end of warm-up, to every evaluation, to the end."""
    training, every = static.training, static.evaluation.every
    stops = {*range(every, training.steps, every), min(training.warmup, training.steps)}
    ordered = sorted((stops | {training.steps}) - {0})
    return list(zip([0, *ordered], ordered, strict=False))


def steps_at_once(static: Settings) -> int:
    """The steps of a block: the programs take whole blocks, and so does every chunk."""
    common = math.gcd(*(end - begin for begin, end in chunks(static)))
    return max(block for block in range(1, most_turns_at_once() + 1) if common % block == 0)


def forget_programs() -> None:
    """Let go of what was compiled in this process. On a CPU the programs of a run keep about a
    thousand memory mappings, and Linux allows a process 65,530."""
    compile_programs.cache_clear()
    jax.clear_caches()
    gc.collect()


def spread(tree: Any, mesh: Mesh) -> Any:
    """Put arrays [agents, …] onto the devices in equal parts; the last agent fills up the rest."""

    def fill(x: np.ndarray) -> np.ndarray:
        return np.concatenate([x, np.repeat(x[-1:], -len(x) % mesh.size, axis=0)])

    return jax.device_put(jax.tree.map(fill, tree), NamedSharding(mesh, P("agents")))


@functools.lru_cache(maxsize=16)  # few: see forget_programs
def compile_programs(static: Settings, mesh: Mesh) -> Programs:
    """The programs of these settings. Each compiles on first use, and never again for other seeds,
    numbers or chunk lengths."""

    def init(seed: Array, numbers: Numbers) -> AgentLife:
        env, dyna = build(*of_agent(static, numbers))
        life_key, init_key, reset_key = jax.random.split(jax.random.key(seed), 3)
        obs = env.reset(reset_key)
        return AgentLife(life_key, dyna.init(init_key), obs, jnp.zeros((), jnp.int32))

    def evaluate(life: AgentLife, numbers: Numbers, seed: Array, step: Array) -> Any:
        return evaluate_agent(of_agent(static, numbers)[0], life.dyna, seed, step)

    def compiled(function: Callable, each: int, shared: int = 0, donate: bool = False) -> Callable:
        """For all agents: the first arguments come one `each`, the last are `shared`."""
        sharded = jax.shard_map(
            jax.vmap(function, in_axes=(0,) * each + (None,) * shared),
            mesh=mesh,
            in_specs=(P("agents"),) * each + (P(),) * shared,
            out_specs=P("agents"),
            check_vma=False,
        )
        donated = (0,) if donate else ()
        return jax.jit(sharded, donate_argnums=donated, compiler_options=compiler_options())

    warm_up, learn = (functools.partial(advance, static, warm) for warm in (True, False))
    return Programs(
        init=compiled(init, each=2),
        warm_up=compiled(warm_up, each=2, shared=1, donate=True),
        learn=compiled(learn, each=2, shared=1, donate=True),
        evaluate=compiled(evaluate, each=3, shared=1),
    )


def advance(
    static: Settings, warm_up: bool, life: AgentLife, numbers: Numbers, length: Array
) -> tuple[AgentLife, Info]:
    """`length` time steps of one agent, and the mean of their diagnostics."""
    step = functools.partial(time_step, *of_agent(static, numbers), warm_up)
    with_keys, (_, shapes) = keys_for(static, step, life)
    life = with_keys(life)
    zeros = jax.tree.map(lambda x: jnp.zeros(x.shape, jnp.float32), shapes)

    def body(_: Array, carry: tuple[AgentLife, Info]) -> tuple[AgentLife, Info]:
        life, info = step(carry[0])
        return life, jax.tree.map(jnp.add, carry[1], info)

    block = steps_at_once(static)
    if block > 1:
        blocks, turn = length // block, functools.partial(jax.lax.fori_loop, 0, block, body)
        life, total = jax.lax.fori_loop(0, blocks, lambda _, carry: turn(carry), (life, zeros))
    else:
        life, total = jax.lax.fori_loop(0, length, body, (life, zeros))
    # Spelt out, since XLA may or may not divide in this way, and the bits would depend on it.
    share = 1.0 / length
    return usual_keys(life), jax.tree.map(lambda x: x * share, total)


def time_step(
    settings: Settings, budget: Budget, warm_up: bool, life: AgentLife
) -> tuple[AgentLife, Info]:
    """Act, see what happens, learn from it (in warm-up: act at random and only remember)."""
    env, dyna = build(settings, budget)
    key, act_key, env_key, learn_key, reset_key = jax.random.split(life.key, 5)
    if warm_up:
        action = random_action(act_key, env.spec)
    else:
        action = dyna.act(act_key, life.dyna, life.obs)
    outcome = env.dynamics(env_key, life.obs, action)
    discount = env.spec.discounts(outcome.terminated)
    transition = Transition(life.obs, action, outcome.reward, discount, outcome.next_obs)
    learn = dyna.observe if warm_up else dyna.learn
    learn_key, found = after([outcome.reward], learn_key, life.dyna.search_control)
    dyna_state, info = learn(learn_key, life.dyna._replace(search_control=found), transition)
    # A time limit ends the episode here, in the loop, and nowhere in what is learned.
    episode_step = life.episode_step + 1
    over = outcome.terminated | (episode_step >= env.spec.time_limit)
    obs = jnp.where(over, env.reset(reset_key), outcome.next_obs)
    return AgentLife(key, dyna_state, obs, jnp.where(over, 0, episode_step)), info


def random_action(key: Key, spec: Spec) -> Array:
    """Uniform over the action space."""
    if spec.num_actions is not None:
        return below(jax.random.bits(key), spec.num_actions)
    return jax.random.uniform(key, spec.example_action().shape, minval=-1.0, maxval=1.0)
