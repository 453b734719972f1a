"""What an agent sees: its value estimate, and the states that it learns and plans from."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from hcdyna.environments import grid_world
from hcdyna.environments.variables import named_variables
from hcdyna.figures.curves import curves_of, tidy
from hcdyna.numerics import ring
from hcdyna.runs.run import Run
from hcdyna.runs.snapshots import surface_and_climbs
from hcdyna.search_control.base import queue_of
from hcdyna.settings import Settings, agent_of
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.plain import to_act

POINTS = 121
"""Points along each side of the value surface."""
SHOWN = 1_500
"""States of each kind in a picture."""
OUTLINED = {"path_effects": [withStroke(linewidth=1.8, foreground="#2b2b2b")]}
"""White can be seen where the surface is bright, too."""


def plot_agent(
    run: Run,
    seed: int,
    setting: int = 0,
    variables: tuple[int, int] | Sequence[tuple[int, int]] = (0, 1),
) -> Figure:
    """What one agent sees at the end of its run.

    For two-dimensional states: the value surface with replay states, search-control queue and
    climbs. For more dimensions: replay against queue states, in the plane of a pair of `variables`
    or in several such planes. For tabular states: how often each is in the replay buffer and queue.
    """
    state = run.state(seed, setting)
    settings = to_act(run.settings[setting])
    spec = settings.environment.build().spec
    pairs = pairs_of(variables, spec.low.size)
    figure = Figure(figsize=(7 * len(pairs), 6), layout="constrained")
    every_axes = np.atleast_1d(figure.subplots(1, len(pairs)))
    if spec.low.shape == (2,) and pairs == [(0, 1)]:
        value_surface(every_axes[0], settings, state)
        dark = {"facecolor": "#21918c", "labelcolor": "white"}
    else:
        for axes, pair in zip(every_axes, pairs, strict=True):
            replay_and_queue(axes, settings, state, pair)
        dark = {}
    handles, labels = every_axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, markerscale=1.6, **dark)
    steps = f"after {run.steps[-1]:,} steps, " if len(run.steps) else ""
    figure.suptitle(
        f"{curves_of([run])[setting].label} on {spec.name}, {steps}seed {seed}", size="medium"
    )
    return figure


def pairs_of(variables: Any, dimensions: int) -> list[tuple[int, int]]:
    """One pair, or several, as a list; refused where the state has no such variables."""
    if dimensions < 2:
        return [(0, 0)]
    given = list(variables)
    if not given:
        raise SettingsError("variables: must be at least one pair")
    pairs = [tuple(given)] if all(isinstance(v, int) for v in given) else [tuple(p) for p in given]
    for pair in pairs:
        if len(pair) != 2 or not all(type(v) is int and 0 <= v < dimensions for v in pair):
            raise SettingsError(
                f"variables = {variables!r}: must be pairs of numbers from 0 to {dimensions - 1}"
            )
    return pairs


def variable_names(settings: Settings) -> tuple[str, ...]:
    """What the variables of a state are called."""
    spec = settings.environment.build().spec
    return named_variables(settings.environment, spec.low.size)


def replay_and_queue(axes: Axes, settings: Settings, state: Any, pair: tuple[int, int]) -> None:
    """States of the replay buffer against those of the queue, in the plane of two variables."""
    spec, names = settings.environment.build().spec, variable_names(settings)
    kinds = {"replay states": ("#2f6fb5", "o", 7), "search-control queue": ("#c8342c", "+", 18)}
    samples = sampled_states(state)
    for (label, (colour, marker, size)), states in zip(kinds.items(), samples, strict=True):
        if states is None:
            continue
        if spec.low.ndim == 0:
            bins = np.linspace(spec.low - 0.5, spec.high + 0.5, min(int(spec.high) + 2, 101))
            axes.hist(states, bins.tolist(), color=colour, alpha=0.5, label=label)
            continue
        width = 0 if marker == "o" else 0.8
        x, y = states[:, pair[0]], states[:, pair[1]]
        axes.scatter(
            x, y, s=size, color=colour, marker=marker, alpha=0.5, linewidths=width, label=label
        )
    axes.set_xlabel(names[pair[0]])
    axes.set_ylabel("states" if spec.low.ndim == 0 else names[pair[1]])
    tidy(axes)


def sampled_states(
    state: Any, shown: int = SHOWN, seed: int = 0
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Some states of the replay buffer and of the queue; None where there are none."""
    replay_key, queue_key = jax.random.split(jax.random.key(seed))
    rings = state.replay, queue_of(state.search_control)
    replay, queue = jax.tree.map(jnp.asarray, rings)
    visited = queued = None
    if int(replay.total) > 0:
        visited = np.asarray(ring.sample(replay_key, replay, shown).obs)
    if queue is not None and int(queue.total) > 0:
        queued = np.asarray(ring.sample(queue_key, queue, shown))
    return visited, queued


def value_surface(
    axes: Axes, settings: Settings, state: Any, shown: int = SHOWN, seed: int = 0
) -> None:
    """The value estimate of one agent over its box, with the states that it learns from.

    Blue dots are replay states, white crosses search-control states, and red lines are climbs
    without noise, to show where the surface leads.
    """
    env = settings.environment.build()
    agent = agent_of(settings, env.spec)
    look = jax.jit(partial(surface_and_climbs, env, agent.value, points=POINTS))
    heights, paths = (np.asarray(x) for x in look(state.agent))
    picture = draw_heights(axes, settings, heights)
    if picture is not None:
        axes.figure.colorbar(picture, ax=axes, label="V̂(s) = max Q(s, a)")
    visited, queued = sampled_states(state, shown, seed)
    if visited is not None:
        dots = {"s": 3, "color": "#7fb6ff", "linewidths": 0, "label": "replay states"}
        axes.scatter(visited[:, 0], visited[:, 1], **dots)  # type: ignore[arg-type]
    if queued is not None:
        crosses = {"s": 16, "color": "white", "marker": "+", "linewidths": 0.7, **OUTLINED}
        axes.scatter(queued[:, 0], queued[:, 1], **crosses, label="search-control queue")  # type: ignore[arg-type]
    draw_grid_world(axes, settings.environment)
    for number, path in enumerate(paths if picture is not None else ()):
        label = "climbs on V̂" if number == 0 else None
        axes.plot(*path.T, color="#ff4d3d", linewidth=1.6, label=label, zorder=4)
        axes.plot(*path[0], "o", color="#ff4d3d", markeredgecolor="white", markersize=7, zorder=4)


def draw_heights(axes: Axes, settings: Settings, heights: np.ndarray) -> QuadMesh | None:
    """V̂ [y, x] over the box of two-dimensional states; None, and why, where it is not finite."""
    spec, names = settings.environment.build().spec, variable_names(settings)
    low, high, points = spec.low, spec.high, len(heights)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel=names[0], ylabel=names[1])
    if not np.isfinite(heights).all():
        axes.set_facecolor("#5b6b73")
        axes.set_title("V̂ is not finite: this agent has diverged", size="medium")
        return None
    x, y = (np.linspace(low[i], high[i], points) for i in (0, 1))
    return axes.pcolormesh(x, y, heights, shading="gouraud", cmap="viridis", rasterized=True)


def draw_grid_world(axes: Axes, environment: Any) -> bool:
    """The wall with its hole, the start and the goal; False, and nothing, in other worlds."""
    regions = grid_world.regions(environment)
    if not regions:
        return False
    looks: dict[str, Any] = {
        "start": {"color": "#8ee08e"},
        "goal": {"color": "#ffd24a"},
        "wall": {"color": "#3a3a3a", "alpha": 0.85, "linewidth": 0},
    }
    for name, left, right, bottom, top in regions:
        axes.fill_between([left, right], bottom, top, zorder=3, **looks[name])
    axes.annotate("goal", (0.975, 0.965), ha="center", color="black", size="small", zorder=5)
    axes.annotate("start", (0.06, 0.018), color="white", size="small", zorder=5, **OUTLINED)  # type: ignore[arg-type]
    axes.set_aspect("equal")
    return True
