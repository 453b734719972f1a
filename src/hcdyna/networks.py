"""The multilayer perceptron of the paper as plain arrays, and the pair of functions any network is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp

from hcdyna.types import Array, Key

Activation = Literal["relu", "tanh"]
ACTIVATIONS: dict[str, Callable[[Array], Array]] = {"relu": jax.nn.relu, "tanh": jnp.tanh}


class Network(NamedTuple):
    """Any network: give an agent such a pair and it replaces the perceptron."""

    init: Callable[[Key], Any]
    """key → params."""
    apply: Callable[[Any, Array], Array]
    """params, x [in] → y [out]."""


def mlp(
    sizes: Sequence[int], activation: Activation = "relu", output_scale: float | None = None
) -> Network:
    """Fully connected layers of `sizes` (input, hidden …, output), with a linear output.

    A layer is one matrix [in + 1, out] whose last row is the bias. So its gradient is a matrix
    product, whose bits, unlike those of a sum over the batch, do not depend on how many agents
    share the program. Weights are Xavier uniform and biases zero, but all parameters of the output
    layer are uniform in ±output_scale where that is given.
    """
    shapes = list(zip(sizes[:-1], sizes[1:], strict=True))
    squash = ACTIVATIONS[activation]

    def init(key: Key) -> tuple[Array, ...]:
        keys = jax.random.split(key, len(shapes))
        layers = [xavier(k, *shape) for k, shape in zip(keys, shapes, strict=True)]
        if output_scale is not None:
            shape = layers[-1].shape
            layers[-1] = jax.random.uniform(
                keys[-1], shape, minval=-output_scale, maxval=output_scale
            )
        return tuple(layers)

    def apply(params: tuple[Array, ...], x: Array) -> Array:
        for layer in params[:-1]:
            x = squash(affine(layer, x))
        return affine(params[-1], x)

    return Network(init, apply)


def xavier(key: Key, size_in: int, size_out: int) -> Array:
    """A layer [size_in + 1, size_out] with Xavier's uniform weights and a bias of zero."""
    bound = math.sqrt(6.0 / (size_in + size_out))
    weights = jax.random.uniform(key, (size_in, size_out), minval=-bound, maxval=bound)
    return jnp.concatenate([weights, jnp.zeros((1, size_out))])


def affine(layer: Array, x: Array) -> Array:
    """Wᵀx + b for x [in] and layer [in + 1, out]."""
    return jnp.append(x, 1.0) @ layer
