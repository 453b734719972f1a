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


class Joints(NamedTuple):
    """How arrays become a vector, and the vector these arrays again, bit for bit."""

    vector_of: Callable[[np.dtype], np.dtype]
    """The type of an array → that of the vector that it is a part of."""
    cut: Callable[[Array, Sequence[jax.ShapeDtypeStruct]], Sequence[Array]]
    """vector, the shapes of what lies in it one behind the other → these arrays"""
    join: Callable[[Sequence[Array]], Array]
    """arrays → vector"""


def slices(vector: Array, shapes: Sequence[jax.ShapeDtypeStruct]) -> Sequence[Array]:
    """The arrays that lie in a vector, by one operator each."""
    ends = np.cumsum([shape.size for shape in shapes])
    return [
        vector[end - shape.size : end].reshape(shape.shape)
        for end, shape in zip(ends, shapes, strict=True)
    ]


def in_a_row(arrays: Sequence[Array]) -> Array:
    """The elements of all arrays, which have the same type."""
    return jnp.concatenate([x.reshape(-1) for x in arrays])


PLAIN = Joints(vector_of=lambda kind: kind, cut=slices, join=in_a_row)
"""What XLA has."""


class Packed(NamedTuple):
    """One vector for each type of number, or for several, and the large arrays as they were."""

    vectors: tuple[Array, ...]
    large: tuple[Array, ...]


class Packing:
    """How a tree is packed whose shapes are those of `like`."""

    def __init__(self, like: Any, joints: Joints = PLAIN) -> None:
        self.joints = joints
        shapes, self.structure = jax.tree.flatten(like)
        self.keys = [is_key(shape) for shape in shapes]
        self.shapes = [jax.eval_shape(raw, shape) for shape in shapes]
        self.is_large = [shape.size > LARGE for shape in self.shapes]
        self.small_shapes = [shape for shape in self.shapes if shape.size <= LARGE]
        self.types = list(dict.fromkeys(joints.vector_of(x.dtype) for x in self.small_shapes))

    def pack(self, tree: Any) -> Packed:
        """The tree in few arrays."""
        small, large = self.parted(tree)
        return Packed(self.vectors(small), large)

    def unpack(self, packed: Packed) -> Any:
        """The tree again."""
        return self.together(self.small(packed.vectors), packed.large)

    def parted(self, tree: Any) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
        """The small and the large leaves."""
        return self._apart(jax.tree.leaves(tree))

    def together(self, small: tuple[Array, ...], large: tuple[Array, ...]) -> Any:
        """The tree of these leaves."""
        both = iter(small), iter(large)
        leaves = [next(both[is_large]) for is_large in self.is_large]
        return jax.tree.unflatten(self.structure, leaves)

    def vectors(self, small: tuple[Array, ...]) -> tuple[Array, ...]:
        """The small leaves, one behind the other."""
        return tuple(map(self.joints.join, self._by_type([raw(leaf) for leaf in small])))

    def small(self, vectors: tuple[Array, ...]) -> tuple[Array, ...]:
        """The small leaves again."""
        found = map(self.joints.cut, vectors, self._by_type(self.small_shapes))
        by_type = dict(zip(self.types, map(iter, found), strict=True))
        leaves = [next(by_type[self.joints.vector_of(x.dtype)]) for x in self.small_shapes]
        keys, _ = self._apart(self.keys)
        return tuple(
            jax.random.wrap_key_data(leaf) if key else leaf
            for leaf, key in zip(leaves, keys, strict=True)
        )

    def _apart(self, leaves: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        pairs = list(zip(self.is_large, leaves, strict=True))
        small, large = (tuple(x for is_large, x in pairs if is_large == y) for y in (False, True))
        return small, large

    def _by_type(self, small: Sequence[Any]) -> list[list[Any]]:
        """The arrays, or shapes, of each vector."""
        vector_of = self.joints.vector_of
        return [[x for x in small if vector_of(x.dtype) == kind] for kind in self.types]


def raw(leaf: Any) -> Array:
    """An array of numbers, of a key too."""
    return jax.random.key_data(leaf) if is_key(leaf) else jnp.asarray(leaf)


def at_hand(leaf: Any) -> Any:
    """An array on the host; a key stays one of JAX's, since NumPy has none."""
    return leaf if is_key(leaf) else np.asarray(leaf)


def zeros_like(shape: Any) -> Any:
    """Zeros of this shape and type on the host, or keys made of zeros."""
    if not is_key(shape):
        return np.zeros(shape.shape, shape.dtype)
    numbers = jax.eval_shape(jax.random.key_data, shape)
    return jax.random.wrap_key_data(jnp.zeros(numbers.shape, numbers.dtype))


def is_key(leaf: Any) -> bool:
    """Whether it is a key of JAX; numbers of Python may be leaves, too."""
    return hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
