"""What is compiled of a run on the host: written for one agent, vmapped over all of them."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from hcdyna.dyna import build
from hcdyna.gymnasium.theirs.seen import as_seen
from hcdyna.settings import Settings, agent_of
from hcdyna.training.compiled import AgentLife, Numbers, of_agent, random_action
from hcdyna.training.evaluation import STREAM, model_errors
from hcdyna.types import Array, Environment, Info, Key, Transition


class Actor(NamedTuple):
    """An agent in an evaluation episode."""

    key: Key
    agent: Any
    """its state, without model, search-control and replay buffer"""
    seen: Any
    scale: Any
    """as in AgentLife"""
    numbers: Numbers


def init(static: Settings, seed: Array, numbers: Numbers) -> AgentLife:
    """A new agent that has seen nothing."""
    env, dyna = build(*of_agent(static, numbers))
    life_key, init_key, _ = jax.random.split(jax.random.key(seed), 3)
    obs = jnp.asarray(env.spec.example_obs())
    nothing = (jnp.full_like(obs, jnp.inf), jnp.full_like(obs, -jnp.inf))
    scale = jnp.full((2, *obs.shape), jnp.nan) if static.environment.scaling else ()
    return AgentLife(life_key, dyna.init(init_key), obs, jnp.zeros((), jnp.int32), nothing, scale)


def world_now(static: Settings, life: AgentLife) -> Environment:
    """The environment as the agent sees it."""
    return as_seen(static.environment, life.seen, life.scale)


def choose(static: Settings, warm_up: bool, life: AgentLife, numbers: Numbers) -> Array:
    """The action of the behaviour policy."""
    _, act_key, _ = jax.random.split(life.key, 3)
    env, dyna = build(*of_agent(static, numbers), world_now(static, life))
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
    env, dyna = build(*of_agent(static, numbers), world_now(static, life))
    discount = env.spec.discounts(terminated)
    transition = Transition(life.obs, action, reward, discount, obs)
    learn = dyna.observe if warm_up else dyna.learn
    state, info = learn(learn_key, life.dyna, transition)
    episode_step = jnp.where(over > 0, 0, life.episode_step + 1)
    life = life._replace(key=key, dyna=state, obs=start, episode_step=episode_step)
    info = {name: x.astype(jnp.float32) for name, x in info.items()}
    total = info if total is None else jax.tree.map(jnp.add, total, info)
    return life, total, choose(static, warm_up, life, numbers)


def actor(life: AgentLife, numbers: Numbers, step: Array, episode: Array) -> Actor:
    """What one evaluation episode needs of an agent, after `step` steps."""
    key = life.key
    for number in (STREAM, step, episode):
        key = jax.random.fold_in(key, number)
    return Actor(key, life.dyna.agent, life.seen, life.scale, numbers)


def test_action(static: Settings, actor: Actor, obs: Array, turn: Array) -> Array:
    """The action of an evaluation episode after so many turns."""
    settings, _ = of_agent(static, actor.numbers)
    env = as_seen(static.environment, actor.seen, actor.scale)
    agent = agent_of(settings, env.spec)
    if env.spec.num_actions is None:
        return agent.greedy(actor.agent, obs)
    key = jax.random.fold_in(actor.key, turn)
    return agent.act(key, actor.agent, obs, settings.evaluation.epsilon)


def test_model(static: Settings, life: AgentLife, numbers: Numbers, step: Array) -> Info:
    """How wrong the model is, after `step` steps."""
    settings, _ = of_agent(static, numbers)
    key = jax.random.fold_in(jax.random.fold_in(life.key, STREAM), step)
    return model_errors(key, world_now(static, life), settings, life.dyna)
