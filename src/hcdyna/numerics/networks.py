"""The perceptron of the paper as plain arrays, and the pair of functions that any network is."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp

from hcdyna.types import Array, Key

Activation = Literal["relu", "tanh"]

FEWEST_OUTPUTS = 4
"""With fewer, XLA's products round differently for one agent and for many: see `sum_rows`."""


def relu(x: Array) -> Array:
    """max(0, x); what is not a number stays so, or a diverged agent would look sound."""
    return jnp.where(x <= 0, 0.0, x)


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {"relu": relu, "tanh": jnp.tanh}


class Network(NamedTuple):
    """A custom network: a pair of functions that replaces the agent's perceptron."""

    init: Callable[[Key], Any]
    """key → params."""
    apply: Callable[[Any, Array], Array]
    """params, x [in] → y [out]."""
    apply_batch: Callable[[Any, Array], Array] | None = None
    """params, x [b, in] → y [b, out], if you have something faster than `vmap(apply)`."""

    def on_batch(self, params: Any, x: Array) -> Array:
        """params, x [b, in] → y [b, out]."""
        if self.apply_batch is not None:
            return self.apply_batch(params, x)
        return jax.vmap(self.apply, (None, 0))(params, x)


class Layer(NamedTuple):
    """Wᵀx + b."""

    weights: Array
    """[in, out]"""
    bias: Array
    """[out]"""


def mlp(
    sizes: Sequence[int],
    activation: Activation = "relu",
    output_scale: float | None = None,
    layer_norm: bool = False,
) -> Network:
    """Fully connected layers of `sizes` (input, hidden …, output), with a linear output.

    Weights are Xavier uniform and biases zero, but all parameters of the output layer are uniform
    in ±output_scale where that is given. With `layer_norm` each hidden layer has mean 0 and
    variance 1 before its nonlinearity (Ba et al., 2016), without gains.
    """
    shapes = list(pairwise(sizes))
    squash = ACTIVATIONS[activation]

    def init(key: Key) -> tuple[Layer, ...]:
        keys = jax.random.split(key, len(shapes))
        layers = [xavier(k, *shape) for k, shape in zip(keys, shapes, strict=True)]
        if output_scale is not None:
            layers[-1] = uniform_layer(keys[-1], *shapes[-1], output_scale)
        return tuple(layers)

    def forward(affine: Callable[[Layer, Array], Array], params: Any, x: Array) -> Array:
        for layer in params[:-1]:
            x = affine(layer, x)
            x = squash(standardised(x) if layer_norm else x)
        return affine(params[-1], x)

    return Network(init, partial(forward, affine), partial(forward, affine_batch))


def standardised(x: Array) -> Array:
    """x […, width] with mean 0 and variance 1."""
    width = x.shape[-1]
    away = x - repeated(sum_last(x) / width, width)
    # A root and a quotient, since XLA's `rsqrt` rounds differently for one number and for many.
    return away * repeated(1.0 / jnp.sqrt(sum_last(jnp.square(away)) / width + 1e-5), width)


def sum_last(x: Array) -> Array:
    """The sum […, 1] of x […, width] over its last axis, by halves: see `sum_rows`."""
    while x.shape[-1] > 1:
        half = x.shape[-1] // 2
        pairs = x[..., :half] + x[..., half : 2 * half]
        x = jnp.concatenate([pairs, x[..., 2 * half :]], axis=-1)
    return x


def repeated(x: Array, width: int) -> Array:
    """x […, 1] as […, width], by doubling: the gradient of a broadcast would be a sum of XLA's."""
    while x.shape[-1] < width:
        x = jnp.concatenate([x, x[..., : width - x.shape[-1]]], axis=-1)
    return x


def xavier(key: Key, size_in: int, size_out: int) -> Layer:
    """Xavier's uniform weights, and a bias of zero."""
    bound = math.sqrt(6.0 / (size_in + size_out))
    weights = jax.random.uniform(key, (size_in, size_out), minval=-bound, maxval=bound)
    return Layer(weights, jnp.zeros(size_out))


def uniform_layer(key: Key, size_in: int, size_out: int, bound: float) -> Layer:
    """Weights and bias uniform in ±bound."""
    both = jax.random.uniform(key, (size_in + 1, size_out), minval=-bound, maxval=bound)
    return Layer(both[:-1], both[-1])


def affine(layer: Layer, x: Array) -> Array:
    """x [in] → [out]."""
    return x @ layer.weights + layer.bias


@jax.custom_vjp
def affine_batch(layer: Layer, x: Array) -> Array:
    """x [b, in] → [b, out], with a gradient that XLA compiles well for the CPU. Left to itself,
    autodiff chooses products that XLA runs slowly there."""
    return affine(layer, x)


def _affine_backward(saved: tuple[Layer, Array], g: Array) -> tuple[Layer, Array]:
    layer, x = saved
    bias = sum_rows(g)
    if g.shape[1] >= FEWEST_OUTPUTS:
        return Layer(x.T @ g, bias), g @ layer.weights.T
    weights = x.T @ g if g.shape[1] > 1 else sum_rows(x * g)[:, None]
    return Layer(weights, bias), sum_rows(g.T[:, :, None] * layer.weights.T[:, None, :])


def sum_rows(x: Array) -> Array:
    """The sum [out] of the rows of x [b, out], by halves. XLA chooses the order of its own sums by
    how many agents share the program, and another order gives other bits. This one is spelt out."""
    while len(x) > 1:
        half = len(x) // 2
        x = jnp.concatenate([x[:half] + x[half : 2 * half], x[2 * half :]])
    return x[0]


affine_batch.defvjp(lambda layer, x: (affine(layer, x), (layer, x)), _affine_backward)
