"""What experiments look at on the way, and what they do to agents; written for one agent."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from hcdyna.dyna import DynaState
from hcdyna.numerics import ring
from hcdyna.runs.snapshots import GRID, STARTS
from hcdyna.search_control.base import queue_of
from hcdyna.search_control.climbing import climb
from hcdyna.settings import Settings, agent_of
from hcdyna.types import Array

Probe = Callable[[Settings, DynaState], dict[str, Array]]

SAMPLES = 2_000
"""States drawn from replay and queue (figure 5 of the paper)."""
LENGTH_OF_STEP = 0.02
"""Of those ascents, which are without noise: 100 of these can cross the square."""
GOAL = 0.95
REGIONS = (0.95, 0.9, 0.85, 0.8, 0.7, 0.6)
"""Lower corners of squares up to (1, 1) that may be the high-value region of figure 5."""


def value_surface(settings: Settings, state: DynaState) -> dict[str, Array]:
    """The surface on a grid, and gradient ascents on it: where they go and how far."""
    env = settings.environment.build()
    agent = agent_of(settings, env.spec)

    def value(obs: Array) -> Array:
        return agent.value(state.agent, obs)

    axis = jnp.linspace(0.0, 1.0, GRID)
    points = jnp.stack(jnp.meshgrid(axis, axis), axis=-1)

    def ascend(start: Array) -> Array:
        states, _ = climb(
            jax.random.key(0),
            start,
            value,
            steps=100,
            step_size=LENGTH_OF_STEP,
            noise="none",
            project=env.project,
        )
        return jnp.concatenate([start[None], states])

    paths = jax.vmap(ascend)(jnp.asarray(STARTS))
    reached = jnp.any(jnp.all(paths >= GOAL, axis=-1), axis=-1)
    return {
        "surface": jax.vmap(jax.vmap(value))(points).astype(jnp.float16),
        "paths": paths.astype(jnp.float16),
        "reached": reached.mean(),
        "slope": mean_slope(value, points.reshape(-1, 2)),
    }


def mean_slope(value: Callable[[Array], Array], points: Array) -> Array:
    """The mean length of the gradient at points [n, d]."""
    return jnp.linalg.norm(jax.vmap(jax.grad(value))(points), axis=-1).mean()


def replay_and_queue(settings: Settings, state: DynaState) -> dict[str, Array]:
    """States drawn from both, and their shares in squares around the upper right corner."""
    replayed = ring.sample(jax.random.key(1), state.replay, SAMPLES).obs
    found = {"replay": replayed.astype(jnp.float16), "replay_share": shares(replayed)}
    queue = queue_of(state.search_control)
    if queue is not None:
        queued = ring.sample(jax.random.key(2), queue, SAMPLES)
        found |= {"queue": queued.astype(jnp.float16), "queue_share": shares(queued)}
    return found


def shares(obs: Array) -> Array:
    """[regions] share of states [n, 2] in each of `REGIONS`."""
    corners = jnp.asarray(REGIONS)
    return jnp.all(obs[:, None, :] >= corners[:, None], axis=-1).mean(axis=0)


def queue_at_edges(settings: Settings, state: DynaState) -> dict[str, Array]:
    """States of the queue, and the shares at the limits of velocity and near the goal."""
    spec = settings.environment.build().spec
    states = ring.sample(jax.random.key(2), state.search_control.queue, SAMPLES)
    width = spec.high - spec.low
    at_limit = jnp.abs(states[:, 1]) >= spec.high[1] - 0.01 * width[1]
    return {
        "queue": states.astype(jnp.float16),
        "at_limit": at_limit.mean(),
        "near_goal": (states[:, 0] >= 0.5).mean(),
    }


def tabular_queue(settings: Settings, state: DynaState) -> dict[str, Array]:
    """How often each state is drawn from the queue, and how concentrated that is."""
    spec = settings.environment.build().spec
    states = ring.sample(jax.random.key(2), state.search_control.queue, SAMPLES)
    counts = jnp.bincount(states, length=spec.num_states)
    share = counts / SAMPLES
    entropy = -jnp.sum(jnp.where(share > 0, share * jnp.log(jnp.maximum(share, 1e-9)), 0.0))
    return {"counts": counts.astype(jnp.int32), "spread": jnp.exp(entropy)}


PROBES: dict[str, Probe] = {
    "value_surface": value_surface,
    "replay_and_queue": replay_and_queue,
    "queue_at_edges": queue_at_edges,
    "tabular_queue": tabular_queue,
}

FEW = {"surface": 3, "paths": 3, "replay": 3, "queue": 3}
"""Of large arrays only the first seeds are kept."""


def negate_output(state: DynaState) -> DynaState:
    """Flip the sign of the output layer's parameters, and so of all values (figure 1e)."""
    return state._replace(agent=state.agent._replace(params=negated(state.agent.params)))


def negate_both(state: DynaState) -> DynaState:
    """The same for the target network too, so that no update has a target of before."""
    target = negated(state.agent.target)
    state = negate_output(state)
    return state._replace(agent=state.agent._replace(target=target))


def negated(params: Any) -> Any:
    """Layers, with the parameters of the last one negated."""
    return (*params[:-1], jax.tree.map(jnp.negative, params[-1]))


CHANGES: dict[str, Callable[[DynaState], Any]] = {
    "negate_output": negate_output,
    "negate_both": negate_both,
}
