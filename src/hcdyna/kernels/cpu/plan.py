"""All n planning updates of a time step in one call: `planning.plan` for our own DQN."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from hcdyna.kernels.cpu.build import target
from hcdyna.kernels.cpu.coverage import widths
from hcdyna.kernels.plan import call
from hcdyna.types import Array, Environment, Info, Perceptron


def plan(
    perceptron: Perceptron, env: Environment, state: Any, batches: Any, count: Array | None = None
) -> tuple[Any, Info]:
    """New DQNState and info, from MiniBatches with discrete actions."""
    updates = len(batches.replayed.reward) if count is None else count
    numbers = [
        jnp.asarray(perceptron.learning_rate, jnp.float32),
        jnp.asarray(perceptron.max_gradient, jnp.float32),
        jnp.asarray(perceptron.target_rate, jnp.float32),
        jnp.asarray(updates, jnp.int32),
    ]
    return call(
        target("plan", widths(perceptron, env), perceptron.activation),
        state,
        batches,
        numbers,
        target_period=np.int32(perceptron.target_period),
        fallback=np.int32(batches.simulated is not None),
        double_q=np.int32(perceptron.double),
        huber=np.int32(perceptron.huber),
    )
