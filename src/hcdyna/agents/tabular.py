"""Tabular Q-learning (Watkins, 1989): one number for each state and action."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from hcdyna.numerics.randomness import below, chance
from hcdyna.settings import check, number
from hcdyna.settings.errors import SettingsError
from hcdyna.types import Agent, Array, Info, Key, Spec, Transition


@dataclass(frozen=True)
class Tabular:
    """Q-learning on a table Q [states, actions] that starts at 0."""

    learning_rate: float = number(0.5, above=0, at_most=1)
    """Step size: the share of the TD error that an update corrects."""

    def __post_init__(self) -> None:
        check(self)

    def build(self, spec: Spec) -> Agent:
        if spec.num_actions is None or spec.num_states is None:
            raise SettingsError(
                f"agent = tabular: {spec.name} has continuous actions or a continuous state space; "
                "tabular needs discrete actions and discrete states"
            )
        shape = (spec.num_states, spec.num_actions)

        def learn(
            q: Array, given: tuple[Transition, Array | None]
        ) -> tuple[Array, tuple[Array, Array]]:
            row, weight = given
            goal = row.reward + row.discount * q[row.next_obs].max()
            old = q[row.obs, row.action]
            delta = goal - old
            step = self.learning_rate * delta
            step = step if weight is None else weight * step
            return q.at[row.obs, row.action].set(old + step), (delta, old)

        def update(
            key: Key, q: Array, batch: Transition, weight: Array | None
        ) -> tuple[Array, Info]:
            """Rows are learned from one after the other: a pair may occur in several."""
            q, (delta, old) = jax.lax.scan(learn, q, (batch, weight))
            loss = jnp.mean(jnp.square(delta))
            return q, {"loss": loss, "mean_q": jnp.mean(old), "td_error": delta}

        def greedy(q: Array, obs: Array) -> Array:
            return jnp.argmax(q[obs]).astype(jnp.int32)

        def act(key: Key, q: Array, obs: Array, epsilon: Array | float) -> Array:
            explore, action = jax.random.bits(key, (2,))
            random_action = below(action, shape[1])
            return jnp.where(chance(explore, epsilon), random_action, greedy(q, obs))

        return Agent(
            init=lambda key: jnp.zeros(shape),
            act=act,
            greedy=greedy,
            value=lambda q, obs: jnp.max(q[obs]),
            update=update,
            q=lambda q, obs, action: q[obs, action],
        )
