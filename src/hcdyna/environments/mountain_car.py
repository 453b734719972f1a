"""MountainCar-v0: rock an underpowered car out of a valley. Constants and formulas: Gymnasium's."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.environments.base import with_reward_noise
from hcdyna.settings import check, number
from hcdyna.settings.fields import MOST
from hcdyna.types import Array, Box, Environment, Key, Outcome, Spec

FORCE = 0.001
GRAVITY = 0.0025
GOAL_POSITION = 0.5
LOW = np.array([-1.2, -0.07], np.float32)
HIGH = np.array([0.6, 0.07], np.float32)


@dataclass(frozen=True)
class MountainCar:
    """Position and velocity; push left, not at all or right; −1 a step until position ≥ 0.5."""

    goal_reward: float = -1.0
    """Reward of the step that reaches the goal."""
    reward_noise: float = number(0.0, at_least=0)
    """Standard deviation of the noise on every reward."""
    time_limit: int = number(2_000, at_least=1, at_most=MOST)
    """Steps after which an episode is truncated."""
    discount: float = number(0.99, at_least=0, at_most=1)
    """γ, the discount factor."""

    def __post_init__(self) -> None:
        check(self)

    def build(self) -> Environment:
        spec = Spec("MountainCar", LOW, HIGH, self.discount, self.time_limit, num_actions=3)

        def dynamics(key: Key, obs: Array, action: Array) -> Outcome:
            position, velocity = obs[0], obs[1]
            push = (action - 1) * FORCE - jnp.cos(3 * position) * GRAVITY
            velocity = jnp.clip(velocity + push, LOW[1], HIGH[1])
            position = jnp.clip(position + velocity, LOW[0], HIGH[0])
            stopped = (position == LOW[0]) & (velocity < 0)
            next_obs = jnp.stack([position, jnp.where(stopped, 0.0, velocity)])
            terminated = at_goal(next_obs)
            return Outcome(next_obs, jnp.where(terminated, self.goal_reward, -1.0), terminated)

        env = Environment(spec, reset, dynamics, Box(LOW, HIGH), at_goal)
        return with_reward_noise(env, self.reward_noise)


def reset(key: Key) -> Array:
    """At rest, near the bottom of the valley."""
    position = jax.random.uniform(key, minval=-0.6, maxval=-0.4)
    return jnp.stack([position, jnp.zeros(())])


def at_goal(obs: Array) -> Array:
    """Position ≥ 0.5, whatever the velocity (the paper's appendix; Gymnasium also asks for ≥ 0)."""
    return obs[0] >= GOAL_POSITION
