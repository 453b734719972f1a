"""All n planning updates of a time step in one kernel: `planning.plan` for our own DQN."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.kernels.build import target
from hcdyna.kernels.sizes import sizes
from hcdyna.types import Array, Environment, Info, Perceptron

GREEDY, USE_FALLBACK = -1, -2
"""Choices of the kernel that are not actions."""


def precise() -> bool:
    """Whether products are to be taken in float32 rather than TF32: as JAX's own setting says."""
    precision = jax.config.values["jax_default_matmul_precision"]
    return precision in ("highest", "float32", "F32_F32_F32")


def plan(
    perceptron: Perceptron, env: Environment, state: Any, batches: Any, count: Array | None = None
) -> tuple[Any, Info]:
    """New DQNState and info, from MiniBatches with discrete actions."""
    updates, rows = batches.replayed.reward.shape
    m = 0 if batches.rows is None else batches.rows.states.shape[1]
    fallback = m > 0 and batches.simulated is not None
    how = {"SIMULATED": m, "REPLAYED": rows - m if fallback else rows, "FALLBACK": int(fallback)}
    name = target("plan", PRECISE=int(precise()), **how, **sizes(perceptron, env))
    numbers = [
        jnp.asarray(perceptron.learning_rate, jnp.float32),
        jnp.asarray(updates if count is None else count, jnp.int32),
    ]
    return call(name, state, batches, numbers, target_period=np.int32(perceptron.target_period))


def call(
    name: str, state: Any, batches: Any, numbers: Sequence[Array], **options: np.int32
) -> tuple[Any, Info]:
    """What the kernel of this name makes of a DQNState and MiniBatches; `numbers` and `options` are
    what it is told of the agent."""
    replayed, asked, simulated = batches.replayed, batches.rows, []
    if asked is not None:
        choice = jnp.where(asked.explore, asked.random_action, GREEDY)
        if batches.simulated is not None:
            choice = jnp.where(batches.simulated, choice, USE_FALLBACK)
        simulated = [asked.states, asked.reward, asked.discount, asked.next_states, choice]
    adam = state.optimiser
    moments = (adam.mean, adam.square, adam.power1, adam.power2)
    kept, structure = jax.tree.flatten((state.params, state.target, *moments, state.updates))
    scalar = jax.ShapeDtypeStruct((), jnp.float32)
    kernel = jax.ffi.ffi_call(
        name,
        [*(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in kept), scalar, scalar],
        vmap_method="broadcast_all",
        input_output_aliases={i: i for i in range(len(kept))},
    )
    rows = (replayed.obs, replayed.reward, replayed.discount, replayed.next_obs, replayed.action)
    *found, loss, mean_q = kernel(*kept, *numbers, *rows, *simulated, **options)
    params, goal, mean, square, power1, power2, made = jax.tree.unflatten(structure, found)
    optimiser = adam._replace(mean=mean, square=square, power1=power1, power2=power2)
    state = state._replace(params=params, target=goal, optimiser=optimiser, updates=made)
    return state, {"loss": loss, "mean_q": mean_q}
