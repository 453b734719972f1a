"""Rollouts: h steps through the model from a visited state, with the actions of the behaviour."""

from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp

from hcdyna.numerics import ring
from hcdyna.search_control.base import drawn, queued
from hcdyna.settings.fields import MOST, check, number
from hcdyna.types import Array, Environment, Info, Key, Rows, Scene, SearchControl, Transition


@dataclass(frozen=True)
class Rollouts:
    """Follow the behaviour policy through the model, for h steps or until the episode ends."""

    steps: int = number(5, at_least=1, at_most=10_000)
    """h, the length of a rollout."""
    outcomes: Literal["states", "steps"] = "states"
    """states: queue the states of a rollout. steps: a row is a rollout, s₀, a₀, Σγⁱr, γʰ, s_h."""
    queue_size: int = number(100_000, at_least=1, at_most=MOST)
    """Capacity of the search-control queue in states; the oldest leave first."""

    def __post_init__(self) -> None:
        check(self)

    def build(self, env: Environment) -> SearchControl:
        def rollout(key: Key, scene: Scene) -> tuple[Transition, Array, Array]:
            """As one transition; its states [h, d]; whether the episode goes on there [h]."""
            keys = jax.random.split(key, 1 + self.steps)
            start = ring.sample(keys[0], scene.replay, 1).obs[0]

            def step(carry: Any, key: Key) -> Any:
                assert scene.act is not None
                obs, reward, discount, goes_on = carry
                act_key, model_key = jax.random.split(key)
                action = scene.act(act_key, obs)
                outcome = scene.predict(model_key, obs, action)
                obs = jnp.where(goes_on, env.project(outcome.next_obs), obs)
                reward += discount * outcome.reward  # nothing after the end: discount is 0 then
                discount *= env.spec.discounts(outcome.terminated)
                goes_on &= ~outcome.terminated
                return (obs, reward, discount, goes_on), (action, obs, goes_on)

            first = start, jnp.zeros(()), jnp.ones(()), jnp.array(True)
            last, (actions, states, goes_on) = jax.lax.scan(step, first, keys[1:])
            return Transition(start, actions[0], last[1], last[2], last[0]), states, goes_on

        def propose(key: Key, statistics: tuple, scene: Scene) -> tuple[Array, Array, Info]:
            return *rollout(key, scene)[1:], {}

        def draw(key: Key, scene: Scene, n: int) -> Rows:
            return Rows(jax.vmap(lambda k: rollout(k, scene)[0])(jax.random.split(key, n)))

        return drawn(draw) if self.outcomes == "steps" else queued(propose, self.queue_size)
