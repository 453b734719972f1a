"""The values that strategies on discrete states look at: the estimate V̂, or V*."""

from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.search_control.base import with_value
from hcdyna.search_control.optimal_values import from_recipe, value_iteration
from hcdyna.settings.errors import SettingsError
from hcdyna.types import Array, Environment, Scene, SearchControl, Spec

Surface = Literal["estimate", "optimal", "recipe"]
"""V̂; V* by exact value iteration; V* by the paper's recipe (long training with ER)."""


def values_of(scene: Scene) -> Array:
    """The values [states] of all states of a tabular world."""
    num_states = scene.env.spec.num_states or 0
    return jax.vmap(scene.value)(jnp.arange(num_states)).astype(jnp.float32)


def on_surface(surface: Surface, env: Environment, strategy: SearchControl) -> SearchControl:
    """The strategy on V̂ as it is, or on V*."""
    if surface == "estimate":
        return strategy
    values = value_iteration(env.spec) if surface == "optimal" else from_recipe(env.spec)
    optimal = np.asarray(values, np.float32)
    return with_value(strategy, lambda obs: jnp.asarray(optimal)[obs])


def lattice_of(spec: Spec, name: str) -> tuple[int, int]:
    """Columns and rows of the lattice that a strategy called `name` needs."""
    if spec.num_states is None or spec.table is None or len(spec.table.lattice) != 2:
        raise SettingsError(
            f"search_control = {name}: the states of {spec.name} are not the cells of a "
            "two-dimensional lattice"
        )
    columns, rows = spec.table.lattice
    return columns, rows
