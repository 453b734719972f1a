"""Q at one state, and the gradient of the largest, in one kernel."""

from typing import Any

import jax
import jax.numpy as jnp

from hcdyna.kernels.build import target
from hcdyna.kernels.sizes import sizes
from hcdyna.types import Array, Environment, Perceptron


def look(params: Any, obs: Array, perceptron: Perceptron, env: Environment) -> tuple[Array, Array]:
    """Q [actions] at obs [d], and the gradient [d] of V = max_a Q."""
    given = sizes(perceptron, env)
    shapes = tuple(
        jax.ShapeDtypeStruct((given[size],), jnp.float32) for size in ("ACTIONS", "STATE")
    )
    call = jax.ffi.ffi_call(target("look", **given), shapes, vmap_method="broadcast_all")
    q, gradient = call(*jax.tree.leaves(params), obs)
    return q, gradient
