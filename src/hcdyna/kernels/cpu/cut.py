"""A vector cut into many arrays in one call; XLA has an operator for each, and where many of them
are ready at once it wakes another thread to share the work, which takes longer than all of it."""

import functools
from collections.abc import Sequence

import jax
import numpy as np

from hcdyna.kernels.cpu import build
from hcdyna.kernels.library import CannotBuild
from hcdyna.numerics.packing import Cut, slices
from hcdyna.types import Array


@functools.cache
def quick_cut() -> Cut:
    """As `slices`, and the same bits; `slices` itself where there is no compiler."""
    if build.why_not() is not None:
        return slices
    try:
        name = build.cutter()
    except (CannotBuild, OSError):
        return slices

    def cut(vector: Array, shapes: Sequence[jax.ShapeDtypeStruct]) -> Sequence[Array]:
        call = jax.ffi.ffi_call(name, list(shapes), vmap_method="broadcast_all")
        return call(vector, bytes=np.int32(vector.dtype.itemsize))

    return cut
