"""Running mean and standard deviation of each number in a row, to measure all in units of one."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp

from hcdyna.types import Array

CONSTANT = 1e-6
"""A standard deviation below this share of the mean is rounding: the number is a constant."""


class Scales(NamedTuple):
    """Mean and variance of all rows seen, relative to the first one (see `moments.Moments`)."""

    seen: Array
    origin: Array
    shift: Array
    variance: Array

    @property
    def mean(self) -> Array:
        return self.origin + self.shift

    @property
    def deviation(self) -> Array:
        """Standard deviations; 1 for what has been constant so far."""
        least = jnp.square(CONSTANT * self.mean) + jnp.finfo(jnp.float32).tiny
        return jnp.where(self.variance > least, jnp.sqrt(self.variance), 1.0)

    def normal(self, rows: Array) -> Array:
        """Rows […, width] in units of the standard deviation, around the mean."""
        # Spelt out, since XLA may or may not divide in this way, and the bits would depend on it.
        return (rows - self.mean) * (1.0 / self.deviation)

    def original(self, rows: Array) -> Array:
        """What `normal` was given."""
        return rows * self.deviation + self.mean

    def part(self, begin: int, end: int) -> Scales:
        """Those of some of the numbers."""
        return Scales(self.seen, *(x[begin:end] for x in self[1:]))


def init(width: int) -> Scales:
    """No row [width] seen yet."""
    zeros = jnp.zeros(width)
    return Scales(jnp.zeros((), jnp.int32), zeros, zeros, zeros)


def update(scales: Scales, row: Array) -> Scales:
    """Take one more row [width] in, each weighing the same (Welford)."""
    origin = jnp.where(scales.seen == 0, row, scales.origin)
    seen = scales.seen + 1
    weight = 1.0 / seen.astype(jnp.float32)
    deviation = (row - origin) - scales.shift
    spread = (1.0 - weight) * jnp.square(deviation) - scales.variance
    return Scales(
        seen, origin, scales.shift + weight * deviation, scales.variance + weight * spread
    )
