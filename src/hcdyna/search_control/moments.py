"""Running statistics of the visited states: the covariance Σ̂ and the mean move ε_a."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from hcdyna.numerics.networks import sum_rows
from hcdyna.types import Array


class Moments(NamedTuple):
    """Mean and covariance of all states seen, kept relative to the first one.

    The paper prints Σ̂ = μ_ss − μ_s μ_sᵀ. In float32 that difference cancels (values around 1e6
    leave no digit of a small spread) and can lose definiteness. Welford's update of the centred
    moments is the same number without the cancellation, and subtracting the first state keeps the
    mean small, so that its increments are not rounded away.
    """

    seen: Array
    origin: Array
    mean: Array
    covariance: Array


def init(obs: Array) -> Moments:
    """No state seen yet; `obs` [d] gives the shape."""
    zeros = jnp.zeros(jnp.shape(obs), jnp.float32)
    d = zeros.shape[0]
    return Moments(jnp.zeros((), jnp.int32), zeros, zeros, jnp.zeros((d, d), jnp.float32))


def update(moments: Moments, obs: Array) -> Moments:
    """Take one more state `obs` [d] into the running average, each state weighing the same."""
    origin = jnp.where(moments.seen == 0, obs, moments.origin)
    seen = moments.seen + 1
    weight = 1.0 / seen.astype(jnp.float32)
    deviation = (obs - origin) - moments.mean
    mean = moments.mean + weight * deviation
    spread = (1.0 - weight) * jnp.outer(deviation, deviation)
    covariance = moments.covariance + weight * (spread - moments.covariance)
    return Moments(seen, origin, mean, covariance)


def covariance(moments: Moments) -> Array:
    """Σ̂ [d, d]: the identity until two states are seen."""
    return jnp.where(moments.seen < 2, jnp.eye(moments.mean.shape[0]), moments.covariance)


def root(matrix: Array) -> Array:
    """A lower-triangular L [d, d] with L Lᵀ = `matrix`, for any positive semi-definite matrix.

    Cholesky's method, except that a pivot that is zero up to rounding (a constant variable, or one
    that depends on the others) gives a zero column where the textbook would divide by it, and that
    no entry may claim more than its variable has left, which a small inexact pivot would cause. So
    noise N(0, Σ̂) = L·N(0, I) stays finite and in proportion, whatever was seen.
    """
    matrix = jnp.asarray(matrix)
    d = matrix.shape[0]
    variance = jnp.diag(matrix)

    def column(j: int, lower: Array) -> Array:
        rest = matrix[:, j] - sum_rows((lower * lower[j]).T)
        pivot = rest[j]
        safe = pivot > 1e-6 * variance[j]
        entries = jnp.where(jnp.arange(d) >= j, rest, 0.0) / jnp.sqrt(jnp.where(safe, pivot, 1.0))
        left = jnp.sqrt(jnp.maximum(variance - sum_rows(jnp.square(lower).T), 0.0))
        return lower.at[:, j].set(jnp.where(safe, jnp.clip(entries, -left, left), 0.0))

    # On a GPU each turn of a compiled loop waits for the host.
    return jax.lax.fori_loop(0, d, column, jnp.zeros_like(matrix), unroll=d <= 8)


class MeanMove(NamedTuple):
    """ε_a: how far apart two states must be to both enter the queue, learned from real moves."""

    seen: Array
    average: Array


def init_move() -> MeanMove:
    """No move seen yet."""
    return MeanMove(jnp.zeros((), jnp.int32), jnp.zeros((), jnp.float32))


def update_move(move: MeanMove, distance: Array, beta: float | Array | None) -> MeanMove:
    """ε_a ← (1−β)ε_a + β·distance (Algorithm 3), or the plain average of all moves if β is None."""
    seen = move.seen + 1
    weight = 1.0 / seen.astype(jnp.float32) if beta is None else beta
    return MeanMove(seen, move.average + weight * (distance - move.average))


def distance(a: Array, b: Array) -> Array:
    """‖a − b‖₂/√d, the distance of Algorithm 3."""
    return jnp.sqrt(jnp.mean(jnp.square(a - b)))
