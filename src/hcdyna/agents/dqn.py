"""DQN: Q-learning with a network, mini-batches and a target network (Mnih et al., 2015).

What came after it are options, off by default: double Q (van Hasselt et al., 2016), a dueling
network (Wang et al., 2016), Huber's loss, a bound on the gradient, soft targets, and evaluations
with averaged parameters (Polyak & Juditsky, 1992).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp

from hcdyna.numerics import adam
from hcdyna.numerics.networks import Activation, Layer, Network, affine, affine_batch, mlp
from hcdyna.numerics.randomness import below, chance
from hcdyna.settings import PythonOnly, check, check_hidden, later, number
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.fields import MOST, shown
from hcdyna.settings.importing import Unimported
from hcdyna.types import Agent, Array, Info, Key, Perceptron, Spec, Transition

OUTPUT_SCALE = 0.0003
"""Output parameters start uniform in ± this (appendix), so that all values start near zero."""


class DQNState(NamedTuple):
    """Q_θ, its target copy Q′, and Adam's moments."""

    params: Any
    target: Any
    optimiser: adam.AdamState
    updates: Array
    average: Any = ()
    """θ̄, where evaluations act with it"""


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
    target_rate: float = later(1.0, before=1.0, above=0, at_most=1, static=True)
    """θ′ ← θ′ + target_rate·(θ − θ′) at those updates; 1: a copy."""
    average_rate: float = later(0.0, before=0.0, at_least=0, at_most=1, static=True)
    """θ̄ ← θ̄ + average_rate·(θ − θ̄) on every real step; evaluations act with θ̄. 0: with θ."""
    double: bool = later(False, before=False)
    """Double DQN: Q chooses the action in s′, Q′ evaluates it; off: Q′ does both."""
    dueling: bool = later(False, before=False)
    """Dueling network, Q = V + A − mean A on shared hidden layers; off: a plain perceptron."""
    loss: Literal["square", "huber"] = later("square", before="square")
    """Loss of the TD error δ: δ², or Huber's, δ²/2 up to |δ| = 1 and |δ| − 1/2 beyond."""
    max_gradient: float = later(0.0, before=0.0, at_least=0, static=True)
    """Clip gradients to this norm; 0: no clipping."""
    output_scale: float = later(OUTPUT_SCALE, before=OUTPUT_SCALE, above=0, static=True)
    """Parameters of the output layer start uniform in ± this."""
    network: PythonOnly[Network | None] = None
    """Your own init/apply pair, obs [d] → Q [actions]; None: a perceptron of `hidden` layers."""

    def __post_init__(self) -> None:
        check(self)
        check_hidden(self)
        usable = all(callable(getattr(self.network, name, None)) for name in ("init", "on_batch"))
        if self.network is not None and not usable and not isinstance(self.network, Unimported):
            raise SettingsError(
                f"DQN.network = {shown(self.network)}: must be a Network, a pair of init and apply"
            )

    def build(self, spec: Spec) -> Agent:
        sizes = (spec.low.shape[0] if spec.low.ndim else 0, *self.hidden, spec.num_actions or 0)
        refuse_all_but_discrete_actions(spec, "dqn")
        make = dueling if self.dueling else mlp
        network = self.network or make(sizes, self.activation, self.output_scale)
        agent = q_learning(network, sizes[-1], self)
        if self.network is not None or self.dueling:
            return agent
        known = Perceptron(
            self.hidden,
            self.activation,
            self.learning_rate,
            self.target_period,
            (agent.greedy, agent.value, agent.update, agent.init, agent.target),
            self.double,
            self.loss == "huber",
            self.max_gradient,
            self.target_rate,
        )
        return agent._replace(perceptron=known)


def refuse_all_but_discrete_actions(spec: Spec, name: str) -> None:
    """Raise SettingsError unless actions are discrete and states are not."""
    if spec.num_actions is None or spec.num_states is not None:
        raise SettingsError(
            f"agent = {name}: {spec.name} has continuous actions or a discrete state space; "
            f"{name} needs discrete actions and continuous states"
        )


def double(online: Array, target: Array) -> Array:
    """Q′(s′, argmax Q(s′, ·)) [b] of Q and Q′ [b, actions]."""
    chosen = jax.nn.one_hot(jnp.argmax(online, axis=-1), online.shape[-1])
    return jnp.sum(target * chosen, axis=-1)


def dueling(sizes: tuple[int, ...], activation: Activation, output_scale: float) -> Network:
    """obs → Q [actions] = V + A − mean A, from a perceptron with the outputs V, A [actions]."""
    *inner, n = sizes
    inside = mlp((*inner, 1 + n), activation, output_scale)
    # A last layer that is never learned: its gradient is the same alone and among other agents.
    join = Layer(jnp.concatenate([jnp.ones((1, n)), jnp.eye(n) - 1.0 / n]), jnp.zeros(n))
    return Network(
        init=inside.init,
        apply=lambda params, obs: affine(join, inside.apply(params, obs)),
        apply_batch=lambda params, obs: affine_batch(join, inside.on_batch(params, obs)),
    )


def q_learning(network: Network, num_actions: int, how: DQN) -> Agent:
    """Q-learning with any network obs [d] → Q [actions]."""

    def init(key: Key) -> DQNState:
        params = network.init(key)
        target = jax.tree.map(jnp.copy, params)
        average = jax.tree.map(jnp.copy, params) if how.average_rate > 0 else ()
        return DQNState(params, target, adam.init(params), jnp.zeros((), jnp.int32), average)

    def loss(
        params: Any, target: Any, batch: Transition, weight: Array | None
    ) -> tuple[Array, tuple[Array, Array]]:
        q_next = network.on_batch(target, batch.next_obs)
        worth = q_next.max(axis=-1)
        if how.double:
            online = jax.lax.stop_gradient(network.on_batch(params, batch.next_obs))
            worth = double(online, q_next)
        q = network.on_batch(params, batch.obs)
        chosen = jnp.sum(q * jax.nn.one_hot(batch.action, num_actions), axis=-1)
        error = batch.reward + batch.discount * worth - chosen
        each = jnp.square(error)
        if how.loss == "huber":
            size = jnp.abs(error)
            each = jnp.where(size < 1.0, 0.5 * each, size - 0.5)
        return jnp.mean(each if weight is None else weight * each), (jnp.mean(q), error)

    def update(
        key: Key, state: DQNState, batch: Transition, weight: Array | None
    ) -> tuple[DQNState, Info]:
        (error, (mean_q, each)), gradient = jax.value_and_grad(loss, has_aux=True)(
            state.params, state.target, batch, weight
        )
        if how.max_gradient > 0:
            gradient = cut(gradient, how.max_gradient)
        params, optimiser = adam.update(gradient, state.optimiser, state.params, how.learning_rate)
        updates = state.updates + 1
        copy = updates % how.target_period == 0
        newer = params if how.target_rate == 1 else nearer(state.target, params, how.target_rate)
        target = jax.tree.map(lambda new, old: jnp.where(copy, new, old), newer, state.target)
        info = {"loss": error, "mean_q": mean_q, "td_error": each}
        return DQNState(params, target, optimiser, updates, state.average), info

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

    def advance(key: Key, state: DQNState) -> DQNState:
        return state._replace(average=nearer(state.average, state.params, how.average_rate))

    agent = Agent(init, act, greedy, value, update, q, target)
    if how.average_rate == 0:
        return agent

    def averaged(function: Callable[..., Array], at: int) -> Callable[..., Array]:
        def on_average(*given: Any) -> Array:
            state = given[at]._replace(params=given[at].average)
            return function(*given[:at], state, *given[at + 1 :])

        return on_average

    shown = agent._replace(
        act=averaged(act, 1), greedy=averaged(greedy, 0), value=averaged(value, 0), q=averaged(q, 0)
    )
    return agent._replace(advance=advance, shown=shown)


def nearer(old: Any, new: Any, rate: float) -> Any:
    """The parameters `old`, moved towards `new` by a share of the difference."""
    return jax.tree.map(lambda x, y: x + rate * (y - x), old, new)


def cut(gradient: Any, longest: float) -> Any:
    """The gradient, or as much of it as is not longer than this."""
    square = sum(jnp.sum(jnp.square(x)) for x in jax.tree.leaves(gradient))
    # Spelt out, so that no rounding depends on how XLA would divide.
    share = longest * jax.lax.rsqrt(jnp.maximum(square, 1e-30))
    share = jnp.minimum(1.0, share)
    return jax.tree.map(lambda x: share * x, gradient)
