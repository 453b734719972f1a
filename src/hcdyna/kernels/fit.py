"""One update of a learned model's network in one call: the gradient step of `models.ensemble`."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.models.fitting import Fit, Learned, Lesson


def fit_by(name: str) -> Fit:
    """The step that a kernel of this name does, on a CPU or on a GPU."""

    def fit(params: Any, mean: Any, square: Any, power: Any, rate: Any, lesson: Lesson) -> Learned:
        leaves, structure = jax.tree.flatten((params, mean, square))
        power1, power2 = power
        shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in leaves]
        call = jax.ffi.ffi_call(
            name,
            [*shapes, jax.ShapeDtypeStruct((), jnp.float32)],
            vmap_method="broadcast_all",
            input_output_aliases={i: i for i in range(len(leaves))},
        )
        *found, loss = call(
            *leaves,
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
        params, mean, square = jax.tree.unflatten(structure, found)
        return Learned(params, mean, square, loss)

    return fit
