"""What is packed comes out again, bit for bit, by XLA's operators and by the kernel."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna.kernels.cpu import build, joints
from hcdyna.numerics.packing import LARGE, PLAIN, Packing, raw

ODD = np.array([0x7FC12345, 0x80000000, 0x00000001, 0xFF800000], np.uint32).view(np.float32)
"""A NaN with a payload, −0, the smallest number there is, −∞."""
CAN_BUILD = pytest.mark.skipif(build.why_not() is not None, reason="there is no compiler")
WAYS = [
    pytest.param(lambda: PLAIN, id="plain"),
    pytest.param(joints.quick_joints, marks=CAN_BUILD, id="kernel"),
]


def tree_of(agent):
    """Arrays of all types that a life has, one without an element and one that stays apart."""
    return {
        "key": jax.random.key(agent),
        "odd": ODD + jnp.float32(0),
        "weights": jnp.arange(12.0).reshape(3, 4) + agent,
        "none": jnp.zeros((0, 3)),
        "step": jnp.int32(-7) - agent,
        "flags": jnp.array([True, False, True]),
        "large": jnp.full(LARGE + 1, agent, jnp.float32),
    }


def same_bits(a, b):
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return all(np.asarray(raw(x)).tobytes() == np.asarray(raw(y)).tobytes() for x, y in pairs)


@pytest.mark.parametrize("way", WAYS)
def test_a_tree_comes_out_as_it_went_in_alone_and_in_a_batch(way):
    packing = Packing(jax.eval_shape(tree_of, 0), way())
    pack, unpack = jax.jit(packing.pack), jax.jit(packing.unpack)
    assert same_bits(unpack(pack(tree_of(3))), tree_of(3))
    every = jax.vmap(tree_of)(jnp.arange(3))
    packed = jax.jit(jax.vmap(packing.pack))(every)
    assert same_bits(jax.jit(jax.vmap(packing.unpack))(packed), every)
    assert same_bits(jax.tree.map(lambda x: x[2], packed), pack(tree_of(2)))


@CAN_BUILD
def test_the_kernel_takes_one_vector_for_all_types_of_four_bytes_and_one_call():
    packing = Packing(jax.eval_shape(tree_of, 0), joints.quick_joints())
    packed = jax.eval_shape(packing.pack, tree_of(0))
    assert [x.dtype for x in packed.vectors] == [bool, jnp.uint32]
    assert str(jax.make_jaxpr(packing.unpack)(packed)).count("ffi_call[") == 1


def test_without_a_compiler_it_is_xla_that_packs(monkeypatch):
    monkeypatch.setattr(build, "why_not", lambda: "there is no compiler")
    assert joints.quick_joints.__wrapped__() is PLAIN
