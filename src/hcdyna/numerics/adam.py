"""Adam (Kingma & Ba, 2015) with its usual constants.

Optax raises β to the power of a step count, and XLA compiles that power differently for one agent
and for many, which changes the last bits. Here the powers are carried along as running products.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from hcdyna.types import Array

BETA1 = 0.9
BETA2 = 0.999
EPSILON = 1e-8


class AdamState(NamedTuple):
    """Running moments of the gradient, and β₁ᵗ, β₂ᵗ."""

    mean: Any
    square: Any
    power1: Array
    power2: Array


def init(params: Any) -> AdamState:
    """Before the first step."""
    zeros = jax.tree.map(jnp.zeros_like, params)
    return AdamState(zeros, zeros, jnp.ones(()), jnp.ones(()))


def update(
    gradient: Any, state: AdamState, params: Any, learning_rate: Array | float
) -> tuple[Any, AdamState]:
    """One step down the gradient: new params, new state."""
    power1, power2 = state.power1 * BETA1, state.power2 * BETA2
    mean = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, state.mean, gradient)
    square = jax.tree.map(lambda v, g: BETA2 * v + (1 - BETA2) * g * g, state.square, gradient)
    rate, correction = learning_rate / (1 - power1), 1 / (1 - power2)
    params = jax.tree.map(
        lambda p, m, v: p - rate * m / (jnp.sqrt(correction * v) + EPSILON), params, mean, square
    )
    return params, AdamState(mean, square, power1, power2)
