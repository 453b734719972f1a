"""V* of TabularGridWorld by exact value iteration and by the paper's recipe, compared.

    python benchmarks/optimal_values.py                            # in full: 1e6 steps, 50 seeds
    python benchmarks/optimal_values.py --steps 100000 --seeds 10

The recipe trains ER and averages max_a Q over seeds. Both results stay in the user's cache folder.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from hcdyna import TabularGridWorld
from hcdyna.experiments.recipe import recipe
from hcdyna.search_control.lattice import steepest
from hcdyna.search_control.optimal_values import LEARNING_RATE, SEEDS, STEPS, value_iteration


@dataclass(frozen=True)
class Options:
    """The recipe."""

    steps: int = STEPS
    seeds: int = SEEDS
    learning_rate: float = LEARNING_RATE
    together: int = 25
    """Seeds that train at a time; finished ones stay in the cache."""


def main(options: Options) -> None:
    world = TabularGridWorld()
    size = world.size
    exact = value_iteration(world.build().spec)
    made = recipe(world, options.steps, options.seeds, options.learning_rate, options.together)
    console = Console(width=100)
    title = (
        f"V* of TabularGridWorld; recipe: ER for {options.steps:,} steps, {options.seeds} seeds, "
        f"learning rate {options.learning_rate:.4g}"
    )
    table = Table(title=title)
    for heading in ("state (column, row)", "value iteration", "recipe", "difference"):
        table.add_column(heading, justify="left" if "state" in heading else "right")
    last, middle = size - 1, size // 2
    cells = {
        "start": (0, 0),
        "middle": (middle, middle),
        "top left": (0, last),
        "bottom right": (last, 0),
        "left of the goal": (last - 1, last),
        "below the goal": (last, last - 1),
        "goal": (last, last),
    }
    for name, (column, row) in cells.items():
        state = column * size + row
        table.add_row(f"{name} ({column}, {row})", *numbers(exact[state], made[state]))
    table.add_row("mean over states", *numbers(exact.mean(), made.mean()))
    console.print(table)
    error = np.abs(made - exact)
    console.print(f"mean |difference| {error.mean():.2f}, largest {error.max():.2f}")
    overlap = steepest_bits(exact, size) & steepest_bits(made, size)
    console.print(f"the steepest neighbour agrees in {np.mean(overlap > 0):.1%} of states")
    distance = 0.5 * np.abs(gibbs(exact) - gibbs(made)).sum()
    console.print(f"total variation distance of the Gibbs distributions: {distance:.3f}")


def numbers(exact: float, made: float) -> list[str]:
    return [f"{exact:.2f}", f"{made:.2f}", f"{made - exact:+.2f}"]


def gibbs(values: np.ndarray) -> np.ndarray:
    """∝ exp(V)."""
    weights = np.exp(values - values.max())
    return weights / weights.sum()


def steepest_bits(values: np.ndarray, size: int) -> np.ndarray:
    """[size, size], the neighbours that a climb may choose in each cell, as bits."""
    # Symmetric states differ by rounding error in value iteration; that must not decide.
    bits = np.asarray(steepest(jnp.asarray(np.round(values, 4)), (size, size)))
    return bits.reshape(size, size + 2)[:, 1:-1]


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
