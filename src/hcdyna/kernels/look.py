"""Q at one state, and the gradient of the largest, in one kernel."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from hcdyna.kernels.build import target
from hcdyna.kernels.sizes import sizes
from hcdyna.types import Array, Environment, Perceptron, Scene


def look(params: Any, obs: Array, perceptron: Perceptron, env: Environment) -> tuple[Array, Array]:
    """Q [actions] at obs [d], and the gradient [d] of V = max_a Q."""
    given = sizes(perceptron, env)
    shapes = tuple(
        jax.ShapeDtypeStruct((given[size],), jnp.float32) for size in ("ACTIONS", "STATE")
    )
    call = jax.ffi.ffi_call(target("look", **given), shapes, vmap_method="broadcast_all")
    q, gradient = call(*jax.tree.leaves(params), obs)
    return q, gradient


def quick_looks(scene: Scene, look: Callable[..., Any], state: Any, known: Perceptron) -> Scene:
    """The scene with V̂, its greedy action and V′ by one kernel each, where they are those of the
    agent as it was built."""

    @jax.custom_vjp
    def value(params: Any, obs: Array) -> Array:
        return jnp.max(look(params, obs, known, scene.env)[0])

    def forward(params: Any, obs: Array) -> tuple[Array, Array]:
        q, gradient = look(params, obs, known, scene.env)
        return jnp.max(q), gradient

    value.defvjp(forward, lambda gradient, weight: (None, weight * gradient))

    def greedy(obs: Array) -> Array:
        q, _ = look(state.params, obs, known, scene.env)
        return jnp.argmax(q).astype(jnp.int32)

    own_greedy, _, _, _, own_target = known.functions
    if getattr(scene.greedy, "func", None) is own_greedy:
        scene = scene._replace(greedy=greedy)
    if getattr(scene.target, "func", None) is own_target:
        scene = scene._replace(target=partial(value, state.target))
    return scene._replace(value=partial(value, state.params))
