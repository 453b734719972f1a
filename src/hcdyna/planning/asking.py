"""Asking the model about a state and an action, and what to take where it does not know."""

import jax
import jax.numpy as jnp

from hcdyna.types import Array, Key, Outcome, Scene


def ask(key: Key, obs: Array, action: Array, scene: Scene) -> tuple[Outcome, Array | None]:
    """The outcome to plan with, and whether the model did not know it; None: it always does."""
    outcome = scene.predict(key, obs, action)
    if scene.doubt is None:
        return outcome, None
    doubtful = scene.doubt(obs, action, outcome)
    if scene.instead is not None:
        instead = scene.instead(outcome)
        outcome = jax.tree.map(lambda x, y: jnp.where(doubtful, x, y), instead, outcome)
    return outcome, doubtful
