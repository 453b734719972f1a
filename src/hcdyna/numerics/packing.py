"""Many small arrays as few larger ones: each array that a program is given costs the host as much
time as a small kernel takes."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.types import Array

LARGE = 16_384
"""Elements of an array that is left as it is."""


Cut = Callable[[Array, Sequence[jax.ShapeDtypeStruct]], Sequence[Array]]
"""A vector, and the shapes of what lies in it one behind the other → these arrays."""


def slices(vector: Array, shapes: Sequence[jax.ShapeDtypeStruct]) -> Sequence[Array]:
    """The arrays of these shapes, by one slice each."""
    ends = np.cumsum([shape.size for shape in shapes])
    return [
        vector[end - shape.size : end].reshape(shape.shape)
        for end, shape in zip(ends, shapes, strict=True)
    ]


class Packed(NamedTuple):
    """One vector for each type of number, and the large arrays as they were."""

    vectors: tuple[Array, ...]
    large: tuple[Array, ...]


class Packing:
    """How a tree is packed whose shapes are those of `like`, and by which function it is unpacked."""

    def __init__(self, like: Any, cut: Cut = slices) -> None:
        self.cut = cut
        shapes, self.structure = jax.tree.flatten(like)
        self.keys = [is_key(shape) for shape in shapes]
        self.shapes = [jax.eval_shape(raw, shape) for shape in shapes]
        self.types: list[np.dtype] = list(
            dict.fromkeys(shape.dtype for shape in self.shapes if shape.size <= LARGE)
        )

    def pack(self, tree: Any) -> Packed:
        """The tree in few arrays."""
        small, large = self.parted(tree)
        return Packed(self.vectors(small), large)

    def unpack(self, packed: Packed) -> Any:
        """The tree again."""
        return self.together(self.small(packed.vectors), packed.large)

    def parted(self, tree: Any) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
        """The small and the large leaves."""
        pairs = list(zip(self.shapes, jax.tree.leaves(tree), strict=True))
        small, large = (
            tuple(leaf for shape, leaf in pairs if (shape.size > LARGE) == is_large)
            for is_large in (False, True)
        )
        return small, large

    def together(self, small: tuple[Array, ...], large: tuple[Array, ...]) -> Any:
        """The tree of these leaves."""
        both = iter(small), iter(large)
        leaves = [next(both[shape.size > LARGE]) for shape in self.shapes]
        return jax.tree.unflatten(self.structure, leaves)

    def vectors(self, small: tuple[Array, ...]) -> tuple[Array, ...]:
        """The small leaves, one behind the other."""
        every = [raw(leaf) for leaf in small]
        return tuple(
            jnp.concatenate([x.reshape(-1) for x in every if x.dtype == kind])
            for kind in self.types
        )

    def small(self, vectors: tuple[Array, ...]) -> tuple[Array, ...]:
        """The small leaves again."""
        small = [(shape, key) for shape, key in zip(self.shapes, self.keys, strict=True) if shape.size <= LARGE]
        found = {
            kind: iter(self.cut(vector, [shape for shape, _ in small if shape.dtype == kind]))
            for kind, vector in zip(self.types, vectors, strict=True)
        }
        leaves = [(next(found[shape.dtype]), key) for shape, key in small]
        return tuple(jax.random.wrap_key_data(leaf) if key else leaf for leaf, key in leaves)


def raw(leaf: Any) -> Array:
    """An array of numbers, of a key too."""
    return jax.random.key_data(leaf) if is_key(leaf) else jnp.asarray(leaf)


def is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
