"""What a model asks of its network, as functions of arrays, so that faster ones can stand behind
the same interface: one gradient step, and answers."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from hcdyna.types import Array, Transition


class Lesson(NamedTuple):
    """What to learn from: rows of a mini-batch, and how much each counts."""

    questions: Array
    """[rows, in], as the network is asked"""
    action: Array
    """[rows] which of its answers is meant"""
    truth: Array
    """[rows, d + 1] differences and reward, as they should be answered"""
    ended: Array
    """[rows] 1 or 0"""
    weight_of_move: Array
    """[rows] of the squared error of each difference"""
    weight_of_rest: Array
    """[rows] of those of reward and end"""


class Learned(NamedTuple):
    """What came of it."""

    params: Any
    mean: Any
    square: Any
    loss: Array


Fit = Callable[[Any, Any, Any, tuple[Array, Array], Array | float, Lesson], Learned]
"""params, Adam's mean and square, β₁ᵗ and β₂ᵗ with this step, learning rate, lesson → one step."""
FitFor = Callable[[tuple[int, ...], str, int], Fit | None]
"""widths of a network, its activation, rows of a lesson → a step for them; None: there is none."""
Apply = Callable[[Any, Array], Array]
"""params, x [in] → y [out]."""
ApplyFor = Callable[[tuple[int, ...], Any], Apply | None]
"""widths of a network, its activation → the network as a function; None: there is none."""


def both(batch: Transition, rare: Transition | None) -> Transition:
    """All rows of a lesson, the rare ones last."""
    if rare is None:
        return batch
    return jax.tree.map(lambda *parts: jnp.concatenate(parts), batch, rare)


def weights(count: int, rare: int, some: Array, d: int) -> tuple[Array, Array]:
    """How much the rows of `both` count [rows], for a move and for the rest: every part alike; of
    reward and end, half by rare steps, if there are `some`."""
    half = jnp.where(some, 0.5, 1.0) if rare else 1.0
    move = jnp.concatenate([jnp.full(count, 1.0 / (count * d)), jnp.zeros(rare)])
    usual = jnp.broadcast_to(half / count, (count,))
    return move, jnp.concatenate([usual, jnp.full(rare, (1.0 - half) / max(rare, 1))])
