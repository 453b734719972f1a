"""The pictures of docs/algorithm.md: one agent is trained on GridWorld and looked at.

    python docs/pictures/climb.py --out docs/images

Writes time_step.png (the order of a time step), climb.png (one climb, and which of its states enter
the queue), noise.png (the same climb for several η) and replay_and_queue.png (where both are as
learning goes on). Prints what the pictures show as numbers.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import tyro
from matplotlib.patches import FancyBboxPatch

from hcdyna import GridWorld, HillClimbing, Run, Settings, climb, presets, train
from hcdyna.figures.pictures import draw_grid_world
from hcdyna.runs.store import Store
from hcdyna.search_control import moments

START = (0.08, 0.85)
"""Where the climb of climb.png and noise.png starts: the upper left, far from hole and goal."""
ETAS = (0.0, 0.01, 0.1, 1.0)
GRID = 121
REPLAY, QUEUE, CLIMB = "#7fb6ff", "#ff2d6f", "#ff4d3d"


@dataclass(frozen=True)
class Options:
    """What to train, and where the pictures go."""

    steps: int = 15_000
    """Environment steps of the agent."""
    warmup: int = 5_000
    """Of which random."""
    seed: int = 7
    """Of the agent; the README shows the same one."""
    out: Path = Path("docs/images")


def main(options: Options) -> None:
    options.out.mkdir(parents=True, exist_ok=True)
    draw_time_step().savefig(options.out / "time_step.png", dpi=130)
    with tempfile.TemporaryDirectory() as folder:
        run = train(settings_for(options), [options.seed], out=Path(folder) / "run")
        seen = Store.open(Path(folder) / "run").snapshots()
        look = Look(run, options.seed)
    draw_climb(look).savefig(options.out / "climb.png", dpi=130)
    draw_noise(look).savefig(options.out / "noise.png", dpi=130)
    draw_replay_and_queue(seen, options.warmup).savefig(
        options.out / "replay_and_queue.png", dpi=130
    )


def settings_for(options: Options) -> Settings:
    """HC-Dyna as `make demo` trains it."""
    settings = presets.settings("demo", "GridWorld", search_control="hill_climbing")
    training = replace(settings.training, steps=options.steps, warmup=options.warmup)
    every = max(1, min(500, options.steps // 10))
    return replace(
        settings, training=training, evaluation=replace(settings.evaluation, every=every)
    )


class Look:
    """A trained agent's V̂, Σ̂ and ε_a, and climbs with them."""

    def __init__(self, run: Run, seed: int) -> None:
        state, settings = run.state(seed), run.settings[0]
        self.steps = int(run.steps[-1])
        self.env = settings.environment.build()
        self.value = partial(settings.agent.build(self.env.spec).value, state.agent)
        visited = state.search_control.statistics
        self.covariance = moments.covariance(jax.tree.map(jnp.asarray, visited.moments))
        self.threshold = float(visited.move.average)
        self.strategy: HillClimbing = settings.search_control

    def climb(self, eta: float, key: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """States [k, 2] of a climb from START, and which were accepted [k]."""
        states, accepted = climb(
            jax.random.key(key),
            jnp.array(START),
            self.value,
            steps=self.strategy.steps,
            covariance=self.covariance,
            eta=eta,
            project=self.env.project,
            threshold=self.threshold,
        )
        return np.asarray(states), np.asarray(accepted)

    def surface(self) -> np.ndarray:
        """V̂ [y, x] over the square."""
        axis = jnp.linspace(0.0, 1.0, GRID)
        grid = jnp.stack(jnp.meshgrid(axis, axis), axis=-1)
        return np.asarray(jax.vmap(jax.vmap(self.value))(grid))


def draw_surface(axes: Any, heights: np.ndarray) -> Any:
    """V̂ as colours, with the wall, start and goal of GridWorld."""
    axis = np.linspace(0, 1, len(heights))
    picture = axes.pcolormesh(axis, axis, heights, shading="gouraud", cmap="viridis")
    draw_grid_world(axes, GridWorld())
    for words in list(axes.texts):  # too long for small panels
        words.remove()
    axes.annotate("start", (0.06, 0.015), color="white", size="small")
    axes.annotate("goal", (0.94, 0.95), ha="right", va="top", size="small")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_xticks([0, 0.5, 1])
    axes.set_yticks([0, 0.5, 1])
    return picture


def draw_path(axes: Any, states: np.ndarray, accepted: np.ndarray) -> None:
    """A climb: line, accepted states as filled dots, the others as hollow ones, the start."""
    path = np.concatenate([[START], states])
    axes.plot(*path.T, color=CLIMB, linewidth=0.9, alpha=0.75, zorder=4)
    near = {"zorder": 5, "clip_on": False}
    axes.scatter(*states[accepted].T, s=20, color=CLIMB, edgecolor="white", linewidth=0.5, **near)
    axes.scatter(*states[~accepted].T, s=20, facecolor="none", edgecolor="black", **near)
    axes.plot(*START, "*", color="white", markeredgecolor="black", markersize=17, zorder=6)


def draw_climb(look: Look) -> Any:
    """One climb on V̂, and the rule by which its states enter the queue."""
    states, accepted = look.climb(look.strategy.eta)
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(12, 5.2), layout="constrained", width_ratios=(1.25, 1)
    )
    picture = draw_surface(left, look.surface())
    figure.colorbar(picture, ax=left, label="V̂(s)")
    draw_path(left, states, accepted)
    left.set_title(f"One climb after {look.steps:,} steps of learning", size="medium")

    away = distances(states, accepted)
    step = np.arange(1, len(states) + 1)
    right.axhline(look.threshold, color="#444444", linestyle="--", linewidth=1.2)
    beside = {"xycoords": ("axes fraction", "data"), "va": "center", "annotation_clip": False}
    right.annotate(f" εₐ = {look.threshold:.3f}", (1.0, look.threshold), **beside)
    right.scatter(step[accepted], away[accepted], s=22, color=CLIMB, label="enters the queue")
    dots = {"s": 22, "facecolor": "none", "edgecolor": "black"}
    right.scatter(step[~accepted], away[~accepted], **dots, label="too near, left out")
    right.set_ylim(bottom=0)
    right.set_xlabel("climb step (the first is always accepted, and not drawn here)")
    right.set_ylabel("distance to the last accepted state, ‖s̃ − s‖/√d")
    right.set_title(f"{int(accepted.sum())} of {len(states)} states accepted", size="medium")
    right.spines[["top", "right"]].set_visible(False)
    right.legend(frameon=False, loc="upper right")
    print(f"climb: {int(accepted.sum())} of {len(states)} accepted, ε_a = {look.threshold:.4f}")
    print(f"Σ̂ = {np.asarray(look.covariance).round(4).tolist()}")
    return figure


def distances(states: np.ndarray, accepted: np.ndarray) -> np.ndarray:
    """‖s̃ − s‖₂/√d of each state to the last accepted one before it; the first has none."""
    found, last = np.full(len(states), np.nan), None
    for i, (state, taken) in enumerate(zip(states, accepted, strict=True)):
        if last is not None:
            found[i] = np.sqrt(np.mean(np.square(state - last)))
        if taken:
            last = state
    return found


def draw_noise(look: Look) -> Any:
    """The same start and surface with different η."""
    figure, panels = plt.subplots(1, len(ETAS), figsize=(13, 3.6), layout="constrained")
    heights = look.surface()
    for axes, eta in zip(panels, ETAS, strict=True):
        states, accepted = look.climb(eta)
        draw_surface(axes, heights)
        draw_path(axes, states, accepted)
        axes.set_title(f"η = {eta:g}: {int(accepted.sum())} accepted", size="medium")
        near = np.mean(np.all(states >= 0.9, axis=1))
        print(f"η = {eta:g}: {int(accepted.sum())} accepted, {near:.0%} within 0.1 of the corner")
    return figure


def draw_replay_and_queue(seen: dict[int, dict[str, np.ndarray]], warmup: int) -> Any:
    """Value surface, replay and queue at three moments: soon after warm-up, midway, at the end."""
    steps = [step for step in seen if step > warmup]
    shown = [steps[0], steps[len(steps) // 4], steps[-1]]
    figure, panels = plt.subplots(1, 3, figsize=(13, 4.6), layout="constrained")
    for axes, step in zip(panels, shown, strict=True):
        shot = seen[step]
        picture = draw_surface(axes, shot["values"])
        figure.colorbar(picture, ax=axes, shrink=0.8)
        axes.scatter(*shot["replay"].T, s=9, color=REPLAY, edgecolor="#1d3f66", linewidth=0.3)
        axes.scatter(*shot["queue"].T, s=22, color=QUEUE, marker="+", linewidth=0.9)
        right = {kind: float(np.mean(shot[kind][:, 0] > 0.6)) for kind in ("replay", "queue")}
        axes.set_title(
            f"{step:,} steps; beyond the wall:\n"
            f"{right['replay']:.0%} of replay, {right['queue']:.0%} of the queue",
            size="medium",
        )
        print(f"{step:,} steps, x > 0.6: replay {right['replay']:.2f}, queue {right['queue']:.2f}")
    handles = [
        axes.scatter([], [], s=30, color=REPLAY, edgecolor="#1d3f66", label="replay states"),
        axes.scatter([], [], s=50, color=QUEUE, marker="+", label="search-control queue"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False)
    return figure


BOXES = {
    "world": (0.6, 2.5, "environment\none real step", "#dbe7f5"),
    "replay": (3.5, 2.5, "replay buffer\n(s, a, r, s′)", "#dbe7f5"),
    "climb": (3.5, 0.6, "climb V̂ from a\nreplay state, k steps", "#fbdcd8"),
    "queue": (6.4, 0.6, "queue of states\nfar enough apart", "#fbdcd8"),
    "model": (9.3, 0.6, "ε-greedy action,\nmodel: r, s′", "#fbdcd8"),
    "batch": (9.3, 2.5, "mini-batch of b", "#eeeeee"),
    "update": (12.2, 2.5, "update Q\n(n times a step)", "#e3f1de"),
}
"""x, y of the centre, words and colour."""
ARROWS = {
    ("world", "replay"): "",
    ("replay", "batch"): "(1 − ρ)b transitions",
    ("replay", "climb"): "start",
    ("climb", "queue"): "",
    ("queue", "model"): "ρb states",
    ("model", "batch"): "",
    ("batch", "update"): "",
}
WIDE, HIGH = 1.0, 0.42
"""Half the sides of a box."""
GREEN = "#3d7a2f"


def draw_time_step() -> Any:
    """The order of a time step, as boxes and arrows."""
    figure, axes = plt.subplots(figsize=(12, 3.9), layout="constrained")
    for x, y, words, colour in BOXES.values():
        style = {"boxstyle": "round,pad=0.02,rounding_size=0.12", "fc": colour, "ec": "#555555"}
        axes.add_patch(FancyBboxPatch((x - WIDE, y - HIGH), 2 * WIDE, 2 * HIGH, **style))
        axes.text(x, y, words, ha="center", va="center", size="medium")
    arrow = {"arrowstyle": "-|>", "color": "#333333", "lw": 1.4, "shrinkA": 2, "shrinkB": 2}
    for (a, b), words in ARROWS.items():
        (xa, ya), (xb, yb) = BOXES[a][:2], BOXES[b][:2]
        if ya == yb:
            tail, head = (xa + WIDE, ya), (xb - WIDE, yb)
        else:
            side = np.sign(yb - ya)
            tail, head = (xa, ya + HIGH * side), (xb, yb - HIGH * side)
        axes.annotate("", head, tail, arrowprops=arrow)
        middle = ((tail[0] + head[0]) / 2, (tail[1] + head[1]) / 2)
        place = {"ha": "center", "va": "bottom"} if ya == yb else {"ha": "left", "va": "center"}
        shift = (0, 3) if ya == yb else (5, 0)
        axes.annotate(words, middle, shift, textcoords="offset points", size="small", **place)
    way_back(axes, "world", 3.35, HIGH, "acts: ε-greedy in Q")
    way_back(axes, "climb", -0.25, -HIGH, "is climbed: V̂(s) = max Q(s, a)")
    axes.set_xlim(-0.6, 13.4)
    axes.set_ylim(-0.75, 3.85)
    axes.set_aspect("equal")
    axes.axis("off")
    return figure


def way_back(axes: Any, to: str, height: float, side: float, words: str) -> None:
    """From the update of Q around all boxes to one of them."""
    (xa, ya), (xb, yb) = BOXES["update"][:2], BOXES[to][:2]
    axes.plot([xa, xa, xb], [ya + side, height, height], color=GREEN, lw=1.4)
    style = {"arrowstyle": "-|>", "color": GREEN, "lw": 1.4, "shrinkA": 0, "shrinkB": 2}
    axes.annotate("", (xb, yb + side), (xb, height), arrowprops=style)
    va, shift = ("bottom", 4) if side > 0 else ("top", -4)
    near = {"ha": "center", "va": va, "color": GREEN, "textcoords": "offset points"}
    axes.annotate(words, ((xa + xb) / 2, height), (0, shift), **near)


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
