"""n and ρ: how many mini-batches to learn from, and how much of each comes from search-control.

Both decide the shapes of arrays. Where they vary within a program, all its agents pay for the
largest n, and each row of a mini-batch is drawn from both sources.
"""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from hcdyna.numerics.randomness import chance
from hcdyna.settings import Training
from hcdyna.types import Array, Key, SearchControl

PLANNING_STEPS, MIXING_RATE = "training.planning_steps", "training.mixing_rate"
COIN = 0x434F494E
"""Sets the random numbers apart that decide where a row of a mini-batch comes from."""


class Budget(NamedTuple):
    """What the planning of one agent may cost at a time step."""

    most: int
    """The largest n of the program …"""
    n: Array | None
    """… and that of this agent; None: the same."""
    batch_size: int
    rho: Array | float
    """ρ; an array where it varies within the program"""


def budget_of(training: Training, numbers: dict[str, Array] | None = None) -> Budget:
    """From the settings, and from `numbers` by `part.field` where these vary in the program."""
    varying = numbers or {}
    n = varying.get(PLANNING_STEPS)
    return Budget(
        most=training.planning_steps,
        n=None if n is None else n.astype(jnp.int32),
        batch_size=training.batch_size,
        rho=varying.get(MIXING_RATE, training.mixing_rate),
    )


def simulated_rows(
    key: Key, strategy: SearchControl, search_state: Any, budget: Budget
) -> tuple[int, Array | None]:
    """m, and which of the m rows come from search-control in truth; None: all of them.

    Where ρb is not whole, a coin decides for each row, and where ρ varies within the program, its
    value does: then m = b.
    """
    b, rho = budget.batch_size, budget.rho
    if strategy.sample is None:
        return 0, None
    ready = None if strategy.ready is None else strategy.ready(search_state)
    if isinstance(rho, int | float) and math.isclose(rho * b, round(rho * b), abs_tol=1e-9):
        m = round(rho * b)
        return m, None if ready is None else jnp.broadcast_to(ready, m)
    share = jnp.asarray(rho, jnp.float32) * b
    heads = chance(jax.random.bits(jax.random.fold_in(key, COIN), (b,)), rho)
    whole = jnp.abs(share - jnp.round(share)) < 1e-4
    taken = jnp.where(whole, jnp.arange(b) < jnp.round(share), heads)
    return b, taken if ready is None else taken & ready
