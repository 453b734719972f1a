"""V* of a tabular world, by exact value iteration or as the paper's recipe left it on disk.

Each result lies in the user's cache folder, in a file with the settings that made it.
"""

import contextlib
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hcdyna.numerics.caches import NoCache, cache_folder
from hcdyna.numerics.files import read_arrays, write_arrays
from hcdyna.settings.errors import RunError, SettingsError
from hcdyna.types import Spec

STEPS, SEEDS = 1_000_000, 50
"""The recipe: train ER this long, with so many seeds (appendix)."""
LEARNING_RATE = 2**-2.5
"""Of ER in the recipe; the text does not say. The smallest of its sweep has the least noise."""
TOLERANCE = 1e-9
"""Value iteration stops when no value changes by more …"""
MOST_WORK = 1_000_000_000
"""… or after so many updates of a successor: seconds, where it converges at all."""


def value_iteration(spec: Spec) -> np.ndarray:
    """V* [states] of a world that knows its table; 0 at terminal states."""
    table = _table_of(spec)
    go_on = spec.discount * ~table.terminal[table.next_states]

    def iterate() -> np.ndarray:
        values = np.zeros(len(table.terminal))
        for _ in range(MOST_WORK // table.next_states.size):
            goal = table.reward + go_on * values[table.next_states]
            new = (table.probability * goal).sum(axis=-1).max(axis=-1)
            new[table.terminal] = 0.0
            if np.abs(new - values).max() <= TOLERANCE:
                return new
            values = new
        raise SettingsError(
            f"surface = 'optimal': V* of {spec.name} is not found in reasonable time; let it have "
            "fewer states, a lower discount, or moves that succeed more often"
        )

    made_by = {"tolerance": TOLERANCE, "world": digest(spec)}
    return cached("value_iteration", made_by, iterate)


def made_by_recipe(
    world: str, steps: int, seeds: list[int], learning_rate: float
) -> dict[str, Any]:
    """What the result of the recipe depends on."""
    return {"world": world, "steps": steps, "seeds": seeds, "learning_rate": learning_rate}


def from_recipe(spec: Spec) -> np.ndarray:
    """The cached result of the recipe in full; training for it is not done in passing."""
    made_by = made_by_recipe(digest(spec), STEPS, list(range(SEEDS)), LEARNING_RATE)
    try:
        there = cache_file("recipe", made_by).exists()
    except NoCache:
        there = False
    if not there:
        raise SettingsError(
            f"surface = 'recipe': V* of {spec.name} by the paper's recipe is not in the cache; "
            "run hcdyna.experiments.recipe.recipe, or use surface = 'optimal'"
        )
    return cached("recipe", made_by, lambda: np.empty(0))


def digest(spec: Spec) -> str:
    """A name for the world itself: its table and how returns are counted."""
    table = _table_of(spec)
    hashed = hashlib.sha256(repr((table.lattice, spec.discount, spec.time_limit)).encode())
    for array in table[1:]:
        hashed.update(np.ascontiguousarray(array).tobytes())
    return f"{spec.name}-{hashed.hexdigest()[:16]}"


def cached(kind: str, made_by: dict[str, Any], compute: Callable[[], np.ndarray]) -> np.ndarray:
    """The array that these settings make, from the cache if it is there."""
    try:
        path = cache_file(kind, made_by)
    except NoCache:
        return compute()
    with contextlib.suppress(RunError, KeyError):  # not there, or damaged
        return read_arrays(path)["values"]
    values = compute()
    write_arrays(path, {"values": values, "made_by": np.array(json.dumps(made_by))})
    return values


def cache_file(kind: str, made_by: dict[str, Any]) -> Path:
    """Where the result of these settings belongs."""
    name = hashlib.sha256(json.dumps(made_by, sort_keys=True).encode()).hexdigest()[:16]
    return cache_folder("optimal_values") / f"{kind}-{name}.npz"


def _table_of(spec: Spec) -> Any:
    if spec.table is None:
        raise SettingsError(f"{spec.name} does not know its transition probabilities (Spec.table)")
    return spec.table
