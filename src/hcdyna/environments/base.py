"""What the domains share."""

import jax

from hcdyna.types import Array, Environment, Key, Outcome


def with_reward_noise(env: Environment, deviation: float) -> Environment:
    """Add N(0, deviation²) to every reward; nothing is drawn if the deviation is 0."""
    if deviation == 0:
        return env

    def dynamics(key: Key, obs: Array, action: Array) -> Outcome:
        move_key, noise_key = jax.random.split(key)
        outcome = env.dynamics(move_key, obs, action)
        return outcome._replace(reward=outcome.reward + deviation * jax.random.normal(noise_key))

    return env._replace(dynamics=dynamics)
