"""All n planning updates of a time step in one kernel: `dyna.plan` for DQN with a perceptron."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.kernels.build import target
from hcdyna.kernels.surface import sizes
from hcdyna.types import Environment, Info, Perceptron, Transition


def plan(perceptron: Perceptron, env: Environment, state: Any, batches: Any) -> tuple[Any, Info]:
    """New DQNState and info, from MiniBatches, or a Transition [n, b, …] of replayed rows alone."""
    simulated = None if isinstance(batches, Transition) else batches
    replayed = batches if simulated is None else batches.replayed
    updates, rows = replayed.reward.shape
    extra: list[Any] = []
    if simulated is not None:
        extra = [
            simulated.states,
            simulated.reward,
            simulated.discount,
            simulated.next_states,
            simulated.explore,
            simulated.random_action,
        ]
    name = target(
        "plan",
        UPDATES=updates,
        REPLAYED=rows,
        SIMULATED=0 if simulated is None else simulated.states.shape[1],
        **sizes(perceptron, env),
    )
    adam = state.optimiser
    moments = (adam.mean, adam.square, adam.power1, adam.power2)
    kept = (state.params, state.target, *moments, state.updates)
    scalar = jax.ShapeDtypeStruct((), jnp.float32)
    shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in jax.tree.leaves(kept)]
    call = jax.ffi.ffi_call(name, [*shapes, scalar, scalar], vmap_method="broadcast_all")
    found = call(
        *jax.tree.leaves(kept),
        jnp.asarray(perceptron.learning_rate, jnp.float32),
        replayed.obs,
        replayed.reward,
        replayed.discount,
        replayed.next_obs,
        replayed.action,
        *extra,
        target_period=np.int32(perceptron.target_period),
    )
    params, goal, mean, square, power1, power2, count = jax.tree.unflatten(
        jax.tree.structure(kept), found[:-2]
    )
    optimiser = adam._replace(mean=mean, square=square, power1=power1, power2=power2)
    state = state._replace(params=params, target=goal, optimiser=optimiser, updates=count)
    return state, {"loss": found[-2], "mean_q": found[-1]}
