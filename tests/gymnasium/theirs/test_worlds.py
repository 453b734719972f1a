"""What a step on the host is checked for, and how much is handed over for it."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna import Settings, Training
from hcdyna.gymnasium.theirs.worlds import is_finite
from hcdyna.kernels.cpu import build
from hcdyna.training.compiled import shared_program
from hcdyna.training.hosted_steps import init
from hcdyna.training.packed_steps import PackedSteps, PackedTests


@pytest.mark.parametrize(
    ("numbers", "kind", "finite"),
    [
        ([0.0, -1.0], np.float32, True),
        ([3e38, -3e38], np.float32, True),  # their squares are not
        ([1.0, np.inf], np.float32, False),
        ([np.nan, 1.0], np.float32, False),
        ([-1e39, 1.0], np.float64, False),  # not in float32
        ([3e38, 1e-300], np.float64, True),
        ([6e4, -6e4], np.float16, True),
        ([np.inf, 1.0], np.float16, False),
        ([127, -128], np.int8, True),  # the sum of their squares is not in int8
        ([1, 0], np.bool_, True),
    ],
)
def test_observations_are_finite_in_float32(numbers, kind, finite):
    assert is_finite(np.array(numbers, kind)) is finite


@pytest.mark.skipif(build.why_not() is not None, reason="there is no compiler")
def test_few_arrays_are_handed_over():
    """Each costs the host time; a life with a learned model has over a hundred."""
    settings = Settings(
        environment="CartPole-v1", model="learned", training=Training(planning_steps=2)
    )
    static, numbers = shared_program([settings])
    known = {path: jnp.asarray(values, jnp.float32) for path, values in numbers.items()}
    life = jax.eval_shape(jax.vmap(partial(init, static)), jnp.zeros(1, int), known)
    assert len(jax.tree.leaves(life)) > 80
    steps, tests = PackedSteps(static, False, life, known), PackedTests(static, life, known)
    assert len(steps.packing.types) + sum(steps.packing.is_large) <= 10
    assert len(jax.tree.leaves(tests.begin.eval_shape(life, known, 0, 0))) == 1
