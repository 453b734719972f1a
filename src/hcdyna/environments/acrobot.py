"""Acrobot-v1: swing a two-link arm above the bar. Constants and formulas: Gymnasium's "book" ones.

The dynamics act on the six observed numbers (cos θ₁, sin θ₁, cos θ₂, sin θ₂, two speeds), so that a
hill-climbed state can be asked for its outcome.
"""

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.environments.base import with_reward_noise
from hcdyna.settings import check, number
from hcdyna.settings.fields import MOST
from hcdyna.types import Array, Box, Environment, Key, Outcome, Spec

SECONDS = 0.2
GRAVITY = 9.8
LENGTH = 1.0
CENTRE = 0.5
"""Centre of mass of a link, from its joint."""
MASS = 1.0
INERTIA = 1.0
MAX_SPEED = np.array([4 * math.pi, 9 * math.pi], np.float32)
HIGH = np.concatenate([np.ones(4, np.float32), MAX_SPEED])
SPEC = Spec("Acrobot", -HIGH, HIGH, discount=0.99, time_limit=500, num_actions=3)
PROJECT = Box(-HIGH, HIGH, pairs=2)
"""Π: the box, then each (cos, sin) pair back to the unit circle."""


@dataclass(frozen=True)
class Acrobot:
    """Two angles (as cos, sin) and two speeds; torque −1, 0 or 1; −1 a step until the tip is up."""

    reward_noise: float = number(0.0, at_least=0)
    """Standard deviation of the noise on every reward."""
    time_limit: int = number(500, at_least=1, at_most=MOST)
    """Steps after which an episode is truncated."""
    discount: float = number(0.99, at_least=0, at_most=1)
    """γ, the discount factor."""

    def __post_init__(self) -> None:
        check(self)

    def build(self) -> Environment:
        spec = SPEC._replace(discount=self.discount, time_limit=self.time_limit)
        env = Environment(spec, reset, dynamics, PROJECT, above_bar)
        return with_reward_noise(env, self.reward_noise)


def reset(key: Key) -> Array:
    """Hanging down, nearly at rest."""
    return observe(jax.random.uniform(key, (4,), minval=-0.1, maxval=0.1))


def dynamics(key: Key, obs: Array, action: Array) -> Outcome:
    """One Runge–Kutta step of 0.2 s; speeds are then cut off.

    At high speeds the inner steps turn the links by hundreds of radians, which blows rounding up to
    a thousandth in float32; so this one step is computed in float64.
    """
    with jax.enable_x64(True):
        cos1, sin1, cos2, sin2, *speeds = jax.lax.convert_element_type(obs, np.float64)
        torque = jax.lax.convert_element_type(action, np.float64) - 1.0
        state = jnp.stack([jnp.arctan2(sin1, cos1), jnp.arctan2(sin2, cos2), *speeds])
        state = runge_kutta(state, torque)
        speed = jnp.clip(state[2:], -MAX_SPEED, MAX_SPEED)
        next_obs = observe(jnp.concatenate([state[:2], speed]))
        next_obs = jax.lax.convert_element_type(next_obs, np.float32)
    terminated = above_bar(next_obs)
    return Outcome(next_obs, jnp.where(terminated, 0.0, -1.0), terminated)


def observe(state: Array) -> Array:
    """(θ₁, θ₂, θ̇₁, θ̇₂) → the six observed numbers."""
    angles, speeds = state[:2], state[2:]
    cos, sin = jnp.cos(angles), jnp.sin(angles)
    return jnp.stack([cos[0], sin[0], cos[1], sin[1], speeds[0], speeds[1]])


def runge_kutta(state: Array, torque: Array) -> Array:
    """The classic fourth-order step."""
    k1 = derivative(state, torque)
    k2 = derivative(state + SECONDS / 2 * k1, torque)
    k3 = derivative(state + SECONDS / 2 * k2, torque)
    k4 = derivative(state + SECONDS * k3, torque)
    return state + SECONDS / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def derivative(state: Array, torque: Array) -> Array:
    """Time derivative of (θ₁, θ₂, θ̇₁, θ̇₂); the torque acts on the joint between the links."""
    theta1, theta2, speed1, speed2 = state
    cos2, sin2 = jnp.cos(theta2), jnp.sin(theta2)
    d1 = MASS * (CENTRE**2 + LENGTH**2 + CENTRE**2 + 2 * LENGTH * CENTRE * cos2) + 2 * INERTIA
    d2 = MASS * (CENTRE**2 + LENGTH * CENTRE * cos2) + INERTIA
    phi2 = MASS * CENTRE * GRAVITY * jnp.sin(theta1 + theta2)
    phi1 = (
        -MASS * LENGTH * CENTRE * (speed2**2 + 2 * speed2 * speed1) * sin2
        + MASS * (CENTRE + LENGTH) * GRAVITY * jnp.sin(theta1)
        + phi2
    )
    coupling = MASS * LENGTH * CENTRE * speed1**2 * sin2
    inertia2 = MASS * CENTRE**2 + INERTIA - d2**2 / d1
    acceleration2 = (torque + d2 / d1 * phi1 - coupling - phi2) / inertia2
    acceleration1 = -(d2 * acceleration2 + phi1) / d1
    return jnp.stack([speed1, speed2, acceleration1, acceleration2])


def above_bar(obs: Array) -> Array:
    """−cos θ₁ − cos(θ₁ + θ₂) > 1: the tip is one link's length above the joint."""
    cos1, sin1, cos2, sin2 = obs[0], obs[1], obs[2], obs[3]
    return -cos1 - (cos1 * cos2 - sin1 * sin2) > 1.0
