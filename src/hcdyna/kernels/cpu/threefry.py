"""JAX's own random numbers, bit for bit, in one call each.

XLA compiles Threefry for a CPU as a loop of some twenty small operators, and a time step draws
about ten times, so that for a lone agent most of a step would go into that.
"""

import functools
import math
from typing import Any

import jax
import jax.extend.random
import jax.numpy as jnp
import numpy as np

from hcdyna.kernels.cpu import build
from hcdyna.kernels.library import CannotBuild
from hcdyna.types import Array, Key


def quick(key: Key) -> Key:
    """The same key, from which one draws faster where that is possible."""
    if "fry" not in str(key.dtype) or not jax.config.values["jax_threefry_partitionable"]:
        return key
    return key if quick_generator() is None else quickly(raw(key))


def usual(key: Key) -> Key:
    """A quick key as one of JAX's own; others are."""
    return jax.random.wrap_key_data(raw(key), impl="threefry2x32") if is_quick(key) else key


def is_quick(key: Key) -> bool:
    return "hcd" in str(key.dtype)


def raw(key: Key) -> Array:
    return jax.random.key_data(key)


def quickly(data: Array) -> Key:
    return jax.random.wrap_key_data(data, impl=quick_generator())


@functools.cache
def quick_generator() -> Any:
    """For `jax.random`; None where there is no compiler."""
    if build.why_not() is not None:
        return None
    try:
        name = build.generator()
    except (CannotBuild, OSError):
        return None

    def draw(count: int, whole: bool, key: Array, *first: Array) -> Array:
        shape = (count, 2) if whole else (count,)
        call = jax.ffi.ffi_call(
            name, jax.ShapeDtypeStruct(shape, jnp.uint32), vmap_method="broadcast_all"
        )
        return call(key, *first, whole=np.int32(whole))

    def split(key: Array, shape: tuple[int, ...]) -> Array:
        return draw(math.prod(shape), True, key).reshape(*shape, 2)

    def random_bits(key: Array, bit_width: int, shape: tuple[int, ...]) -> Array:
        if bit_width == 64:
            both = split(key, shape).astype(jnp.uint64)
            return both[..., 0] << jnp.uint64(32) | both[..., 1]
        return draw(math.prod(shape), False, key).reshape(shape).astype(f"uint{bit_width}")

    def fold_in(key: Array, data: Array | int) -> Array:
        return draw(1, True, key, jnp.asarray(data, jnp.uint32))[0]

    def seed(seed: Array) -> Array:
        return raw(jax.random.key(seed, impl="threefry2x32"))

    return jax.extend.random.define_prng_impl(
        key_shape=(2,),
        seed=seed,
        split=split,
        random_bits=random_bits,
        fold_in=fold_in,
        name="hcdyna_threefry",
        tag="hcd",
    )
