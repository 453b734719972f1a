"""Arrays joined into a vector, and cut out of it again, in one call each. XLA has an operator for
each array, and where many are ready at once it wakes another thread to share the work, which takes
longer than the work itself."""

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.kernels.cpu import build
from hcdyna.kernels.library import CannotBuild
from hcdyna.numerics.packing import PLAIN, Joints
from hcdyna.types import Array

WORD = 4
"""Bytes of the types that share a vector."""


@functools.cache
def quick_joints() -> Joints:
    """As PLAIN, with the same bits but fewer vectors; PLAIN itself where there is no compiler."""
    if build.why_not() is not None:
        return PLAIN
    try:
        cutter, joiner = build.joint("cut"), build.joint("join")
    except (CannotBuild, OSError):
        return PLAIN

    def vector_of(kind: np.dtype) -> np.dtype:
        return np.dtype(np.uint32) if kind.itemsize == WORD else kind

    def cut(vector: Array, shapes: Sequence[jax.ShapeDtypeStruct]) -> Sequence[Array]:
        if vector.dtype.itemsize != WORD:
            return PLAIN.cut(vector, shapes)
        return jax.ffi.ffi_call(cutter, list(shapes), vmap_method="broadcast_all")(vector)

    def join(arrays: Sequence[Array]) -> Array:
        if arrays[0].dtype.itemsize != WORD:
            return PLAIN.join(arrays)
        words = jax.ShapeDtypeStruct((sum(x.size for x in arrays),), jnp.uint32)
        return jax.ffi.ffi_call(joiner, words, vmap_method="broadcast_all")(*arrays)

    return Joints(vector_of, cut, join)


def after(done: Iterable[Array], tree: Any) -> Any:
    """The same arrays, which nobody uses before all of `done` is there.

    XLA takes operators in the order in which they become ready, not in which they are needed; with
    less to begin with, there are never so many that it wakes another thread.
    """
    try:
        name = build.joint("after")
    except (CannotBuild, OSError):
        return tree
    leaves, structure = jax.tree.flatten(tree)
    chosen = [i for i, x in enumerate(leaves) if is_plain(x)]
    shapes = [jax.ShapeDtypeStruct(leaves[i].shape, leaves[i].dtype) for i in chosen]
    same = {i: i for i in range(len(chosen))}
    call = jax.ffi.ffi_call(name, shapes, vmap_method="broadcast_all", input_output_aliases=same)
    found = call(*(leaves[i] for i in chosen), *map(jnp.asarray, done))
    for i, x in zip(chosen, found, strict=True):
        leaves[i] = x
    return jax.tree.unflatten(structure, leaves)


def is_plain(x: Any) -> bool:
    """Whether it is an array that a kernel can be given; keys and numbers of Python are not."""
    return isinstance(x, jax.Array) and not jax.dtypes.issubdtype(x.dtype, jax.dtypes.extended)
