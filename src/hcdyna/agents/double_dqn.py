"""Double DQN (van Hasselt et al., 2016), by default with a dueling network (Wang et al., 2016)."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from hcdyna.agents.dqn import OUTPUT_SCALE, q_learning, refuse_all_but_discrete_actions
from hcdyna.numerics.networks import Activation, Layer, Network, affine, affine_batch, mlp
from hcdyna.settings import check, check_hidden, number
from hcdyna.settings.fields import MOST
from hcdyna.types import Agent, Array, Spec


@dataclass(frozen=True)
class DoubleDQN:
    """Q-learning where the network chooses the next action, and its target says its worth."""

    learning_rate: float = number(1e-4, above=0)
    """Adam's step size."""
    hidden: tuple[int, ...] = (32, 32)
    """Units of each hidden layer."""
    activation: Activation = "relu"
    """Nonlinearity of the hidden layers."""
    target_period: int = number(1_000, at_least=1, at_most=MOST)
    """τ: Q′ ← Q every this many updates."""
    dueling: bool = True
    """Q = V + A − mean A, with V and A on the same hidden layers; off: a perceptron as in DQN."""

    def __post_init__(self) -> None:
        check(self)
        check_hidden(self)

    def build(self, spec: Spec) -> Agent:
        refuse_all_but_discrete_actions(spec, "double_dqn")
        actions, make = spec.num_actions or 0, dueling if self.dueling else mlp
        network = make((*spec.low.shape, *self.hidden, actions), self.activation, OUTPUT_SCALE)
        return q_learning(network, actions, self.learning_rate, self.target_period, double)


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
