"""All k steps of a climb in one kernel: `climbing.climb_along` on a perceptron's max_a Q."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.kernels.build import target
from hcdyna.kernels.surface import Surface, sizes
from hcdyna.types import Array, Box


def climb_along(
    noise: Array,
    start: Array,
    surface: Surface,
    *,
    covariance: Array,
    step_size: float | Array,
    normalise: bool,
    threshold: float | Array,
    max_accepted: int | None,
) -> tuple[Array, Array]:
    """States [k, d] and which of them [k] were accepted."""
    box = surface.env.project
    assert isinstance(box, Box), "why_not_covered says so"
    name = target(
        "climb",
        NORMALISE=int(normalise),
        PAIRS=box.pairs,
        **sizes(surface.perceptron, surface.env),
    )
    shapes = (
        jax.ShapeDtypeStruct(noise.shape, jnp.float32),
        jax.ShapeDtypeStruct(noise.shape[:1], jnp.bool_),
    )
    call = jax.ffi.ffi_call(name, shapes, vmap_method="broadcast_all")
    most = np.iinfo(np.int32).max if max_accepted is None else max_accepted
    states, accepted = call(
        *jax.tree.leaves(surface.params),
        noise,
        start,
        covariance,
        jnp.asarray(step_size, jnp.float32),
        jnp.asarray(threshold, jnp.float32),
        jnp.asarray(box.low),
        jnp.asarray(box.high),
        most=np.int32(most),
    )
    return states, accepted
