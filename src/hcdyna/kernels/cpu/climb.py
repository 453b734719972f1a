"""All k steps of a climb in one call: `climbing.climb_along` on a perceptron's max_a Q."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.kernels.cpu.build import target
from hcdyna.kernels.cpu.coverage import widths
from hcdyna.types import Array, Box, Environment, Perceptron


def climb_along(
    noise: Array,
    start: Array,
    params: Any,
    perceptron: Perceptron,
    env: Environment,
    box: Box,
    *,
    covariance: Array,
    step_size: float | Array,
    normalise: bool,
    threshold: float | Array,
    max_accepted: int | None,
    skip: Callable[[Array], Array] | None = None,
) -> tuple[Array, Array]:
    """States [k, d] and which of them [k] were accepted."""
    network = (widths(perceptron, env), perceptron.activation)
    chosen = jax.ShapeDtypeStruct(noise.shape[:1], jnp.bool_)
    shapes = (jax.ShapeDtypeStruct(noise.shape, jnp.float32), chosen)
    climb = jax.ffi.ffi_call(target("climb", *network), shapes, vmap_method="broadcast_all")
    most = np.int32(np.iinfo(np.int32).max if max_accepted is None else max_accepted)
    threshold = jnp.asarray(threshold, jnp.float32)
    states, accepted = climb(
        *jax.tree.leaves(params),
        noise,
        start,
        covariance,
        jnp.asarray(step_size, jnp.float32),
        threshold,
        both_ends(box),
        most=most,
        normalise=np.int32(normalise),
        pairs=np.int32(box.pairs),
    )
    if skip is None:
        return states, accepted
    accept = jax.ffi.ffi_call(target("accept", *network), chosen, vmap_method="broadcast_all")
    return states, accept(states, threshold, jax.vmap(skip)(states), most=most)


def both_ends(box: Box) -> Array:
    """The lowest and highest values [2, d], as one array: XLA makes an operator of each that holds
    the same number everywhere."""
    own = np if isinstance(box.low, np.ndarray) and isinstance(box.high, np.ndarray) else jnp
    return jnp.asarray(own.stack([box.low, box.high]), jnp.float32)
