"""Parts as training has them: built inside a compiled program, alone and in a batch."""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.numerics.devices import compiler_options
from hcdyna.numerics.packing import raw
from hcdyna.numerics.rounding import WITHOUT_FUSED_MULTIPLY_ADD
from hcdyna.settings import Settings, Training, part_of, traced_numbers, with_numbers
from hcdyna.settings.errors import SettingsError, words_of
from hcdyna.testing.examples import FEW, ROWS
from hcdyna.types import Agent, Environment, Model, SearchControl

Numbers = dict[str, Any]
KINDS = {"agent": Agent, "model": Model, "search_control": SearchControl}
Make = Callable[[Numbers], Any]


def traced(choice: str, part: Any, env: Environment) -> tuple[Make, Numbers]:
    """numbers → what a part builds from them, and the numbers of its fields [FEW], all alike. What
    was built already has no numbers any more, and is taken as it is."""
    if not hasattr(part, "build"):
        return lambda numbers: part, {}
    settings = replace(Settings(training=Training(replay_size=ROWS)), **{choice: part})
    own = traced_numbers(settings).items()
    plain = {path: x for path, x in own if path.split(".")[0] in (choice, "training")}

    def make(numbers: Numbers) -> Any:
        return part_of(with_numbers(settings, numbers), choice, env)

    made = make(plain)  # here it may refuse the environment, with a SettingsError
    kind = KINDS[choice]
    assert isinstance(made, kind), f"build: a {type(made).__name__}, not a {kind.__name__}"
    return make, for_each({path: jnp.float32(x) for path, x in plain.items()})


def for_each(tree: Any) -> Any:
    """Arrays [FEW, …], one for each of the agents in a batch: what they shared would be multiplied
    all at once, and so be rounded otherwise than in training."""
    return jax.tree.map(lambda x: jnp.stack([x] * FEW), tree)


def pure(function: Callable, args: tuple, what: str) -> Any:
    """vmap(function)(args), after checking that it does not depend on who else is in the batch, on
    being compiled, or on being called before. Of (result, info) only the result must be the same to
    the last bit."""
    traces = []

    def counted(*one: Any) -> Any:
        traces.append(1)
        return function(*one)

    options = compiler_options()
    try:
        together = jax.jit(jax.vmap(function), compiler_options=options)(*args)
    except jax.errors.JAXTypeError as error:
        raise AssertionError(
            f"{what}: can't be compiled: it looks at the value of something traced, by `if`, "
            "float() or NumPy; use jax.numpy, or declare the field number(…, static=True); in "
            "`build`, make what must be known beforehand with NumPy alone"
        ) from error
    except SettingsError:
        raise
    except (TypeError, ValueError, AttributeError) as error:
        raise AssertionError(f"{what}: {words_of(error)}") from error
    alone = jax.jit(jax.vmap(counted), compiler_options=options)
    for i in range(FEW):
        one, expected = (jax.tree.map(lambda x, i=i: x[i : i + 1], t) for t in (args, together))
        agree(alone(*one), expected, f"{what}: alone and in a batch", same_bits=True)
    one, expected = (jax.tree.map(lambda x: x[0], tree) for tree in (one, expected))
    agree(function(*one), expected, f"{what}: jit = no jit")
    assert len(traces) == 1, f"{what}: traced {len(traces)} times for the same shapes"
    return together


def agree(a: Any, b: Any, what: str, same_bits: bool = False) -> None:
    """Raise AssertionError, in one line, unless two structures are equal, or nearly so."""
    if isinstance(a, tuple) and len(a) == 2 and isinstance(a[1], dict):
        agree(a[1], b[1], what)
        a, b = a[0], b[0]
    # Other processors, and those that the user chose instructions for, may round as they like.
    exact = same_bits and WITHOUT_FUSED_MULTIPLY_ADD in os.environ.get("XLA_FLAGS", "")
    exact = exact and jax.default_backend() == "cpu"
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        x, y = np.asarray(raw(x)), np.asarray(raw(y))
        assert x.shape == y.shape, f"{what}: {x.shape}, not {y.shape}"
        near = (0.0, 0.0) if exact else (2e-4, 2e-5)
        equal = np.allclose(x, y, *near, equal_nan=True)
        assert equal, f"{what}: differs by {np.max(np.abs(x.astype(float) - y)):.2g}"


def same_shape(a: Any, b: Any, what: str) -> None:
    """Raise AssertionError unless two arrays have one shape and type."""
    (shape, dtype), (right, kind) = ((jnp.shape(x), jnp.result_type(x)) for x in (a, b))
    assert (shape, dtype) == (right, kind), f"{what}: {shape} {dtype}, not {right} {kind}"


def same_structure(after: Any, before: Any) -> None:
    """Raise AssertionError unless a state has kept its structure, shapes and types."""
    trees = (str(jax.tree.structure(tree)) for tree in (after, before))
    assert len(set(trees)) == 1, "update keeps the structure of the state"
    for old, new in zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True):
        assert (old.shape, old.dtype) == (new.shape, new.dtype), "update keeps shapes and types"
