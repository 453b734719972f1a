"""A model learned online: a network predicts the difference s′ − s, the reward, and the end.

With discrete actions the network takes s and answers for every action; with continuous ones it
takes (s, a) and answers for this one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from hcdyna.numerics import adam, ring
from hcdyna.numerics.networks import Activation, mlp
from hcdyna.settings import check, check_hidden, number, registry
from hcdyna.settings.errors import SettingsError
from hcdyna.types import Array, Environment, Info, Key, Model, Outcome, Transition


class ModelState(NamedTuple):
    """The network and Adam's moments."""

    params: Any
    optimiser: adam.AdamState


@dataclass(frozen=True)
class LearnedModel:
    """Predict s′ − s, reward and termination of an action, from replayed transitions."""

    learning_rate: float = number(1e-4, above=0)
    """Adam's step size."""
    hidden: tuple[int, ...] = (64, 64)
    """Units of each hidden layer."""
    activation: Activation = "relu"
    """Nonlinearity of the hidden layers."""
    batch_size: int = number(128, at_least=1, at_most=1_000_000)
    """Transitions per update; there is one update per environment step."""

    def __post_init__(self) -> None:
        check(self)
        check_hidden(self)

    def build(self, env: Environment) -> Model:
        spec = env.spec
        if spec.num_states is not None:
            raise SettingsError(
                f"model = {registry.name_of('models', self)}: {spec.name} has a discrete state "
                "space, and this model needs a continuous one"
            )
        num_actions, size, d = spec.num_actions, spec.action_size or 0, spec.low.shape[0]
        # For each answer: d differences, the reward, and the log-odds that the episode ends.
        answers = 1 if num_actions is None else num_actions
        network = mlp((d + size, *self.hidden, answers * (d + 2)), self.activation)

        def init(key: Key) -> ModelState:
            params = network.init(key)
            return ModelState(params, adam.init(params))

        def asked(obs: Array, action: Array) -> Array:
            return obs if num_actions is not None else jnp.concatenate([obs, action], axis=-1)

        def of_action(row: Array, action: Array) -> Array:
            if num_actions is None:
                return row
            # A masked sum instead of an index: gathers are slow, and so are their gradients.
            return jax.nn.one_hot(action, num_actions) @ row.reshape(num_actions, d + 2)

        def predict(key: Key, state: ModelState, obs: Array, action: Array) -> Outcome:
            out = of_action(network.apply(state.params, asked(obs, action)), action)
            return Outcome(env.project(obs + out[:d]), out[d], out[d + 1] > 0.0)

        def loss(params: Any, batch: Transition) -> Array:
            rows = network.on_batch(params, asked(batch.obs, batch.action))
            out = jax.vmap(of_action)(rows, batch.action)
            moved = jnp.mean(jnp.square(out[:, :d] - (batch.next_obs - batch.obs)))
            reward = jnp.mean(jnp.square(out[:, d] - batch.reward))
            ended = (batch.discount == 0.0).astype(jnp.float32)
            return moved + reward + jnp.mean(optax.sigmoid_binary_cross_entropy(out[:, -1], ended))

        def update(key: Key, state: ModelState, replay: ring.Ring) -> tuple[ModelState, Info]:
            batch = ring.sample(key, replay, self.batch_size)
            error, gradient = jax.value_and_grad(loss)(state.params, batch)
            params, optimiser = adam.update(
                gradient, state.optimiser, state.params, self.learning_rate
            )
            return ModelState(params, optimiser), {"model_loss": error}

        return Model(init, predict, update)
