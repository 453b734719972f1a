"""Noisy projected natural gradient ascent on any smooth criterion of a state (Algorithm 3).

`climb` stands alone: give it a start and a function to climb. `climb_along` is the same with the
random numbers passed in, so that faster versions can stand behind the same interface.
"""

from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp

from hcdyna.numerics.networks import sum_rows
from hcdyna.search_control.moments import distance, root
from hcdyna.settings.errors import SettingsError
from hcdyna.types import Array, Key

Noise = Literal["full", "diagonal", "none", "langevin"]

SMALLEST_GRADIENT = 1e-8
"""Below this length of Σ̂g its direction is rounding error: no drift."""

UNROLL = 4
"""Climb steps per turn of the compiled loop: fewer turns cost a lone agent less overhead."""


def climb(
    key: Key,
    start: Array,
    criterion: Callable[[Array], Array],
    *,
    steps: int = 100,
    covariance: Array | None = None,
    step_size: float | Array = 0.1,
    normalise: bool = True,
    noise: Noise = "full",
    eta: float | Array = 0.1,
    noise_scale: float | Array = 0.05,
    project: Callable[[Array], Array] = lambda obs: obs,
    threshold: float | Array = 0.0,
    skip: Callable[[Array], Array] | None = None,
    max_accepted: int | None = None,
) -> tuple[Array, Array]:
    """Climb `criterion` from `start` [d]; return all states [steps, d] and which were accepted.

    `covariance` [d, d] is Σ̂, the inverse of the metric of the natural gradient (None: the
    identity). Noise is N(0, ηΣ̂) if "full", or independent per variable with standard deviation
    `noise_scale`·√diag Σ̂ if "diagonal". If "langevin" it is N(0, 2αΣ̂), and with `normalise` off
    the climb is the unadjusted Langevin algorithm, whose states have the density exp(criterion) in
    the long run, up to an error that shrinks with α. Other arguments are those of `climb_along`.

    >>> import jax, jax.numpy as jnp
    >>> hill = lambda s: -jnp.sum((s - 0.7) ** 2)
    >>> states, accepted = climb(jax.random.key(0), jnp.zeros(2), hill, noise="none", steps=20)
    >>> bool(jnp.linalg.norm(states[-1] - 0.7) < 0.1), int(accepted.sum())
    (True, 20)
    """
    covariance = jnp.eye(start.shape[0]) if covariance is None else covariance
    check_langevin(noise, normalise)
    eta = noise_level(noise, eta, step_size)
    drawn = draw_noise(key, covariance, steps, noise, eta, noise_scale)
    return climb_along(
        drawn,
        start,
        criterion,
        covariance=covariance,
        step_size=step_size,
        normalise=normalise,
        project=project,
        threshold=threshold,
        skip=skip,
        max_accepted=max_accepted,
    )


def check_langevin(noise: Noise, normalise: bool) -> None:
    """Langevin's noise belongs to a plain step: divided by ‖Σ̂g‖, it would sample nothing known."""
    if noise == "langevin" and normalise:
        raise SettingsError('noise = "langevin": the step must be plain; give normalise=False too')


def noise_level(noise: Noise, eta: float | Array, step_size: float | Array) -> float | Array:
    """η of the noise N(0, ηΣ̂): 2α for Langevin, where it is not a choice."""
    return 2.0 * step_size if noise == "langevin" else eta


def draw_noise(
    key: Key,
    covariance: Array,
    steps: int,
    noise: Noise,
    eta: float | Array,
    noise_scale: float | Array,
) -> Array:
    """X_i [steps, d], the noise of a whole climb."""
    d = covariance.shape[0]
    if noise == "none":
        return jnp.zeros((steps, d))
    standard = jax.random.normal(key, (steps, d))
    if noise == "diagonal":
        return standard * (noise_scale * jnp.sqrt(jnp.diag(covariance)))
    # A sum spelt out instead of a product of matrices, and kept apart from the drawing: else its
    # last bits would depend on how many agents share the program.
    standard = jax.lax.optimization_barrier(standard)
    return sum_rows(standard.T[:, :, None] * (jnp.sqrt(eta) * root(covariance)).T[:, None, :])


def accepted_of(
    states: Array,
    threshold: float | Array,
    skip: Callable[[Array], Array],
    max_accepted: int | None,
) -> Array:
    """Which of the `states` [k, d] of a climb are accepted, as in `climb_along`."""

    def step(carry: tuple[Array, Array], at: tuple[Array, Array]) -> tuple[tuple, Array]:
        (last, count), (state, skipped) = carry, at
        accept = (distance(last, state) >= threshold) & ~skipped
        if max_accepted is not None:
            accept &= count < max_accepted
        return (jnp.where(accept, state, last), count + accept), accept

    carry = (jnp.full_like(states[0], jnp.inf), jnp.zeros((), jnp.int32))
    return jax.lax.scan(step, carry, (states, jax.vmap(skip)(states)), unroll=UNROLL)[1]


def climb_along(
    noise: Array,
    start: Array,
    criterion: Callable[[Array], Array],
    *,
    covariance: Array,
    step_size: float | Array,
    normalise: bool,
    project: Callable[[Array], Array],
    threshold: float | Array,
    skip: Callable[[Array], Array] | None,
    max_accepted: int | None,
    restarts: Array | None = None,
    accept_first: bool = True,
) -> tuple[Array, Array]:
    """s ← Π(s + α Σ̂g + X) for each X in `noise` [k, d], with α = step_size/‖Σ̂g‖ if `normalise`.

    A state is accepted if its distance to the last accepted one is at least `threshold` (ε_a), it
    is not one to `skip`, and fewer than `max_accepted` were taken before. s̃, the last accepted one,
    starts at infinity, so that the first always is far enough; without `accept_first`, at the
    start. Where `restarts` [k, d] are given, a climb that meets a state to skip starts again, from
    the one of this step.
    """
    gradient = jax.grad(criterion)

    def before(start: Array) -> Array:
        return jnp.full_like(start, jnp.inf) if accept_first else start

    def step(carry: tuple[Array, Array, Array], given: Any) -> tuple[tuple, tuple[Array, Array]]:
        (state, last, count), (x, restart) = carry, given
        direction = covariance @ gradient(state)
        length = jnp.sqrt(jnp.sum(jnp.square(direction)))
        usable = jnp.isfinite(length) & (length > SMALLEST_GRADIENT)
        uphill = direction / jnp.where(usable, length, 1.0) if normalise else direction
        state = project(state + jnp.where(usable, step_size * uphill, 0.0) + x)
        accept = distance(last, state) >= threshold
        if skip is not None:
            accept &= ~skip(state)
        if max_accepted is not None:
            accept &= count < max_accepted
        last, seen = jnp.where(accept, state, last), state
        if skip is not None and restart is not None:
            again = skip(state)
            state = jnp.where(again, restart, state)
            last = jnp.where(again, before(restart), last)
        return (state, last, count + accept), (seen, accept)

    carry = (start, before(start), jnp.zeros((), jnp.int32))
    _, (states, accepted) = jax.lax.scan(step, carry, (noise, restarts), unroll=UNROLL)
    return states, accepted
