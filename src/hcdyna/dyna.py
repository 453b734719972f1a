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

from hcdyna.kernels.accelerate import accelerate, after, for_models
from hcdyna.numerics import ring
from hcdyna.planning import TOLD, draw_mini_batches, plan, tell_errors
from hcdyna.planning.budget import Budget, budget_of
from hcdyna.search_control.climbing import climb_along
from hcdyna.settings import Settings, Training, part_of
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

ADVANCE, PLAN, NOW = 0x414456, 0x504C41, 0x4E4F57
"""Set the random numbers of exploration, and of updates, apart from the others of a time step."""


class DynaState(NamedTuple):
    """What the four parts remember, and the replay buffer B_er."""

    agent: Any
    model: Any
    search_control: Any
    replay: ring.Ring


def build(
    settings: Settings, budget: Budget | None = None, env: Environment | None = None
) -> tuple[Environment, Dyna]:
    """The environment and the composed agent of some settings.

    `budget` is given where n or ρ vary within the program, `env` where the environment is not the
    one that the settings build, since a hosted one learns its bounds on the way.
    """
    env = settings.environment.build() if env is None else env
    model = part_of(settings, "model", env, **for_models(settings))
    search_control = part_of(settings, "search_control", env)
    agent, climb, _ = accelerate(settings, env, part_of(settings, "agent", env))
    return env, compose(env, agent, model, search_control, settings.training, budget, climb)


def compose(
    env: Environment,
    agent: Agent,
    model: Model,
    search_control: SearchControl,
    training: Training,
    budget: Budget | None = None,
    climb: Any = None,
) -> Dyna:
    """One agent out of an environment, an agent, a model and a search-control strategy.

    `climb` makes a fast climb out of the agent's state and V̂, where there is one.
    """
    spec = env.spec
    budget = budget_of(training) if budget is None else budget
    if search_control.sample is None:  # nothing is simulated, so nobody asks the model
        model = model._replace(init=lambda key: (), update=lambda key, state, replay: (state, {}))

    def init(key: Key) -> DynaState:
        agent_key, model_key = jax.random.split(key)
        return DynaState(
            agent=agent.init(agent_key),
            model=model.init(model_key),
            search_control=search_control.init(jnp.asarray(spec.example_obs())),
            replay=ring.of_steps(spec, training.replay_size),
        )

    def act(key: Key, state: DynaState, obs: Array) -> Array:
        return agent.act(key, state.agent, obs, epsilon_now(training, state.replay))

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
        plan_key, now_key = (jax.random.fold_in(key, stream) for stream in (PLAN, NOW))
        state = remember(key, state, transition)
        model_info: Info = {}
        if training.learn_at_once:
            agent_state, _ = agent.update(now_key, state.agent, as_batch(transition), None)
            model_state, model_info = model.update(model_key, state.model, state.replay)
            state = state._replace(agent=agent_state, model=model_state)

        def improved(state: DynaState) -> tuple[DynaState, Info]:
            return improve((search_key, draw_key, plan_key), state, transition)

        if training.update_every == 1:
            state, info = improved(state)
        else:
            due = state.replay.total % training.update_every == 0
            _, shapes = jax.eval_shape(improved, state)
            nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
            state, info = jax.lax.cond(due, improved, lambda state: (state, nothing), state)
        if not training.learn_at_once:
            model_key, known = after(info.values(), model_key, state.model)
            model_state, model_info = model.update(model_key, known, state.replay)
            state = state._replace(model=model_state)
        return state, info | model_info

    def improve(
        keys: tuple[Key, Key, Key], state: DynaState, transition: Transition
    ) -> tuple[DynaState, Info]:
        """Search-control and the n planning updates."""
        search_key, draw_key, plan_key = keys
        scene = scene_of(env, agent, model, training, state, transition, climb)
        search_state, info = search_control.update(search_key, state.search_control, scene)
        if budget.most == 0:
            return state._replace(search_control=search_state), info
        epsilon = epsilon_now(training, state.replay)
        draw_key, _ = after(info.values(), draw_key)
        batches = draw_mini_batches(draw_key, search_control, search_state, scene, budget, epsilon)
        tell = search_control.learned is not None and batches.rows is not None
        agent_state, plan_info = plan(plan_key, agent, state.agent, batches, scene, budget.n, tell)
        if tell:
            search_state = tell_errors(search_control, search_state, batches, plan_info, budget.n)
        info = info | {name: x for name, x in plan_info.items() if name != TOLD}
        if batches.doubtful is not None:
            info["doubtful"] = jnp.mean(batches.doubtful)
        return state._replace(agent=agent_state, search_control=search_state), info

    return Dyna(init, act, observe, learn)


def epsilon_now(training: Training, replay: ring.Ring) -> Array | float:
    """ε of the step that comes next, as it falls after the warm-up."""
    if training.epsilon_steps == 0:
        return training.epsilon
    left = 1.0 - (replay.total - training.warmup) * (1.0 / training.epsilon_steps)
    start, end = training.epsilon_start, training.epsilon
    return end + (start - end) * jnp.clip(left, 0.0, 1.0)


def scene_of(
    env: Environment,
    agent: Agent,
    model: Model,
    training: Training,
    state: DynaState,
    transition: Transition,
    climb: Any = None,
) -> Scene:
    """What a strategy may look at after a real step; `climb` as in `compose`."""
    value, epsilon = partial(agent.value, state.agent), epsilon_now(training, state.replay)
    plain = partial(climb_along, criterion=value, project=env.project, skip=None)
    return Scene(
        env=env,
        value=value,
        predict=lambda key, obs, action: model.predict(key, state.model, obs, action),
        replay=state.replay,
        transition=transition,
        q=None if agent.q is None else partial(agent.q, state.agent),
        greedy=partial(agent.greedy, state.agent),
        act=lambda key, obs: agent.act(key, state.agent, obs, epsilon),
        target=value if agent.target is None else partial(agent.target, state.agent),
        spread=None if model.spread is None else partial(model.spread, state.model),
        doubt=None if model.doubt is None else partial(model.doubt, state.model),
        instead=None if model.instead is None else partial(model.instead, state.model),
        competent=None if model.competent is None else partial(model.competent, state.model),
        can_be=None if model.can_be is None else partial(model.can_be, state.model),
        climb=plain if climb is None else climb(state.agent, value),
    )


def as_batch(transition: Transition) -> Transition:
    """A mini-batch [1, …] of a single transition."""
    return jax.tree.map(lambda x: jnp.asarray(x)[None], transition)
