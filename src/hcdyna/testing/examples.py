"""States, actions, transitions and a scene to try a part with."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from hcdyna.numerics import ring
from hcdyna.search_control.climbing import climb_along
from hcdyna.types import Environment, Scene, Spec, Transition

FEW = 3
ROWS = 32
"""Of the replay buffer."""


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
    empty = ring.init(jax.tree.map(lambda x: x[0], rows), ROWS)
    return ring.extend(empty, rows, jnp.ones(20, bool))
