"""All n planning updates of a time step in one kernel: `planning.plan` for our own DQN."""

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
    replayed, asked = batches.replayed, batches.rows
    updates, rows = replayed.reward.shape
    m, extra, fallback = 0, [], False
    if asked is not None:
        m, fallback = asked.states.shape[1], batches.simulated is not None
        choice = jnp.where(asked.explore, asked.random_action, GREEDY)
        if fallback:
            choice, rows = jnp.where(batches.simulated, choice, USE_FALLBACK), rows - m
        extra = [asked.states, asked.reward, asked.discount, asked.next_states, choice]
    name = target(
        "plan",
        SIMULATED=m,
        REPLAYED=rows,
        FALLBACK=int(fallback),
        PRECISE=int(precise()),
        **sizes(perceptron, env),
    )
    adam = state.optimiser
    moments = (adam.mean, adam.square, adam.power1, adam.power2)
    kept = (state.params, state.target, *moments, state.updates)
    scalar = jax.ShapeDtypeStruct((), jnp.float32)
    shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in jax.tree.leaves(kept)]
    call = jax.ffi.ffi_call(
        name,
        [*shapes, scalar, scalar],
        vmap_method="broadcast_all",
        input_output_aliases={i: i for i in range(len(shapes))},
    )
    found = call(
        *jax.tree.leaves(kept),
        jnp.asarray(perceptron.learning_rate, jnp.float32),
        jnp.asarray(updates if count is None else count, jnp.int32),
        replayed.obs,
        replayed.reward,
        replayed.discount,
        replayed.next_obs,
        replayed.action,
        *extra,
        target_period=np.int32(perceptron.target_period),
    )
    params, goal, mean, square, power1, power2, made = jax.tree.unflatten(
        jax.tree.structure(kept), found[:-2]
    )
    optimiser = adam._replace(mean=mean, square=square, power1=power1, power2=power2)
    state = state._replace(params=params, target=goal, optimiser=optimiser, updates=made)
    return state, {"loss": found[-2], "mean_q": found[-1]}
