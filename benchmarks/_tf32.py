"""Products as a GPU rounds them by default, on any machine: does learning suffer from it?"""

from typing import Any

import jax

from hcdyna.numerics import networks


def round_products() -> None:
    """Give the networks products whose factors have ten bits, forwards and backwards."""

    def rounded(x: Any) -> Any:
        return jax.lax.reduce_precision(x, exponent_bits=8, mantissa_bits=10)

    def affine(layer: networks.Layer, x: Any) -> Any:
        return rounded(x) @ rounded(layer.weights) + layer.bias

    def backward(saved: Any, g: Any) -> Any:
        layer, x = saved
        weights = rounded(x).T @ rounded(g)
        return networks.Layer(weights, g.sum(axis=0)), rounded(g) @ rounded(layer.weights).T

    networks.affine = affine
    networks.affine_batch.defvjp(lambda layer, x: (affine(layer, x), (layer, x)), backward)
