"""Parts that a user made of other parts: ours, their own, and plain dataclasses."""

# ruff: noqa: RUF009  (parts are frozen, so that they can be defaults)

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna import LearnedModel, Uniform, drawn
from hcdyna.settings import check, number
from hcdyna.types import Box, Environment, Outcome, Spec
from nearest_to_goal import NearestToGoal


@dataclass(frozen=True)
class Mixture:
    """Each state from the first of two strategies, with probability `share`, or the second."""

    first: Any = NearestToGoal()
    second: NearestToGoal | Uniform = Uniform()
    share: float = number(0.5, at_least=0, at_most=1)

    __post_init__ = check

    def build(self, env):
        first, second = self.first.build(env), self.second.build(env)

        def draw(key, scene, n):
            keys = jax.random.split(key, 3)
            from_first = jax.random.uniform(keys[0], (n, 1)) < self.share
            near, far = first.sample(keys[1], (), scene, n), second.sample(keys[2], (), scene, n)
            return jnp.where(from_first, near, far)

        return drawn(draw)


@dataclass(frozen=True)
class Several:
    """As many states from each of some strategies."""

    members: tuple[Any, ...] = (Uniform(), NearestToGoal())

    def build(self, env):
        built = [member.build(env) for member in self.members]

        def draw(key, scene, n):
            draws = [strategy.sample(key, (), scene, n) for strategy in built]
            return jnp.concatenate(draws)[:: len(built)]

        return drawn(draw)


@dataclass(frozen=True)
class Wishful:
    """A learned model, but every reward is better by `bonus`."""

    member: Any = LearnedModel(hidden=(4,), batch_size=4)
    bonus: float = 0.5

    def build(self, env):
        model = self.member.build(env)

        def predict(key, state, obs, action):
            outcome = model.predict(key, state, obs, action)
            return outcome._replace(reward=outcome.reward + self.bonus)

        return model._replace(predict=predict)


@dataclass(frozen=True)
class Shore:
    """Where a boat starts: no part of Dyna, since it can't be built."""

    low: float = 0.5
    high: float = 1.0


@dataclass(frozen=True)
class Pond:
    """Paddle a boat to the middle of a pond; −1 a step, there it ends."""

    stroke: float = 0.1
    start: Shore = Shore()

    def build(self):
        low, high = np.full(2, -1, np.float32), np.ones(2, np.float32)
        spec = Spec("Pond", low, high, discount=0.99, time_limit=20, num_actions=4)
        box = Box(low, high)
        moves = self.stroke * jnp.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])

        def terminal(obs):
            return jnp.max(jnp.abs(obs)) < 0.1

        def dynamics(key, obs, action):
            next_obs = box(obs + moves[action])
            return Outcome(next_obs, jnp.float32(-1.0), terminal(next_obs))

        def reset(key):
            return jax.random.uniform(key, (2,), minval=self.start.low, maxval=self.start.high)

        return Environment(spec, reset, dynamics, box, terminal)


@dataclass(frozen=True)
class Fixed(Mixture):
    """As `Mixture`, but the numbers of its first strategy belong to the program."""

    first: Any = field(default=NearestToGoal(), metadata={"static": True})


@dataclass(frozen=True)
class Demanding:
    """A strategy with a field that has no default."""

    spread: float

    def build(self, env):
        return NearestToGoal(self.spread).build(env)


@dataclass(frozen=True)
class Grumpy:
    """A strategy that checks itself in its own way."""

    spread: float = 0.1

    def __post_init__(self):
        if self.spread > 1:
            raise TypeError("I want\nless spread")

    def build(self, env):
        return NearestToGoal(self.spread).build(env)


class NoDataclass:
    """A strategy without fields to save."""

    def build(self, env):
        return Uniform().build(env)


def a_function(env):
    """No part at all."""
