"""All k steps of a climb in one kernel: `climbing.climb_along` on a perceptron's V = max_a Q."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.kernels.build import target
from hcdyna.kernels.sizes import sizes
from hcdyna.search_control.climbing import accepted_of
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
    on_value: Array | None = None,
) -> tuple[Array, Array]:
    """States [k, d] and which of them [k] were accepted; of V, or, not `on_value`, of the
    frequency (`search_control.frequency`)."""
    how = {"NORMALISE": int(normalise), "FREQUENCY": int(on_value is not None), "PAIRS": box.pairs}
    name = target("climb", **how, **sizes(perceptron, env))
    shapes = (
        jax.ShapeDtypeStruct(noise.shape, jnp.float32),
        jax.ShapeDtypeStruct(noise.shape[:1], jnp.bool_),
    )
    call = jax.ffi.ffi_call(name, shapes, vmap_method="broadcast_all")
    most = np.iinfo(np.int32).max if max_accepted is None else max_accepted
    states, accepted = call(
        *jax.tree.leaves(params),
        noise,
        start,
        covariance,
        jnp.asarray(step_size, jnp.float32),
        jnp.asarray(threshold, jnp.float32),
        jnp.asarray(box.low),
        jnp.asarray(box.high),
        *(() if on_value is None else (on_value,)),
        most=np.int32(most),
    )
    if skip is not None:
        accepted = accepted_of(states, threshold, skip, max_accepted)
    return states, accepted
