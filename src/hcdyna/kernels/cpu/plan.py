"""All n planning updates of a time step in one call: `planning.plan` for our own DQN."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.kernels.cpu.build import target
from hcdyna.kernels.cpu.coverage import widths
from hcdyna.kernels.plan import GREEDY, USE_FALLBACK
from hcdyna.types import Array, Environment, Info, Perceptron


def plan(
    perceptron: Perceptron, env: Environment, state: Any, batches: Any, count: Array | None = None
) -> tuple[Any, Info]:
    """New DQNState and info, from MiniBatches with discrete actions."""
    replayed, asked = batches.replayed, batches.rows
    fallback, simulated = batches.simulated is not None, []
    if asked is not None:
        choice = jnp.where(asked.explore, asked.random_action, GREEDY)
        if fallback:
            choice = jnp.where(batches.simulated, choice, USE_FALLBACK)
        simulated = [asked.states, asked.reward, asked.discount, asked.next_states, choice]
    adam = state.optimiser
    moments = (adam.mean, adam.square, adam.power1, adam.power2)
    kept = (state.params, state.target, *moments, state.updates)
    scalar = jax.ShapeDtypeStruct((), jnp.float32)
    shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in jax.tree.leaves(kept)]
    call = jax.ffi.ffi_call(
        target("plan", widths(perceptron, env), perceptron.activation),
        [*shapes, scalar, scalar],
        vmap_method="broadcast_all",
        input_output_aliases={i: i for i in range(len(shapes))},
    )
    found = call(
        *jax.tree.leaves(kept),
        jnp.asarray(perceptron.learning_rate, jnp.float32),
        jnp.asarray(perceptron.max_gradient, jnp.float32),
        jnp.asarray(perceptron.target_rate, jnp.float32),
        jnp.asarray(len(replayed.reward) if count is None else count, jnp.int32),
        replayed.obs,
        replayed.reward,
        replayed.discount,
        replayed.next_obs,
        replayed.action,
        *simulated,
        target_period=np.int32(perceptron.target_period),
        fallback=np.int32(fallback),
        double_q=np.int32(perceptron.double),
        huber=np.int32(perceptron.huber),
    )
    params, goal, mean, square, power1, power2, made = jax.tree.unflatten(
        jax.tree.structure(kept), found[:-2]
    )
    optimiser = adam._replace(mean=mean, square=square, power1=power1, power2=power2)
    state = state._replace(params=params, target=goal, optimiser=optimiser, updates=made)
    return state, {"loss": found[-2], "mean_q": found[-1]}
