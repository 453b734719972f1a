"""One update of a learned model's network in one call: the gradient step of `models.ensemble`."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.kernels.cpu import build
from hcdyna.kernels.cpu.coverage import MOST_ROWS, why_not_layers
from hcdyna.kernels.library import CannotBuild
from hcdyna.models.fitting import Fit, Learned, Lesson

MOST_OUTPUTS = 256


def fit_for(widths: tuple[int, ...], activation: str, rows: int) -> Fit | None:
    """The step for such a network and so many rows; None where there is no kernel."""
    covered = why_not_layers(widths[1:-1]) is None and widths[-1] <= MOST_OUTPUTS
    if not covered or rows > MOST_ROWS or build.why_not() is not None:
        return None
    try:
        name = build.model_target(widths, activation)
    except (CannotBuild, OSError):
        return None

    def fit(params: Any, mean: Any, square: Any, power: Any, rate: Any, lesson: Lesson) -> Learned:
        kept = (params, mean, square)
        power1, power2 = power
        loss = jax.ShapeDtypeStruct((), jnp.float32)
        shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in jax.tree.leaves(kept)]
        call = jax.ffi.ffi_call(
            name,
            [*shapes, loss],
            vmap_method="broadcast_all",
            input_output_aliases={i: i for i in range(len(shapes))},
        )
        found = call(
            *jax.tree.leaves(kept),
            jnp.asarray(rate / (1 - power1), jnp.float32),
            jnp.asarray(1 / (1 - power2), jnp.float32),
            lesson.questions,
            lesson.action.astype(jnp.int32),
            lesson.truth,
            lesson.ended,
            lesson.weight_of_move,
            lesson.weight_of_rest,
            each=np.int32(lesson.truth.shape[-1] + 1),
        )
        params, mean, square = jax.tree.unflatten(jax.tree.structure(kept), found[:-1])
        return Learned(params, mean, square, found[-1])

    return fit
