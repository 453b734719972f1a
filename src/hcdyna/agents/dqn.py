"""DQN: Q-learning with a network, mini-batches and a target network (Mnih et al., 2015)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from hcdyna.numerics import adam
from hcdyna.numerics.networks import Activation, Network, mlp
from hcdyna.numerics.randomness import below, chance
from hcdyna.settings import PythonOnly, check, check_hidden, number
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.fields import MOST
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
        sizes = (spec.low.shape[0] if spec.low.ndim else 0, *self.hidden, spec.num_actions or 0)
        refuse_all_but_discrete_actions(spec, "dqn")
        network = self.network or mlp(sizes, self.activation, OUTPUT_SCALE)
        agent = q_learning(network, sizes[-1], self.learning_rate, self.target_period)
        if self.network is not None:
            return agent
        functions = (agent.greedy, agent.value, agent.update)
        rate, period = self.learning_rate, self.target_period
        known = Perceptron(self.hidden, self.activation, rate, period, functions)
        return agent._replace(perceptron=known)


def refuse_all_but_discrete_actions(spec: Spec, name: str) -> None:
    """Raise SettingsError unless actions are discrete and states are not."""
    if spec.num_actions is None or spec.num_states is not None:
        raise SettingsError(
            f"agent = {name}: {spec.name} has continuous actions or a discrete state space; "
            f"{name} needs discrete actions and continuous states"
        )


Bootstrap = Callable[[Array, Array], Array]
"""Q(s′, ·) [b, actions] of the network, and of the target network → the value of s′ [b]."""


def highest_target(online: Array, target: Array) -> Array:
    """max_a Q′(s′, a): the target network both chooses the action and says what it is worth."""
    return target.max(axis=-1)


def q_learning(
    network: Network,
    num_actions: int,
    learning_rate: Array | float,
    target_period: int,
    bootstrap: Bootstrap = highest_target,
) -> Agent:
    """Q-learning with any network obs [d] → Q [actions], and any way to value the next state."""

    def init(key: Key) -> DQNState:
        params = network.init(key)
        target = jax.tree.map(jnp.copy, params)
        return DQNState(params, target, adam.init(params), jnp.zeros((), jnp.int32))

    def loss(
        params: Any, target: Any, batch: Transition, weight: Array | None
    ) -> tuple[Array, tuple[Array, Array]]:
        q_next = jax.lax.stop_gradient(network.on_batch(params, batch.next_obs))
        worth = bootstrap(q_next, network.on_batch(target, batch.next_obs))
        q = network.on_batch(params, batch.obs)
        chosen = jnp.sum(q * jax.nn.one_hot(batch.action, num_actions), axis=-1)
        error = batch.reward + batch.discount * worth - chosen
        square = jnp.square(error)
        return jnp.mean(square if weight is None else weight * square), (jnp.mean(q), error)

    def update(
        key: Key, state: DQNState, batch: Transition, weight: Array | None
    ) -> tuple[DQNState, Info]:
        (error, (mean_q, each)), gradient = jax.value_and_grad(loss, has_aux=True)(
            state.params, state.target, batch, weight
        )
        params, optimiser = adam.update(gradient, state.optimiser, state.params, learning_rate)
        updates = state.updates + 1
        copy = updates % target_period == 0
        target = jax.tree.map(lambda q, old: jnp.where(copy, q, old), params, state.target)
        info = {"loss": error, "mean_q": mean_q, "td_error": each}
        return DQNState(params, target, optimiser, updates), info

    def greedy(state: DQNState, obs: Array) -> Array:
        return jnp.argmax(network.apply(state.params, obs)).astype(jnp.int32)

    def act(key: Key, state: DQNState, obs: Array, epsilon: Array | float) -> Array:
        explore, action = jax.random.bits(key, (2,))
        random_action = below(action, num_actions)
        return jnp.where(chance(explore, epsilon), random_action, greedy(state, obs))

    def q(state: DQNState, obs: Array, action: Array) -> Array:
        return jnp.sum(network.apply(state.params, obs) * jax.nn.one_hot(action, num_actions))

    def value(state: DQNState, obs: Array) -> Array:
        return jnp.max(network.apply(state.params, obs))

    def target(state: DQNState, obs: Array) -> Array:
        return jnp.max(network.apply(state.target, obs))

    return Agent(init, act, greedy, value, update, q, target)
