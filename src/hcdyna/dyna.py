"""Dyna: the four choices composed. The only place that knows the order of a time step.

replay.extend → search_control.update (climb, accept, enqueue)
  → n × {ρb states from search-control, ε-greedy actions, the model's outcomes;
         (1−ρ)b transitions from replay; agent.update}
  → model.update
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from hcdyna import ring
from hcdyna.errors import SettingsError
from hcdyna.kernels.surface import Surface, left_plain, use_kernels
from hcdyna.planning import draw_mini_batches, plan
from hcdyna.settings import Settings, Training
from hcdyna.types import (
    Agent,
    Array,
    Dyna,
    Environment,
    Info,
    Key,
    Model,
    Scene,
    SearchControl,
    Transition,
)
from hcdyna.varying import most, now

ADVANCE = 0x414456
"""Sets the random numbers of exploration apart from the others of a time step."""


class DynaState(NamedTuple):
    """What the four parts remember, and the replay buffer B_er."""

    agent: Any
    model: Any
    search_control: Any
    replay: ring.Ring


def build(settings: Settings) -> tuple[Environment, Dyna]:
    """The environment and the composed agent of some settings."""
    training = settings.training
    env = settings.environment.build()
    agent = settings.agent.build(env.spec)
    model = settings.model.build(env)
    search_control = settings.search_control.build(env)
    plain = left_plain(settings.search_control, training.batch_size, env)
    if training.kernels == "on" and plain:
        raise SettingsError(f"Training.kernels = 'on': {plain[0]}; use auto or off")
    return env, compose(env, agent, model, search_control, training)


def compose(
    env: Environment,
    agent: Agent,
    model: Model,
    search_control: SearchControl,
    training: Training,
) -> Dyna:
    """One agent out of an environment, an agent, a model and a search-control strategy."""
    spec = env.spec
    if search_control.sample is None:  # nothing is simulated, so nobody asks the model
        model = model._replace(init=lambda key: (), update=lambda key, state, replay: (state, {}))
    fused = use_kernels(training.kernels, agent.covered, env)

    def init(key: Key) -> DynaState:
        agent_key, model_key = jax.random.split(key)
        obs, real = jnp.asarray(spec.example_obs()), jnp.zeros(())
        blank = Transition(obs, jnp.asarray(spec.example_action()), real, real, obs)
        return DynaState(
            agent=agent.init(agent_key),
            model=model.init(model_key),
            search_control=search_control.init(obs),
            replay=ring.init(blank, training.replay_size),
        )

    def act(key: Key, state: DynaState, obs: Array) -> Array:
        return agent.act(key, state.agent, obs, training.epsilon)

    def remember(key: Key, state: DynaState, transition: Transition) -> DynaState:
        if agent.advance is not None:
            advance_key = jax.random.fold_in(key, ADVANCE)
            state = state._replace(agent=agent.advance(advance_key, state.agent))
        return state._replace(
            replay=ring.extend(state.replay, as_batch(transition), jnp.ones(1, bool)),
            search_control=search_control.observe(state.search_control, transition),
        )

    def observe(key: Key, state: DynaState, transition: Transition) -> tuple[DynaState, Info]:
        state = remember(key, state, transition)
        model_state, info = model.update(key, state.model, state.replay)
        return state._replace(model=model_state), info

    def learn(key: Key, state: DynaState, transition: Transition) -> tuple[DynaState, Info]:
        search_key, draw_key, model_key = jax.random.split(key, 3)
        state = remember(key, state, transition)
        model_info: Info = {}
        if training.learn_at_once:
            agent_state, _ = agent.update(state.agent, as_batch(transition))
            model_state, model_info = model.update(model_key, state.model, state.replay)
            state = state._replace(agent=agent_state, model=model_state)
        value: Any = partial(agent.value, state.agent)
        if fused:
            value = Surface(value, state.agent.params, agent.perceptron, env)
        scene = Scene(
            env=env,
            value=value,
            predict=lambda key, obs, action: model.predict(key, state.model, obs, action),
            replay=state.replay,
            transition=transition,
        )
        search_state, search_info = search_control.update(search_key, state.search_control, scene)
        agent_state = state.agent
        plan_info: Info = {}
        if most(training.planning_steps) > 0:
            batches = draw_mini_batches(draw_key, search_control, search_state, scene, training)
            count = now(training.planning_steps)
            agent_state, plan_info = plan(agent, state.agent, batches, scene, count)
        model_state = state.model
        if not training.learn_at_once:
            model_state, model_info = model.update(model_key, state.model, state.replay)
        state = DynaState(agent_state, model_state, search_state, state.replay)
        return state, search_info | plan_info | model_info

    return Dyna(init, act, observe, learn)


def as_batch(transition: Transition) -> Transition:
    """A mini-batch [1, …] of a single transition."""
    return jax.tree.map(lambda x: jnp.asarray(x)[None], transition)
