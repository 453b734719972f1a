"""What the first agent of a run sees as it learns, kept for pictures.

A snapshot holds some replay and search-control states and, where the state space has two
dimensions, the value estimate on a grid and the paths of climbs without noise.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.gymnasium.theirs.environment import is_scaled
from hcdyna.numerics.packing import at_hand
from hcdyna.runs.store import Store
from hcdyna.search_control.base import queue_of
from hcdyna.search_control.climbing import climb
from hcdyna.settings import Settings, agent_of

MOST = 20
"""Snapshots per run."""
SHOWN = 300
"""States of each kind in a snapshot."""
GRID = 41
"""Points along each side of the value surface."""
STARTS = np.array([[0.1, 0.1], [0.9, 0.9], [0.1, 0.9], [0.9, 0.1], [0.3, 0.4]], np.float32)
"""Where the climbs of the paper's Figure 1 start, as fractions of the box."""


class Snapshots:
    """Takes them, at evaluations spread evenly over the run."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self.store = store
        training, every = settings.training, settings.evaluation.every
        self.every = max(1, -(-training.steps // MOST // every)) * every
        self.last = training.steps
        self.env = settings.environment.build()
        spec = self.env.spec
        bounded = bool(np.isfinite([spec.low, spec.high]).all())
        same = bounded and not is_scaled(settings.environment)  # else the agent knows another box
        self.surface = spec.num_states is None and spec.low.shape == (2,) and same
        agent = agent_of(settings, self.env.spec)
        self.look = jax.jit(partial(surface_and_climbs, self.env, agent.value))

    def take(self, dyna: Any, step: int) -> None:
        """Keep what the first agent of `dyna` [agents, …] sees after `step` steps."""
        if step % self.every and step != self.last:
            return
        rng = np.random.default_rng(step)
        spec = self.env.spec
        # Whoever looks at it later must not have to build the environment for that.
        arrays = {"low": spec.low, "high": spec.high}
        arrays["replay"] = some(rng, dyna.replay.data.obs, dyna.replay.total)
        queue = queue_of(dyna.search_control)
        if queue is not None and int(queue.total[0]) > 0:
            arrays["queue"] = some(rng, queue.data, queue.total)
        if self.surface:
            first = jax.tree.map(lambda x: at_hand(x[0]), dyna.agent)
            found = zip(("values", "climbs"), self.look(first), strict=True)
            arrays |= {name: np.asarray(x) for name, x in found}
        self.store.save_snapshot(step, arrays)


def some(rng: np.random.Generator, rows: jax.Array, total: jax.Array) -> np.ndarray:
    """A sample of the first agent's rows of a ring [agents, capacity, …]."""
    mine = np.asarray(rows.addressable_shards[0].data)[0]
    size = min(int(total[0]), len(mine))
    return mine[rng.integers(max(size, 1), size=SHOWN)]


def surface_and_climbs(
    env: Any, value: Any, agent: Any, points: int = GRID
) -> tuple[jax.Array, jax.Array]:
    """V̂ [y, x] over the box, and the paths [climbs, steps, 2] of climbs on it."""
    low, high = env.spec.low, env.spec.high
    x, y = (jnp.linspace(low[i], high[i], points) for i in (0, 1))
    grid = jnp.stack(jnp.meshgrid(x, y), axis=-1)
    estimate = partial(value, agent)
    starts = jnp.asarray(low + (high - low) * STARTS)
    # In units of the box, so that a step is as long along x as along y.
    covariance = jnp.diag(jnp.square(high - low))
    way = float(np.linalg.norm(high - low)) * 0.015

    def path(start: jax.Array) -> jax.Array:
        states, _ = climb(
            jax.random.key(0),
            start,
            estimate,
            covariance=covariance,
            noise="none",
            step_size=way,
            project=env.project,
        )
        return jnp.concatenate([start[None], states])

    return jax.vmap(jax.vmap(estimate))(grid), jax.vmap(path)(starts)
