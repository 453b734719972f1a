"""Compare the climb with Langevin dynamics: long-run histograms and the burn-in.

    python examples/langevin.py --out docs/images/langevin.png

V is the logarithm of two hills on the unit square, and Σ̂ that of states all over it. The same
`climb` runs with a plain step and Langevin's noise, and with the paper's normalised step and noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import tyro

from hcdyna import climb

BINS = 25
HILLS = ((0.25, 0.3, 0.13, 1.0), (0.75, 0.7, 0.13, 2.0))
"""x, y, width and weight of each."""
START = (0.9, 0.05)
"""A state of low value, from which all climbs start."""
COLOURS = {"Langevin": "#2f6fb5", "HC-Dyna": "#c8342c"}


@dataclass(frozen=True)
class Options:
    """How much to draw."""

    chains: int = 1_000
    """Climbs side by side."""
    steps: int = 6_000
    """Steps of each; the second half counts as the long run."""
    alpha: float = 0.003
    """Langevin's step size."""
    burn_in: int = 100
    """How many first states of a few climbs to show: k of the paper."""
    out: Path = Path("langevin.png")


def value(obs: Any) -> Any:
    """V(s), so that exp(V) is a mixture of two Gaussians."""
    logs = [
        jnp.log(weight) - jnp.sum(jnp.square(obs - jnp.array([x, y]))) / (2 * width**2)
        for x, y, width, weight in HILLS
    ]
    return jnp.logaddexp(*logs)


def climbs(options: Options) -> dict[str, np.ndarray]:
    """States [chains, steps, 2] of both kinds of climb, all from START."""
    kinds: dict[str, dict[str, Any]] = {
        "Langevin": {"noise": "langevin", "normalise": False, "step_size": options.alpha},
        "HC-Dyna": {"noise": "full", "normalise": True, "step_size": 0.1, "eta": 0.1},
    }
    keys = jax.random.split(jax.random.key(0), options.chains)
    found = {}
    for name, kind in kinds.items():
        one: Any = partial(
            climb,
            start=jnp.array(START),
            criterion=value,
            steps=options.steps,
            covariance=jnp.eye(2) / 12,  # of states all over the square
            project=lambda obs: jnp.clip(obs, 0.0, 1.0),
            **kind,
        )
        found[name] = np.asarray(jax.jit(jax.vmap(lambda key, one=one: one(key)[0]))(keys))
    return found


def shares(states: np.ndarray) -> np.ndarray:
    """Of the cells [BINS, BINS]."""
    flat = states.reshape(-1, 2)
    return np.histogram2d(flat[:, 0], flat[:, 1], BINS, [[0.0, 1.0]] * 2)[0] / len(flat)


def exact(fine: int = 8) -> np.ndarray:
    """The same of exp(V)."""
    axis = (np.arange(BINS * fine) + 0.5) / (BINS * fine)
    points = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).astype(np.float32)
    density = np.exp(jax.vmap(jax.vmap(value))(points))
    cells = density.reshape(BINS, fine, BINS, fine).sum(axis=(1, 3))
    return cells / cells.sum()


def distance(p: np.ndarray, q: np.ndarray) -> float:
    """Total variation."""
    return float(0.5 * np.abs(p - q).sum())


def main(options: Options) -> None:
    found, target = climbs(options), exact()
    late = {name: shares(states[:, options.steps // 2 :]) for name, states in found.items()}
    off = {name: distance(late[name], target) for name in found}
    figure, axes = plt.subplots(2, 3, figsize=(12, 8), layout="constrained")
    panels = [("exp(V)", target)]
    panels += [(f"{name}, long run (distance {off[name]:.2f})", late[name]) for name in found]
    highest = max(cells.max() for _, cells in panels)
    for ax, (title, cells) in zip(axes[0], panels, strict=True):
        box = {"origin": "lower", "extent": (0, 1, 0, 1)}
        picture = ax.imshow(cells.T, cmap="viridis", vmin=0, vmax=highest, **box)
        ax.set_title(title, size="medium")
    figure.colorbar(picture, ax=axes[0], label=f"share of a cell, 1/{BINS} wide", aspect=25)
    draw_distances(axes[1, 0], found, target)
    for ax, name in zip(axes[1, 1:], found, strict=True):
        dots = draw_burn_in(ax, found[name][:6, : options.burn_in], target)
        ax.set_title(f"{name}, first {options.burn_in} states of 6 climbs", size="medium")
    figure.colorbar(dots, ax=axes[1], label="climb step", aspect=25)
    figure.savefig(options.out, dpi=130)
    for name in found:
        print(f"{name}: total variation to exp(V) in the long run {off[name]:.3f}")
    print(f"Picture: {options.out}")


def draw_burn_in(axes: Any, paths: np.ndarray, target: np.ndarray) -> Any:
    """States of a few climbs, dark at first, over the contours of exp(V)."""
    centre = (np.arange(BINS) + 0.5) / BINS
    axes.contour(centre, centre, target.T, levels=5, colors="#999999", linewidths=0.8)
    step = np.tile(np.arange(1, paths.shape[1] + 1), len(paths))
    colours = {"c": step, "cmap": "plasma", "norm": "log"}
    dots = axes.scatter(*paths.reshape(-1, 2).T, s=10, linewidths=0, **colours)
    axes.plot(*START, "*", color="black", markersize=13, clip_on=False, zorder=4)
    below = {"textcoords": "offset points", "ha": "right", "weight": "bold"}
    axes.annotate("start", START, (-9, -5), bbox={"fc": "white", "ec": "none", "pad": 1}, **below)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_aspect("equal")
    return dots


def draw_distances(axes: Any, found: dict[str, np.ndarray], target: np.ndarray) -> None:
    """How far the states of all climbs at one time are from exp(V)."""
    for name, states in found.items():
        steps = np.unique(np.geomspace(1, states.shape[1], 60).astype(int))
        off = [distance(shares(states[:, max(0, k - k // 10 - 1) : k]), target) for k in steps]
        axes.plot(steps, off, color=COLOURS[name], linewidth=2, label=name)
    axes.set_xscale("log")
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("climb step")
    axes.set_ylabel("total variation distance to exp(V)")
    axes.set_title("all climbs, from the same start", size="medium")
    axes.set_box_aspect(1)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
