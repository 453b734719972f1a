"""Contracts that every part must fulfil; call them on a part of your own.

The library's own tests run them over every registered part.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.numerics import ring
from hcdyna.search_control.climbing import climb_along
from hcdyna.types import (
    Agent,
    Environment,
    Model,
    Pair,
    Rows,
    Scene,
    SearchControl,
    Spec,
    Transition,
)

FEW = 3


def check_environment(env: Environment) -> None:
    """Shapes and types, jit = no jit, vmap = one by one, inside Π, no retrace."""
    spec = env.spec
    assert (spec.num_actions is None) != (spec.action_size is None), "one kind of action"
    keys = jax.random.split(jax.random.key(0), FEW)
    obs = jax.vmap(env.reset)(keys)
    actions = some_actions(spec)
    _same_shape(obs[0], spec.example_obs(), "reset")
    _close(jax.vmap(env.project)(obs), obs, "start states are inside Π")
    outcome = _pure(env.dynamics, (keys, obs, actions), "dynamics")
    _same_shape(outcome.next_obs[0], spec.example_obs(), "next_obs")
    assert outcome.reward.shape == outcome.terminated.shape == (FEW,), "reward, terminated: scalars"
    assert outcome.terminated.dtype == bool, "terminated: bool"
    if env.terminal is not None:
        terminal = jax.vmap(env.terminal)(outcome.next_obs)
        assert np.array_equal(terminal, outcome.terminated), "terminated = terminal(next_obs)"
    projected = jax.vmap(env.project)(some_states(env) * 3)
    _close(jax.vmap(env.project)(projected), projected, "Π is idempotent")
    assert np.all((projected >= spec.low) & (projected <= spec.high)), "Π lands inside the box"


def check_agent(agent: Agent, env: Environment) -> None:
    """Shapes and types, jit = no jit, vmap = one by one; an update moves the values."""
    spec = env.spec
    keys = jax.random.split(jax.random.key(1), FEW)
    states, obs = jax.vmap(agent.init)(keys), some_states(env)
    action = _pure(lambda k, s, o: agent.act(k, s, o, 0.5), (keys, states, obs), "act")
    _same_shape(action[0], spec.example_action(), "action")
    greedy = _pure(agent.greedy, (states, obs), "greedy")
    assert np.array_equal(
        jax.vmap(lambda k, s, o: agent.act(k, s, o, 0.0))(keys, states, obs), greedy
    ), "with ε = 0 the behaviour is greedy"
    explore = agent.explore
    if explore is not None:
        still = jnp.zeros(spec.example_action().shape)
        explored = jax.vmap(lambda s, o: explore(s, o, still))(states, obs)
        _close(explored, greedy, "numbers of zero make no noise")
    if agent.advance is not None:
        advanced = jax.vmap(agent.advance)(keys, states)
        _same_structure(advanced, states)
        _close(jax.vmap(agent.greedy)(advanced, obs), greedy, "advance changes only exploration")
    value = _pure(agent.value, (states, obs), "value")
    assert value.shape == (FEW,), "value: a scalar"
    batch = every_action_at(env, obs)
    after, info = _pure(lambda k, s: agent.update(k, s, batch, None), (keys, states), "update")
    _same_structure(after, states)
    ones = jnp.ones(len(batch.reward))
    weighted, _ = jax.vmap(lambda k, s: agent.update(k, s, batch, ones))(keys, states)
    _close(jax.vmap(agent.value)(weighted, obs), jax.vmap(agent.value)(after, obs), "weights of 1")
    assert all(np.all(np.isfinite(x)) for x in jax.tree.leaves(info)), "info is finite"
    assert not np.array_equal(jax.vmap(agent.value)(after, obs), value), "an update moves values"


def check_model(model: Model, env: Environment) -> None:
    """Shapes and types, jit = no jit, vmap = one by one, finite predictions."""
    keys = jax.random.split(jax.random.key(2), FEW)
    states = jax.vmap(model.init)(keys)
    obs, actions = some_states(env), some_actions(env.spec)
    outcome = _pure(model.predict, (keys, states, obs, actions), "predict")
    _same_shape(outcome.next_obs[0], env.spec.example_obs(), "next_obs")
    assert outcome.terminated.dtype == bool, "terminated: bool"
    assert all(np.all(np.isfinite(x)) for x in outcome), "predictions are finite"
    replay = some_replay(env)
    after, _ = _pure(lambda k, s: model.update(k, s, replay), (keys, states), "update")
    _same_structure(after, states)


def check_search_control(strategy: SearchControl, env: Environment) -> None:
    """Shapes and types, jit = no jit, vmap = one by one, sampled states inside Π."""
    spec = env.spec
    replay, transitions = some_replay(env), some_transitions(env, FEW)

    def scene(transition: Transition) -> Scene:
        return some_scene(env, replay, transition)

    def update(key: Any, state: Any, transition: Transition) -> Any:
        return strategy.update(key, strategy.observe(state, transition), scene(transition))

    keys = jax.random.split(jax.random.key(3), FEW)
    start = strategy.init(jnp.asarray(spec.example_obs()))
    states = jax.tree.map(lambda x: jnp.stack([x] * FEW), start)
    after, info = _pure(update, (keys, states, transitions), "update")
    _same_structure(after, states)
    for old, new in zip(jax.tree.leaves(states), jax.tree.leaves(after), strict=True):
        assert (old.shape, old.dtype) == (new.shape, new.dtype), "update keeps shapes and types"
    assert all(x.shape == (FEW,) for x in jax.tree.leaves(info)), "info: scalars"
    sample = strategy.sample
    if sample is None:
        return
    drawn = _pure(lambda k, s, t: sample(k, s, scene(t), 7), (keys, after, transitions), "sample")
    if isinstance(drawn, Rows):
        _check_rows(strategy, after, drawn)
        drawn = Pair(drawn.transition.obs, drawn.transition.action)
    if isinstance(drawn, Pair):
        _same_shape(drawn.action[0][0], spec.example_action(), "a sampled action")
        drawn = drawn.obs
    _same_shape(drawn[0][0], spec.example_obs(), "a sampled state")
    assert drawn.shape[1] == 7, "sample gives as many states as it is asked for"
    flat = drawn.reshape(-1, *spec.low.shape)
    _close(jax.vmap(env.project)(flat), flat, "sampled states are inside Π")


def _check_rows(strategy: SearchControl, states: Any, rows: Rows) -> None:
    """Whole transitions [FEW, n, …], and what becomes of their TD errors."""
    assert all(np.all(np.isfinite(x)) for x in rows.transition), "sampled transitions are finite"
    if rows.weight is not None:
        assert np.all(np.isfinite(rows.weight) & (rows.weight >= 0)), "weights are not negative"
    learned, tag = strategy.learned, rows.tag
    if learned is not None:
        assert tag is not None, "rows have tags where their TD errors are asked for"
        assert jnp.issubdtype(tag.dtype, jnp.integer), "tags are whole numbers"
        _same_structure(jax.vmap(learned)(states, tag, jnp.ones(tag.shape)), states)


def some_scene(env: Environment, replay: ring.Ring, transition: Transition) -> Scene:
    """What a strategy sees, with values that grow towards the upper end of the box."""
    spec = env.spec
    value: Any = lambda obs: -jnp.sum(jnp.square(obs - spec.high))  # noqa: E731
    best = jnp.asarray(spec.example_action())
    return Scene(
        env=env,
        value=value,
        predict=env.dynamics,
        replay=replay,
        transition=transition,
        q=lambda obs, action: value(obs) - jnp.sum(jnp.square(action - best)),
        greedy=lambda obs: best,
        act=lambda key, obs: best,
        target=value,
        climb=partial(climb_along, criterion=value, project=env.project, skip=None),
    )


def some_states(env: Environment, n: int = FEW) -> Any:
    """A few states of the box, [n, d]."""
    spec = env.spec
    if spec.num_states is not None:
        return jax.random.randint(jax.random.key(4), (n,), 0, spec.num_states)
    shape = (n, *spec.low.shape)
    box = jax.random.uniform(jax.random.key(4), shape, minval=spec.low, maxval=spec.high)
    return jax.vmap(env.project)(box)


def some_actions(spec: Spec, n: int = FEW) -> Any:
    """A few actions, [n] or [n, size]."""
    if spec.num_actions is not None:
        return jnp.arange(n, dtype=jnp.int32) % spec.num_actions
    return jax.random.uniform(jax.random.key(5), (n, spec.action_size or 0), minval=-1.0)


def some_transitions(env: Environment, n: int) -> Transition:
    """A few transitions, [n, …], one of them terminal."""
    obs = some_states(env, n + 1)
    discount = env.spec.discount * (jnp.arange(n) > 0)
    return Transition(obs[:-1], some_actions(env.spec, n), -jnp.ones(n), discount, obs[1:])


def every_action_at(env: Environment, obs: Any) -> Transition:
    """Transitions that try every action at each state of `obs` [n, d], or a few continuous ones."""
    times = env.spec.num_actions or FEW
    rows = some_transitions(env, len(obs) * times)
    return rows._replace(obs=jnp.repeat(obs, times, axis=0))


def some_replay(env: Environment) -> ring.Ring:
    """A replay buffer with a few transitions in it."""
    rows = some_transitions(env, 20)
    empty = ring.init(jax.tree.map(lambda x: x[0], rows), 32)
    return ring.extend(empty, rows, jnp.ones(20, bool))


def _pure(function: Callable, args: tuple, what: str) -> Any:
    """vmap(function)(args), after checking that jit and single calls agree and trace only once."""
    traces = []

    def counted(*one: Any) -> Any:
        traces.append(1)
        return function(*one)

    together = jax.jit(jax.vmap(function))(*args)
    jitted = jax.jit(counted)
    for i in range(FEW):
        one, expected = (jax.tree.map(lambda x, i=i: x[i], tree) for tree in (args, together))
        _close(jitted(*one), expected, f"{what}: vmap = one by one")
    _close(function(*one), expected, f"{what}: jit = no jit")
    assert len(traces) == 1, f"{what}: traced {len(traces)} times for the same shapes"
    return together


def _close(a: Any, b: Any, what: str) -> None:
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-4, atol=2e-5, err_msg=what)


def _same_shape(a: Any, b: Any, what: str) -> None:
    assert (jnp.shape(a), jnp.result_type(a)) == (jnp.shape(b), jnp.result_type(b)), (
        f"{what}: {jnp.shape(a)} {jnp.result_type(a)}, not {jnp.shape(b)} {jnp.result_type(b)}"
    )


def _same_structure(after: Any, before: Any) -> None:
    assert str(jax.tree.structure(after)) == str(jax.tree.structure(before)), (
        "update keeps the structure of the state"
    )
