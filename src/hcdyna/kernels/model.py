"""The network of a learned model on a GPU: a gradient step in one kernel, and what it answers to
many questions in another. `models.ensemble` is the reference."""

from typing import Any

import jax
import jax.numpy as jnp

from hcdyna.kernels.build import target, why_not
from hcdyna.kernels.fit import fit_by
from hcdyna.kernels.library import CannotBuild
from hcdyna.kernels.plan import precise
from hcdyna.kernels.sizes import HIDDEN
from hcdyna.models.fitting import Apply, Fit
from hcdyna.numerics.networks import Activation, mlp
from hcdyna.types import Array

MOST_INPUTS, MOST_OUTPUTS, MOST_ROWS = 15, 32, 160
"""More would not fit into the shared memory of a multiprocessor."""


def sizes_of(widths: tuple[int, ...], activation: str) -> dict[str, int] | None:
    """Macros that both kernels need; None where there is none for such a network."""
    inputs, *hidden, outputs = widths
    covered = len(hidden) == 2 and hidden[0] == hidden[1] and hidden[0] in HIDDEN
    if not covered or inputs > MOST_INPUTS or outputs > MOST_OUTPUTS or why_not() is not None:
        return None
    tanh = int(activation == "tanh")
    return {"STATE": inputs, "HIDDEN": hidden[0], "OUTPUTS": outputs, "TANH": tanh}


def fit_for(widths: tuple[int, ...], activation: str, rows: int) -> Fit | None:
    """The step for such a network and so many rows; None where there is no kernel."""
    sizes = sizes_of(widths, activation)
    if sizes is None or rows > MOST_ROWS:
        return None

    def name() -> str:
        return target("fit", ROWS=rows, PRECISE=int(precise()), **sizes)

    try:
        name()
    except CannotBuild:
        return None
    # Asked again when it is traced, since the precision may be another one then.
    return lambda *step: fit_by(name())(*step)


def apply_for(widths: tuple[int, ...], activation: Activation) -> Apply | None:
    """The network as a function that is fast for many questions; None where there is no kernel."""
    sizes = sizes_of(widths, activation)
    if sizes is None:
        return None
    try:
        name = target("answer", **sizes)
    except CannotBuild:
        return None
    return of_many(lambda params, questions: answers(name, params, questions), widths, activation)


def answers(name: str, params: Any, questions: Array) -> Array:
    """What the kernel of this name answers to questions [rows, in] → [rows, out]."""
    outputs = params[-1].bias.shape[-1]
    shape = jax.ShapeDtypeStruct((len(questions), outputs), jnp.float32)
    call = jax.ffi.ffi_call(name, shape, vmap_method="broadcast_all")
    return call(*jax.tree.leaves(params), questions)


def of_many(many: Apply, widths: tuple[int, ...], activation: Activation) -> Apply:
    """params, x [in] → y [out], which asks `many` (params, [rows, in] → [rows, out]) where it is
    mapped over questions of one network; derivatives are those of the plain network."""
    plain = mlp(widths, activation).apply

    @jax.custom_batching.custom_vmap
    def rows(params: Any, questions: Array) -> Array:
        return many(params, questions)

    @rows.def_vmap
    def more_rows(size: int, mapped: Any, params: Any, questions: Array) -> tuple[Array, bool]:
        if any(jax.tree.leaves(mapped[0])):
            return jax.vmap(many, axes_of(mapped))(params, questions), True
        flat = rows(params, questions.reshape(-1, questions.shape[-1]))
        return flat.reshape(size, -1, flat.shape[-1]), True

    @jax.custom_batching.custom_vmap
    def one(params: Any, question: Array) -> Array:
        return plain(params, question)

    @one.def_vmap
    def many_ones(size: int, mapped: Any, params: Any, questions: Array) -> tuple[Array, bool]:
        if any(jax.tree.leaves(mapped[0])):
            return jax.vmap(plain, axes_of(mapped))(params, questions), True
        return rows(params, questions), True

    @jax.custom_jvp
    def apply(params: Any, question: Array) -> Array:
        return one(params, question)

    @apply.defjvp
    def slope(at: Any, towards: Any) -> Any:
        return jax.jvp(plain, at, towards)

    return apply


def axes_of(mapped: Any) -> Any:
    """`in_axes` for what is mapped or not."""
    return jax.tree.map(lambda is_mapped: 0 if is_mapped else None, tuple(mapped))
