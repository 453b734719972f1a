"""What the domains share."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from hcdyna.types import Array, Environment, Key, Outcome, Spec


def clip_to_box(spec: Spec, obs: Array) -> Array:
    """Π for a state space that is a box."""
    return jnp.clip(obs, spec.low, spec.high)


def with_reward_noise(env: Environment, deviation: float) -> Environment:
    """Add N(0, deviation²) to every reward; nothing is drawn if the deviation is 0."""
    if deviation == 0:
        return env

    def dynamics(key: Key, obs: Array, action: Array) -> Outcome:
        move_key, noise_key = jax.random.split(key)
        outcome = env.dynamics(move_key, obs, action)
        return outcome._replace(reward=outcome.reward + deviation * jax.random.normal(noise_key))

    return env._replace(dynamics=dynamics)
