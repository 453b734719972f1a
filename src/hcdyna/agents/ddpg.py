"""DDPG: a deterministic actor and its critic, with soft targets (Lillicrap et al., 2016).

The three improvements of TD3 (Fujimoto et al., 2018) are options, off by default: twin critics, a
delayed actor, target smoothing. So are more critics, and layer normalisation, for many updates.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from hcdyna.agents.dqn import OUTPUT_SCALE
from hcdyna.numerics import adam
from hcdyna.numerics.networks import Activation, mlp
from hcdyna.settings import check, check_hidden, later, number
from hcdyna.settings.errors import SettingsError
from hcdyna.types import Agent, Array, Info, Key, Spec, Transition

ASKED = 0x41534B
"""Sets the random numbers apart that decide which critics are asked."""


class Networks(NamedTuple):
    """The actor π_ψ, and one critic Q_θ or several."""

    actor: Any
    critics: tuple[Any, ...]


class DDPGState(NamedTuple):
    """The networks, their slow copies, Adam's moments, and the noise of the behaviour."""

    params: Networks
    target: Networks
    actor_optimiser: adam.AdamState
    critic_optimiser: adam.AdamState
    noise: Array
    """n [size], which the next real action is given"""
    updates: Array


@dataclass(frozen=True)
class DDPG:
    """Actor and critic on mini-batches, for continuous actions."""

    actor_learning_rate: float = number(1e-4, above=0)
    """Adam's step size for the actor."""
    critic_learning_rate: float = number(1e-3, above=0)
    """Adam's step size for the critic."""
    hidden: tuple[int, ...] = (32, 32)
    """Units of each hidden layer of either network."""
    activation: Activation = "relu"
    """Nonlinearity of the hidden layers."""
    target_rate: float = number(0.001, above=0, at_most=1)
    """τ: the targets follow by θ′ ← θ′ + τ(θ − θ′) on every update."""
    noise_memory: float = number(0.85, at_least=0, at_most=0.999)
    """n ← noise_memory·n + N(0, noise_scale²) on every real step; ε = 0 switches n off."""
    noise_scale: float = number(0.2, at_least=0)
    """Standard deviation of the new noise in n."""
    through_actor: bool = False
    """Climb ∇ₛQ(s, π(s)) through the actor; off: ∇ₛQ(s, a*) with a* = π(s) held fixed."""
    twin_critics: bool = False
    """Bootstrap from the lower of two critics; actor and value use the first."""
    actor_delay: int = number(1, at_least=1, at_most=1_000_000)
    """Update actor and targets once per this many updates of the critic."""
    target_smoothing: bool = False
    """Add noise to the action from which targets bootstrap."""
    smoothing_scale: float = number(0.2, at_least=0)
    """Standard deviation of the noise of target_smoothing."""
    smoothing_clip: float = number(0.5, at_least=0)
    """Largest absolute value of the noise of target_smoothing."""
    critics: int = later(2, before=2, at_least=2, at_most=100)
    """Number of twin critics; every update uses a random two of them (Chen et al., 2021)."""
    layer_norm: bool = later(False, before=False)
    """Layer normalisation in the critics, which stabilises many updates per step."""

    def __post_init__(self) -> None:
        check(self)
        check_hidden(self)

    def build(self, spec: Spec) -> Agent:
        if spec.action_size is None or spec.num_states is not None:
            raise SettingsError(
                f"agent = ddpg: {spec.name} has discrete actions or a discrete state space; "
                "ddpg needs continuous actions and continuous states"
            )
        size, d = spec.action_size, spec.low.shape[0]
        actor_network = mlp((d, *self.hidden, size), self.activation, OUTPUT_SCALE)
        critic_network = mlp(
            (d + size, *self.hidden, 1), self.activation, OUTPUT_SCALE, self.layer_norm
        )
        # What n has in the long run; it starts there, so that no step is special.
        deviation = self.noise_scale / jnp.sqrt(1.0 - self.noise_memory * self.noise_memory)

        def init(key: Key) -> DDPGState:
            actor_key, critic_key, noise_key, _ = jax.random.split(key, 4)
            critic_keys = jax.random.split(critic_key, self.critics if self.twin_critics else 1)
            params = Networks(
                actor_network.init(actor_key), tuple(critic_network.init(k) for k in critic_keys)
            )
            return DDPGState(
                params=params,
                target=jax.tree.map(jnp.copy, params),
                actor_optimiser=adam.init(params.actor),
                critic_optimiser=adam.init(params.critics),
                noise=deviation * jax.random.normal(noise_key, (size,)),
                updates=jnp.zeros((), jnp.int32),
            )

        def policy(actor: Any, obs: Array) -> Array:
            """π(s) [b, size] of obs [b, d]."""
            return jnp.tanh(actor_network.on_batch(actor, obs))

        def q(critic: Any, obs: Array, action: Array) -> Array:
            """Q(s, a) [b] of obs [b, d] and action [b, size]."""
            return critic_network.on_batch(critic, jnp.concatenate([obs, action], -1))[:, 0]

        def goal(key: Key, state: DDPGState, batch: Transition) -> Array:
            """r + γQ′(s′, π′(s′)) [b], where two critics by the lower of them."""
            action = policy(state.target.actor, batch.next_obs)
            if self.target_smoothing:
                noise = self.smoothing_scale * jax.random.normal(key, action.shape)
                noise = jnp.clip(noise, -self.smoothing_clip, self.smoothing_clip)
                action = jnp.clip(action + noise, -1.0, 1.0)
            next_q = [q(critic, batch.next_obs, action) for critic in state.target.critics]
            if len(next_q) > 2:
                two = jax.random.permutation(jax.random.fold_in(key, ASKED), len(next_q))[:2]
                next_q = list(jnp.stack(next_q)[two])
            lowest = jnp.minimum(*next_q) if self.twin_critics else next_q[0]
            return batch.reward + batch.discount * lowest

        def critic_loss(
            critics: Any, goal: Array, batch: Transition, weight: Array | None
        ) -> tuple[Array, tuple[Array, Array]]:
            chosen = [q(critic, batch.obs, batch.action) for critic in critics]
            squares = [jnp.square(goal - each) for each in chosen]
            errors = [jnp.mean(each if weight is None else weight * each) for each in squares]
            return sum(errors[1:], errors[0]), (jnp.mean(chosen[0]), goal - chosen[0])

        def actor_loss(actor: Any, critic: Any, obs: Array) -> Array:
            return -jnp.mean(q(critic, obs, policy(actor, obs)))

        def update(
            key: Key, state: DDPGState, batch: Transition, weight: Array | None
        ) -> tuple[DDPGState, Info]:
            (error, (mean_q, each)), gradient = jax.value_and_grad(critic_loss, has_aux=True)(
                state.params.critics, goal(key, state, batch), batch, weight
            )
            critics, critic_optimiser = adam.update(
                gradient, state.critic_optimiser, state.params.critics, self.critic_learning_rate
            )
            gradient = jax.grad(actor_loss)(state.params.actor, critics[0], batch.obs)
            actor, actor_optimiser = adam.update(
                gradient, state.actor_optimiser, state.params.actor, self.actor_learning_rate
            )
            target = jax.tree.map(
                lambda old, new: old + self.target_rate * (new - old),
                state.target,
                Networks(actor, critics),
            )
            updates = state.updates + 1
            if self.actor_delay > 1:
                due = updates % self.actor_delay == 0
                actor, actor_optimiser, target = jax.tree.map(
                    lambda new, old: jnp.where(due, new, old),
                    (actor, actor_optimiser, target),
                    (state.params.actor, state.actor_optimiser, state.target),
                )
            state = state._replace(
                params=Networks(actor, critics),
                target=target,
                actor_optimiser=actor_optimiser,
                critic_optimiser=critic_optimiser,
                updates=updates,
            )
            return state, {"loss": error, "mean_q": mean_q, "td_error": each}

        def greedy(state: DDPGState, obs: Array) -> Array:
            return jnp.tanh(actor_network.apply(state.params.actor, obs))

        def act(key: Key, state: DDPGState, obs: Array, epsilon: Array | float) -> Array:
            noise = jnp.where(jnp.asarray(epsilon) > 0, state.noise, 0.0)
            return jnp.clip(greedy(state, obs) + noise, -1.0, 1.0)

        def explore(state: DDPGState, obs: Array, normal: Array) -> Array:
            return jnp.clip(greedy(state, obs) + deviation * normal, -1.0, 1.0)

        def advance(key: Key, state: DDPGState) -> DDPGState:
            new = self.noise_scale * jax.random.normal(key, (size,))
            return state._replace(noise=self.noise_memory * state.noise + new)

        def value(state: DDPGState, obs: Array) -> Array:
            action = greedy(state, obs)
            if not self.through_actor:
                action = jax.lax.stop_gradient(action)
            return q_of(state, obs, action)

        def q_of(state: DDPGState, obs: Array, action: Array) -> Array:
            pair = jnp.concatenate([obs, action])
            return critic_network.apply(state.params.critics[0], pair)[0]

        def target(state: DDPGState, obs: Array) -> Array:
            action = jnp.tanh(actor_network.apply(state.target.actor, obs))
            pair = jnp.concatenate([obs, action])
            return critic_network.apply(state.target.critics[0], pair)[0]

        return Agent(init, act, greedy, value, update, q_of, target, advance, explore)
