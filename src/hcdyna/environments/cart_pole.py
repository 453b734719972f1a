"""CartPole-v1: keep a pole upright on a cart. Constants and formulas: Gymnasium's (Euler steps)."""

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.environments.base import with_reward_noise
from hcdyna.settings import check, number
from hcdyna.settings.fields import MOST
from hcdyna.types import Array, Box, Environment, Key, Outcome, Spec

GRAVITY = 9.8
CART_MASS = 1.0
POLE_MASS = 0.1
TOTAL_MASS = CART_MASS + POLE_MASS
HALF_LENGTH = 0.5
FORCE = 10.0
SECONDS = 0.02
MAX_POSITION = 2.4
MAX_ANGLE = 12 * math.pi / 180
MAX_SPEED = 10.0
"""Gymnasium leaves both velocities unbounded; Π needs a bound."""
HIGH = np.array([2 * MAX_POSITION, MAX_SPEED, 2 * MAX_ANGLE, MAX_SPEED], np.float32)


@dataclass(frozen=True)
class CartPole:
    """Position, velocity, angle, angular velocity; push left or right; +1 a step."""

    reward_noise: float = number(0.0, at_least=0)
    """Standard deviation of the noise on every reward."""
    time_limit: int = number(500, at_least=1, at_most=MOST)
    """Steps after which an episode is truncated."""
    discount: float = number(0.99, at_least=0, at_most=1)
    """γ, the discount factor."""

    def __post_init__(self) -> None:
        check(self)

    def build(self) -> Environment:
        spec = Spec("CartPole", -HIGH, HIGH, self.discount, self.time_limit, num_actions=2)
        env = Environment(spec, reset, dynamics, Box(-HIGH, HIGH), fallen)
        return with_reward_noise(env, self.reward_noise)


def reset(key: Key) -> Array:
    """Nearly upright, nearly at rest."""
    return jax.random.uniform(key, (4,), minval=-0.05, maxval=0.05)


def dynamics(key: Key, obs: Array, action: Array) -> Outcome:
    """One Euler step of 0.02 s."""
    _, velocity, angle, spin = obs
    force = jnp.where(action == 1, FORCE, -FORCE)
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    push = (force + POLE_MASS * HALF_LENGTH * spin**2 * sin) / TOTAL_MASS
    inertia = HALF_LENGTH * (4.0 / 3.0 - POLE_MASS * cos**2 / TOTAL_MASS)
    angular = (GRAVITY * sin - cos * push) / inertia
    linear = push - POLE_MASS * HALF_LENGTH * angular * cos / TOTAL_MASS
    next_obs = obs + SECONDS * jnp.stack([velocity, linear, spin, angular])
    return Outcome(next_obs, jnp.float32(1.0), fallen(next_obs))


def fallen(obs: Array) -> Array:
    """Off the track, or the pole more than 12 degrees from upright."""
    return (jnp.abs(obs[0]) > MAX_POSITION) | (jnp.abs(obs[2]) > MAX_ANGLE)
