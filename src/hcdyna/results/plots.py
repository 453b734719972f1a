"""Pictures: learning curves, and what an agent sees of a two-dimensional world."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.axes import Axes

from hcdyna import ring
from hcdyna.environments import grid_world
from hcdyna.results.statistics import mean_interval
from hcdyna.search_control.climbing import climb
from hcdyna.settings import Settings

COLOURS = {"DQN": "#222222", "OnPolicy-Dyna": "#2f6fb5", "HC-Dyna": "#c8342c"}
"""The paper's own."""

STARTS = np.array([[0.1, 0.1], [0.9, 0.9], [0.1, 0.9], [0.9, 0.1], [0.3, 0.4]], np.float32)
"""Where the climbs of the paper's Figure 1 start, as fractions of the box."""


def learning_curves(axes: Axes, curves: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> None:
    """Mean return with its 95% band, single seeds thin; label → steps, returns [seeds, steps]."""
    for number, (label, (steps, returns)) in enumerate(curves.items()):
        colour = COLOURS.get(label, f"C{number}")
        mean, low, high = mean_interval(returns)
        axes.plot(steps, returns.T, color=colour, linewidth=0.5, alpha=0.25)
        axes.fill_between(steps, low, high, color=colour, alpha=0.2, linewidth=0)
        axes.plot(steps, mean, color=colour, linewidth=2, label=label)
    axes.set_xlabel("environment steps")
    axes.set_ylabel("return of an evaluation episode")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)


def value_surface(
    axes: Axes, settings: Settings, state: Any, shown: int = 1_500, seed: int = 0
) -> None:
    """The value estimate of one agent over its box, with the states that it learns from.

    Blue dots are replay states, white crosses search-control states, and red lines are climbs
    without noise, to show where the surface leads.
    """
    env = settings.environment.build()
    agent = settings.agent.build(env.spec)
    value = jax.jit(partial(agent.value, state.agent))
    low, high = env.spec.low, env.spec.high
    x, y = (np.linspace(low[i], high[i], 120, dtype=np.float32) for i in (0, 1))
    grid = np.stack(np.meshgrid(x, y), axis=-1)
    heights = jax.vmap(jax.vmap(value))(grid)
    picture = axes.pcolormesh(x, y, heights, shading="gouraud", cmap="viridis", rasterized=True)
    axes.figure.colorbar(picture, ax=axes, label="V̂(s) = max Q(s, a)")

    replay_key, queue_key = jax.random.split(jax.random.key(seed))
    visited = ring.sample(replay_key, on_device(state.replay), shown).obs
    axes.scatter(
        visited[:, 0], visited[:, 1], s=3, color="#7fb6ff", linewidths=0, label="replay states"
    )
    queue = getattr(state.search_control, "queue", None)
    if queue is not None:
        queued = ring.sample(queue_key, on_device(queue), shown)
        axes.scatter(
            queued[:, 0],
            queued[:, 1],
            s=14,
            color="white",
            marker="+",
            linewidths=0.6,
            label="search-control queue",
        )
    for number, start in enumerate(jnp.asarray(low + (high - low) * STARTS)):
        climbing = partial(climb, noise="none", steps=100, step_size=0.02, project=env.project)
        states, _ = climbing(jax.random.key(0), start, value)
        path = np.concatenate([start[None], states])
        label = "climbs on V̂" if number == 0 else None
        axes.plot(*path.T, color="#ff4d3d", linewidth=1.6, label=label, zorder=4)
        axes.plot(*path[0], "o", color="#ff4d3d", markeredgecolor="white", markersize=7, zorder=4)
    if isinstance(settings.environment, grid_world.GridWorld | grid_world.GridWorldContinuous):
        draw_grid_world(axes, settings.environment.wall)
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])


def draw_grid_world(axes: Axes, wall: bool) -> None:
    """The wall with its hole, the start and the goal."""
    left, right = grid_world.WALL
    if wall:
        for bottom, top in ((0.0, grid_world.HOLE[0]), (grid_world.HOLE[1], 1.0)):
            axes.fill_between(
                [left, right], bottom, top, color="#3a3a3a", alpha=0.85, linewidth=0, zorder=3
            )
    goal, start = grid_world.GOAL, grid_world.START
    axes.fill_between([goal, 1], goal, 1, color="#ffd24a", zorder=3)
    axes.fill_between([0, start], 0, start, color="#8ee08e", zorder=3)
    axes.annotate("goal", (0.975, 0.965), ha="center", color="black", size="small", zorder=5)
    axes.annotate("start", (0.025, 0.018), ha="center", color="black", size="small", zorder=5)
    axes.set_aspect("equal")


def on_device(tree: Any) -> Any:
    """Host arrays as JAX arrays."""
    return jax.tree.map(jnp.asarray, tree)
