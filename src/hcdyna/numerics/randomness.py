"""Cheap random choices from raw bits.

One call of JAX's generator costs more in overhead than in bits on a CPU, so a time step asks for
its bits in few calls and turns them into choices here.
"""

import jax.numpy as jnp

from hcdyna.types import Array


def below(bits: Array, n: Array | int) -> Array:
    """Integers 0 … n − 1 from uint32 bits. The remainder favours some of them by a share of n/2³²:
    under 0.03% for a million."""
    return (bits % jnp.asarray(n, jnp.uint32)).astype(jnp.int32)


def chance(bits: Array, probability: Array | float) -> Array:
    """True with the given probability, to within 2⁻²⁴, from uint32 bits."""
    return (bits >> 8).astype(jnp.float32) * 2.0**-24 < probability
