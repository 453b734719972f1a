"""Checks that every part must pass; call them on a part of your own.

Pass the part, `check_search_control(Mine(), env)`, to build it as training does, with the numbers
of its fields traced; or pass what it has built. An AssertionError or a SettingsError says in one
line what is wrong. Our own tests run these checks on every registered part.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.numerics.ring import Ring
from hcdyna.testing.examples import (
    FEW,
    every_action_at,
    some_actions,
    some_replay,
    some_scene,
    some_states,
    some_transitions,
)
from hcdyna.testing.tracing import agree, for_each, pure, same_shape, same_structure, traced
from hcdyna.types import Environment, Outcome, Pair, Rows, Spec, Transition

STEPS = 50
"""Of a random walk, from start states."""


def check_environment(environment: Any) -> None:
    """Check shapes and types, same bits alone and in a batch, states inside Π, no retracing."""
    env = _built(environment)
    spec = env.spec
    assert (spec.num_actions is None) != (spec.action_size is None), "one kind of action"
    assert 0 <= spec.discount <= 1, f"discount = {spec.discount}: from 0 to 1"
    assert spec.time_limit >= 1, f"time_limit = {spec.time_limit}: at least 1"
    keys = jax.random.split(jax.random.key(0), FEW)
    obs = pure(lambda key: _built(environment).reset(key), (keys,), "reset")
    actions = some_actions(spec)
    same_shape(obs[0], spec.example_obs(), "reset")
    agree(jax.vmap(env.project)(obs), obs, "start states are inside Π")
    moves = (keys, obs, actions)
    outcome = pure(lambda *x: _built(environment).dynamics(*x), moves, "dynamics")
    _check_outcome(outcome, env)
    terminal = (
        outcome.terminated if env.terminal is None else jax.vmap(env.terminal)(outcome.next_obs)
    )
    assert np.array_equal(terminal, outcome.terminated), "terminated = terminal(next_obs)"
    projected = jax.vmap(env.project)(some_states(env) * 3)
    agree(jax.vmap(env.project)(projected), projected, "Π is idempotent")
    assert np.all((projected >= spec.low) & (projected <= spec.high)), "Π lands inside the box"
    seen = _walk(env).reshape(-1, *spec.low.shape)
    agree(jax.vmap(env.project)(seen), seen, "observations stay inside Π")


def check_agent(agent: Any, environment: Any) -> None:
    """Check shapes and types, same bits alone and in a batch, and that updates change values."""
    env = _built(environment)
    make, numbers = traced("agent", agent, env)
    spec, now = env.spec, make({path: float(x[0]) for path, x in numbers.items()})
    keys, obs = jax.random.split(jax.random.key(1), FEW), some_states(env)
    states = pure(lambda n, k: make(n).init(k), (numbers, keys), "init")
    action = pure(lambda n, *x: make(n).act(*x, 0.5), (numbers, keys, states, obs), "act")
    _check_actions(action, spec, "action")
    greedy = pure(lambda n, *x: make(n).greedy(*x), (numbers, states, obs), "greedy")
    unmoved = jax.vmap(lambda k, s, o: now.act(k, s, o, 0.0))(keys, states, obs)
    assert np.array_equal(unmoved, greedy), "with ε = 0 the behaviour is greedy"
    if now.explore is not None:
        still = jnp.zeros(spec.example_action().shape)
        explored = jax.vmap(lambda s, o: now.explore(s, o, still))(states, obs)
        agree(explored, greedy, "numbers of zero make no noise")
    if now.advance is not None:
        advanced = pure(lambda n, *x: make(n).advance(*x), (numbers, keys, states), "advance")
        same_structure(advanced, states)
        agree(jax.vmap(now.greedy)(advanced, obs), greedy, "advance changes only exploration")
    value = pure(lambda n, *x: make(n).value(*x), (numbers, states, obs), "value")
    assert value.shape == (FEW,), "value: a scalar"
    assert np.all(np.isfinite(value)), "value is finite"
    if now.q is not None:
        q = pure(lambda n, *x: make(n).q(*x), (numbers, states, obs, greedy), "q")
        assert q.shape == (FEW,), "q: a scalar"
    if now.target is not None:
        target = pure(lambda n, *x: make(n).target(*x), (numbers, states, obs), "target")
        assert target.shape == (FEW,), "target: a scalar"
    batch = for_each(every_action_at(env, obs))
    learning = (numbers, keys, states, batch)
    after, info = _updated(lambda n, *x: make(n).update(*x, None), learning)
    same_structure(after, states)
    weighted, _ = jax.vmap(now.update)(keys, states, batch, jnp.ones(batch.reward.shape))
    agree(jax.vmap(now.value)(weighted, obs), jax.vmap(now.value)(after, obs), "weights of 1")
    assert all(np.all(np.isfinite(x)) for x in jax.tree.leaves(info)), "info is finite"
    told = info.pop("td_error", batch.reward)
    assert told.shape == batch.reward.shape, "td_error: one for each row of the mini-batch"
    _check_info(info)
    assert not np.array_equal(jax.vmap(now.value)(after, obs), value), "an update moves values"


def check_model(model: Any, environment: Any) -> None:
    """Check shapes and types, same bits alone and in a batch, finite predictions."""
    env = _built(environment)
    make, numbers = traced("model", model, env)
    now = make({path: float(x[0]) for path, x in numbers.items()})
    keys = jax.random.split(jax.random.key(2), FEW)
    states = pure(lambda n, k: make(n).init(k), (numbers, keys), "init")
    asked = (numbers, keys, states, some_states(env), some_actions(env.spec))
    outcome = pure(lambda n, *x: make(n).predict(*x), asked, "predict")
    _check_outcome(outcome, env)
    assert all(np.all(np.isfinite(x)) for x in outcome), "predictions are finite"
    learning = (numbers, keys, states, for_each(some_replay(env)))
    after, info = _updated(lambda n, *x: make(n).update(*x), learning)
    same_structure(after, states)
    _check_info(info)
    if now.spread is not None:
        spread = jax.vmap(now.spread)(after, *asked[3:])
        assert spread.shape == (FEW,), "spread: a scalar"
    if now.doubt is not None:
        _check_flag(jax.vmap(now.doubt)(after, *asked[3:], outcome), "doubt")
    if now.instead is not None:
        _check_outcome(jax.vmap(now.instead)(after, outcome), env)
    if now.can_be is not None:
        _check_flag(jax.vmap(now.can_be)(after, some_states(env)), "can_be")
    if now.competent is not None:
        _check_flag(jax.vmap(lambda key, state: now.competent(state))(keys, after), "competent")


def check_search_control(strategy: Any, environment: Any) -> None:
    """Check shapes and types, same bits alone and in a batch, sampled states inside Π."""
    env = _built(environment)
    make, numbers = traced("search_control", strategy, env)
    spec, now = env.spec, make({path: float(x[0]) for path, x in numbers.items()})
    replay, transitions = for_each(some_replay(env)), some_transitions(env, FEW)

    def update(numbers: Any, key: Any, state: Any, replay: Ring, transition: Transition) -> Any:
        mine, scene = make(numbers), some_scene(env, replay, transition)
        return mine.update(key, mine.observe(state, transition), scene)

    keys = jax.random.split(jax.random.key(3), FEW)
    states = for_each(now.init(jnp.asarray(spec.example_obs())))
    after, info = _updated(update, (numbers, keys, states, replay, transitions))
    same_structure(after, states)
    _check_info(info)
    if now.sample is None:
        return
    if now.ready is not None:
        _check_flag(jax.vmap(lambda key, state: now.ready(state))(keys, after), "ready")

    def sample(numbers: Any, key: Any, state: Any, replay: Ring, transition: Transition) -> Any:
        return make(numbers).sample(key, state, some_scene(env, replay, transition), 7)

    drawn = pure(sample, (numbers, keys, after, replay, transitions), "sample")
    if isinstance(drawn, Rows):
        _check_rows(now.learned, after, drawn, env)
        drawn = Pair(drawn.transition.obs, drawn.transition.action)
    if isinstance(drawn, Pair):
        actions = drawn.action.reshape(-1, *drawn.action.shape[2:])
        _check_actions(actions, spec, "a sampled action")
        drawn = drawn.obs
    same_shape(drawn[0][0], spec.example_obs(), "a sampled state")
    assert drawn.shape[1] == 7, "sample gives as many states as it is asked for"
    flat = drawn.reshape(-1, *spec.low.shape)
    assert np.all(np.isfinite(flat)), "sampled states are finite"
    agree(jax.vmap(env.project)(flat), flat, "sampled states are inside Π")


def _built(environment: Any) -> Environment:
    env = environment.build() if hasattr(environment, "build") else environment
    assert isinstance(env, Environment), f"build: a {type(env).__name__}, not an Environment"
    low, high = env.spec.low, env.spec.high
    arrays = all(isinstance(x, np.ndarray) for x in (low, high))
    fits = arrays and low.shape == high.shape
    assert fits, "low, high: NumPy arrays of one shape"
    return env


def _updated(update: Callable, args: tuple) -> tuple[Any, dict[str, Any]]:
    """The states and diagnostics of FEW updates."""
    found = pure(update, args, "update")
    fits = isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], dict)
    assert fits, "update: (state, info), with info a dict"
    return found


def _walk(env: Environment) -> Any:
    """The observations [FEW, STEPS, d] of random actions from start states, over and over."""
    actions = some_actions(env.spec, STEPS)

    def step(obs: Any, given: Any) -> Any:
        key, action = given
        move_key, reset_key = jax.random.split(key)
        outcome = env.dynamics(move_key, obs, action)
        over = jnp.where(outcome.terminated, env.reset(reset_key), outcome.next_obs)
        return over, outcome.next_obs

    def walk(key: Any) -> Any:
        order_key, start_key, *keys = jax.random.split(key, STEPS + 2)
        order = jax.random.permutation(order_key, actions)
        return jax.lax.scan(step, env.reset(start_key), (jnp.stack(keys), order))[1]

    return jax.jit(jax.vmap(walk))(jax.random.split(jax.random.key(6), FEW))


def _check_outcome(outcome: Outcome, env: Environment) -> None:
    """Of one action in each of FEW states."""
    assert isinstance(outcome, Outcome), f"an Outcome, not a {type(outcome).__name__}"
    same_shape(outcome.next_obs[0], env.spec.example_obs(), "next_obs")
    assert outcome.reward.shape == outcome.terminated.shape == (FEW,), "reward, terminated: scalars"
    kind = outcome.reward.dtype
    real = jnp.issubdtype(kind, jnp.floating) or jnp.issubdtype(kind, jnp.integer)
    assert real, f"reward: {kind}, not a real number"
    assert np.all(np.isfinite(outcome.reward)), "rewards are finite"
    assert outcome.terminated.dtype == bool, "terminated: bool"


def _check_actions(actions: Any, spec: Spec, what: str) -> None:
    """One action [n, …] a row."""
    same_shape(actions[0], spec.example_action(), what)
    low, high = (-1.0, 1.0) if spec.num_actions is None else (0, spec.num_actions - 1)
    assert np.all((actions >= low) & (actions <= high)), f"{what}: from {low} to {high}"


def _check_info(info: dict[str, Any]) -> None:
    """The diagnostics of FEW updates."""
    for name, x in info.items():
        assert jnp.shape(x) == (FEW,), f"info: scalars, but {name} has the shape {x.shape[1:]}"


def _check_flag(found: Any, what: str) -> None:
    """One truth value for each of FEW states."""
    assert found.shape == (FEW,), f"{what}: a scalar"
    assert found.dtype == bool, f"{what}: {found.dtype}, not bool"


def _check_rows(learned: Any, states: Any, rows: Rows, env: Environment) -> None:
    """Whole transitions [FEW, 7, …], and what becomes of their TD errors."""
    example = some_transitions(env, len(rows.transition.obs[0]))
    for name, x, y in zip(Transition._fields, rows.transition, example, strict=True):
        assert jnp.shape(x[0]) == y.shape, f"{name} of 7 rows: {jnp.shape(x[0])}, not {y.shape}"
    for name, beside in (("weight", rows.weight), ("tag", rows.tag)):
        each = beside is None or beside.shape == rows.transition.reward.shape
        assert each, f"{name}: one for each row"
    assert all(np.all(np.isfinite(x)) for x in rows.transition), "sampled transitions are finite"
    if rows.weight is not None:
        assert np.all(np.isfinite(rows.weight) & (rows.weight >= 0)), "weights are not negative"
    if learned is not None:
        assert rows.tag is not None, "rows have tags where their TD errors are asked for"
        assert jnp.issubdtype(rows.tag.dtype, jnp.integer), "tags are whole numbers"
        same_structure(jax.vmap(learned)(states, rows.tag, jnp.ones(rows.tag.shape)), states)
