"""DQN: Q-learning with a network, mini-batches and a target network (Mnih et al., 2015)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from hcdyna import adam
from hcdyna.errors import SettingsError
from hcdyna.fields import MOST
from hcdyna.networks import Activation, Network, mlp
from hcdyna.randomness import below, chance
from hcdyna.settings import PythonOnly, check, check_hidden, number
from hcdyna.types import Agent, Array, Info, Key, Perceptron, Spec, Transition

OUTPUT_SCALE = 0.0003
"""Output parameters start uniform in ± this (appendix), so that all values start near zero."""


class DQNState(NamedTuple):
    """Q_θ, its target copy Q′, and Adam's moments."""

    params: Any
    target: Any
    optimiser: adam.AdamState
    updates: Array


@dataclass(frozen=True)
class DQN:
    """Deep Q-learning on mini-batches, with a target network."""

    learning_rate: float = number(1e-4, above=0)
    """Adam's step size."""
    hidden: tuple[int, ...] = (32, 32)
    """Units of each hidden layer."""
    activation: Activation = "relu"
    """Nonlinearity of the hidden layers."""
    target_period: int = number(1_000, at_least=1, at_most=MOST)
    """τ: Q′ ← Q every this many updates."""
    network: PythonOnly[Network | None] = None
    """Your own init/apply pair, obs [d] → Q [actions]; None: a perceptron of `hidden` layers."""

    def __post_init__(self) -> None:
        check(self)
        check_hidden(self)

    def build(self, spec: Spec) -> Agent:
        if spec.num_actions is None or spec.num_states is not None:
            raise SettingsError(
                f"agent = dqn: {spec.name} has continuous actions or a discrete state space; "
                "dqn needs discrete actions and continuous states"
            )
        num_actions = spec.num_actions
        sizes = (spec.low.shape[0], *self.hidden, num_actions)
        network = self.network or mlp(sizes, self.activation, OUTPUT_SCALE)

        def init(key: Key) -> DQNState:
            params = network.init(key)
            target = jax.tree.map(jnp.copy, params)
            return DQNState(params, target, adam.init(params), jnp.zeros((), jnp.int32))

        def loss(params: Any, target: Any, batch: Transition) -> tuple[Array, Array]:
            q = network.on_batch(params, batch.obs)
            next_q = network.on_batch(target, batch.next_obs)
            goal = batch.reward + batch.discount * next_q.max(axis=-1)
            chosen = jnp.sum(q * jax.nn.one_hot(batch.action, num_actions), axis=-1)
            return jnp.mean(jnp.square(goal - chosen)), jnp.mean(q)

        def update(state: DQNState, batch: Transition) -> tuple[DQNState, Info]:
            (error, mean_q), gradient = jax.value_and_grad(loss, has_aux=True)(
                state.params, state.target, batch
            )
            params, optimiser = adam.update(
                gradient, state.optimiser, state.params, self.learning_rate
            )
            updates = state.updates + 1
            copy = updates % self.target_period == 0
            target = jax.tree.map(lambda q, old: jnp.where(copy, q, old), params, state.target)
            return DQNState(params, target, optimiser, updates), {"loss": error, "mean_q": mean_q}

        def greedy(state: DQNState, obs: Array) -> Array:
            return jnp.argmax(network.apply(state.params, obs)).astype(jnp.int32)

        def act(key: Key, state: DQNState, obs: Array, epsilon: Array | float) -> Array:
            explore, action = jax.random.bits(key, (2,))
            random_action = below(action, num_actions)
            return jnp.where(chance(explore, epsilon), random_action, greedy(state, obs))

        def value(state: DQNState, obs: Array) -> Array:
            return jnp.max(network.apply(state.params, obs))

        perceptron = None
        if self.network is None:
            rate, period = self.learning_rate, self.target_period
            functions = (greedy, value, update)
            perceptron = Perceptron(self.hidden, self.activation, rate, period, functions)
        return Agent(init, act, greedy, value, update, perceptron=perceptron)
