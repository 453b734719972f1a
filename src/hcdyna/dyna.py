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
from jax.tree_util import Partial

from hcdyna import ring
from hcdyna.continuous import ContinuousBatches, random_numbers, simulate
from hcdyna.randomness import below, chance
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

ADVANCE = 0x414456
"""Sets the random numbers of exploration apart from the others of a time step."""


class DynaState(NamedTuple):
    """What the four parts remember, and the replay buffer B_er."""

    agent: Any
    model: Any
    search_control: Any
    replay: ring.Ring


class MiniBatches(NamedTuple):
    """The n mini-batches of one time step with all their random numbers: what `plan` consumes.

    Of each batch of b, m = ρb rows are simulated from search-control states and b − m replayed. The
    model does not change within a time step, so it is asked beforehand for the outcome of every
    action, and the update picks the ε-greedy one with the Q of that moment.
    """

    replayed: Transition
    """[n, b − m, …]"""
    states: Array
    """[n, m, d] from search-control"""
    reward: Array
    """[n, m, actions] of each action there …"""
    discount: Array
    """[n, m, actions] … γ·(1 − terminated) …"""
    next_states: Array
    """[n, m, actions, d] … and where it leads"""
    explore: Array
    """[n, m] whether the ε-greedy action is a random one …"""
    random_action: Array
    """[n, m] … and which"""
    ready: Array | None
    """[n] whether search-control has states to offer, the same for all; None: it always has"""
    fallback: Transition | None
    """[n, m, …] replayed rows to use where it has none"""


def build(settings: Settings) -> tuple[Environment, Dyna]:
    """The environment and the composed agent of some settings."""
    env = settings.environment.build()
    agent = settings.agent.build(env.spec)
    model = settings.model.build(env)
    search_control = settings.search_control.build(env)
    return env, compose(env, agent, model, search_control, settings.training)


def compose(
    env: Environment,
    agent: Agent,
    model: Model,
    search_control: SearchControl,
    training: Training,
) -> Dyna:
    """One agent out of an environment, an agent, a model and a search-control strategy."""
    spec = env.spec

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
        row = jax.tree.map(lambda x: jnp.asarray(x)[None], transition)
        return state._replace(
            replay=ring.extend(state.replay, row, jnp.ones(1, bool)),
            search_control=search_control.observe(state.search_control, transition),
        )

    def observe(key: Key, state: DynaState, transition: Transition) -> tuple[DynaState, Info]:
        state = remember(key, state, transition)
        model_state, info = model.update(key, state.model, state.replay)
        return state._replace(model=model_state), info

    def learn(key: Key, state: DynaState, transition: Transition) -> tuple[DynaState, Info]:
        search_key, draw_key, model_key = jax.random.split(key, 3)
        state = remember(key, state, transition)
        # Partial keeps the parameters visible, for kernels that climb without autodiff.
        scene = Scene(
            env=env,
            value=Partial(agent.value, state.agent),
            predict=lambda key, obs, action: model.predict(key, state.model, obs, action),
            replay=state.replay,
            transition=transition,
        )
        search_state, search_info = search_control.update(search_key, state.search_control, scene)
        agent_state = state.agent
        plan_info: Info = {}
        if training.planning_steps > 0:
            batches = draw_mini_batches(draw_key, search_control, search_state, scene, training)
            agent_state, plan_info = plan(agent, state.agent, batches, scene)
        model_state, model_info = model.update(model_key, state.model, state.replay)
        state = DynaState(agent_state, model_state, search_state, state.replay)
        return state, search_info | plan_info | model_info

    return Dyna(init, act, observe, learn)


def draw_mini_batches(
    key: Key, search_control: SearchControl, search_state: Any, scene: Scene, training: Training
) -> MiniBatches | ContinuousBatches | Transition:
    """Draw all that the n updates of a time step need; only replay if nothing is to be simulated.

    Rows of a mini-batch are drawn independently, so those of all n come out of one draw.
    """
    replay_key, state_key, model_key, action_key, fallback_key = jax.random.split(key, 5)
    n, b = training.planning_steps, training.batch_size
    m = 0 if search_control.sample is None else round(training.mixing_rate * b)

    def by_batch(rows: Any) -> Any:
        return jax.tree.map(lambda x: x.reshape(n, x.shape[0] // n, *x.shape[1:]), rows)

    replayed = by_batch(ring.sample(replay_key, scene.replay, n * (b - m)))
    if search_control.sample is None or m == 0:
        return replayed
    spec = scene.env.spec
    states = search_control.sample(state_key, search_state, scene, n * m)
    ready, fallback = None, None
    if search_control.ready is not None:
        ready = jnp.broadcast_to(search_control.ready(search_state), n)
        fallback = by_batch(ring.sample(fallback_key, scene.replay, n * m))
    if spec.num_actions is None:
        normal, keys = random_numbers(action_key, model_key, spec, (n, m), training.epsilon)
        return ContinuousBatches(replayed, by_batch(states), normal, keys, ready, fallback)
    every_action = jax.vmap(scene.predict, (None, None, 0))
    outcome = jax.vmap(every_action, (0, 0, None))(
        jax.random.split(model_key, n * m), states, jnp.arange(spec.num_actions)
    )
    explore, random_action = jax.random.bits(action_key, (2, n, m))
    return MiniBatches(
        replayed=replayed,
        states=by_batch(states),
        reward=by_batch(outcome.reward),
        discount=by_batch(spec.discount * (1.0 - outcome.terminated)),
        next_states=by_batch(outcome.next_obs),
        explore=chance(explore, training.epsilon),
        random_action=below(random_action, spec.num_actions),
        ready=ready,
        fallback=fallback,
    )


def plan(agent: Agent, state: Any, batches: Any, scene: Scene | None = None) -> tuple[Any, Info]:
    """The planning updates of a time step; pure, with its random numbers in `batches` [n, …].

    With continuous actions the model of `scene` is asked on the way.
    """

    def step(state: Any, batch: Any) -> tuple[Any, Info]:
        if isinstance(batch, MiniBatches):
            batch = complete(agent, state, batch)
        elif isinstance(batch, ContinuousBatches):
            assert scene is not None, "continuous actions: the model must be at hand"
            batch = mix(simulate(agent, state, batch, scene), batch)
        return agent.update(state, batch)

    state, info = jax.lax.scan(step, state, batches)
    return state, jax.tree.map(lambda x: x[-1], info)


def complete(agent: Agent, state: Any, batch: MiniBatches) -> Transition:
    """One mini-batch [b, …]: ε-greedy simulated rows first, then replayed ones."""
    greedy = jax.vmap(agent.greedy, (None, 0))(state, batch.states)
    action = jnp.where(batch.explore, batch.random_action, greedy)
    simulated = Transition(
        obs=batch.states,
        action=action,
        reward=choose(batch.reward, action),
        discount=choose(batch.discount, action),
        next_obs=choose(batch.next_states, action),
    )
    return mix(simulated, batch)


def mix(simulated: Transition, batch: MiniBatches | ContinuousBatches) -> Transition:
    """One mini-batch [b, …] of simulated and replayed rows."""
    if batch.ready is not None:
        simulated = jax.tree.map(partial(jnp.where, batch.ready), simulated, batch.fallback)
    return jax.tree.map(lambda *rows: jnp.concatenate(rows), simulated, batch.replayed)


def choose(table: Array, action: Array) -> Array:
    """Row `action` [m] of each `table` [m, actions, …]; a masked sum, since gathers are slow."""
    mask = jax.nn.one_hot(action, table.shape[1], dtype=bool)
    mask = mask.reshape(mask.shape + (1,) * (table.ndim - 2))
    return jnp.sum(jnp.where(mask, table, 0), axis=1, dtype=table.dtype)
