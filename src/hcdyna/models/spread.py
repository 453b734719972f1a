"""Doubt by disagreement: a model does not know what its members disagree on more than usual."""

import jax
import jax.numpy as jnp

from hcdyna.models.trust import Doubt
from hcdyna.numerics import ring
from hcdyna.types import Array, Key, Model, Outcome, Transition

USUAL = 0.95
"""The share of replayed steps on which disagreement is usual."""
TRIED = 32
"""Replayed steps on which it is measured, on every real step …"""
RATE = 0.05
"""… and how fast the limit follows: it moves by this share of itself at most."""


def doubt(model: Model, limit: Array | float) -> Doubt:
    """Disagreement above `limit` times the running 95% quantile on replayed steps."""
    assert model.spread is not None
    spread = model.spread

    def update(key: Key, usual: Array, state: object, replay: ring.Ring) -> Array:
        rows = ring.sample(jax.random.fold_in(key, TRIED), replay, TRIED)
        found = jax.vmap(spread, (None, 0, 0))(state, rows.obs, rows.action)
        above = jnp.mean((found > usual).astype(jnp.float32))
        return usual * jnp.exp(RATE * (above - (1 - USUAL)))

    def unknown(usual: Array, state: object, obs: Array, action: Array, outcome: Outcome) -> Array:
        return spread(state, obs, action) > limit * usual

    def found(usual: Array, state: object, step: Transition) -> Array:
        return spread(state, step.obs, step.action) > limit * usual

    return Doubt(lambda: jnp.ones(()), update, unknown, found)
