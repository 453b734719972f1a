"""The CUDA sources of climbs and looks do what the plain functions do, where there is no GPU: a C++
compiler takes them with a thread for each of the 32 lanes of a warp.

`benchmarks/kernels.py` compares the kernels themselves, on a GPU.
"""

import ctypes
import shutil
import subprocess
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna import DQN, Acrobot, CartPole, GridWorld
from hcdyna.kernels.build import FOLDER
from hcdyna.kernels.sizes import sizes
from hcdyna.numerics.networks import mlp
from hcdyna.search_control.climbing import climb_along
from hcdyna.search_control.frequency import ValueOrFrequency

WARP = Path(__file__).parent / "a_warp_on_threads.h"
AGENTS, STEPS = 4, 8
ENTRIES = """
extern "C" void run_climb(int agents, int steps, int most, const float** f, const bool* on_value,
                          float* states, bool* accepted) {
  Climb in{{f[0], f[1], f[2], f[3], f[4], f[5]}, f[6], f[7], f[8], f[9], f[10], f[11], f[12],
           states, accepted, steps, most, on_value};
  launch(agents, [=] { climb_kernel(in); });
}
extern "C" void run_look(int agents, const float** f, float* q, float* gradients) {
  Params params{f[0], f[1], f[2], f[3], f[4], f[5]};
  const float* states = f[6];
  launch(agents, [=] { look_kernel(params, states, q, gradients); });
}
"""
CASES = [
    (GridWorld(), 32, "tanh", True, True),
    pytest.param(Acrobot(), 32, "tanh", True, True, marks=pytest.mark.slow),
    pytest.param(CartPole(), 64, "tanh", True, False, marks=pytest.mark.slow),
    pytest.param(GridWorld(), 64, "relu", False, True, marks=pytest.mark.slow),
    pytest.param(Acrobot(), 32, "relu", True, False, marks=pytest.mark.slow),
]


def source() -> str:
    """Both kernels as C++, without what only CUDA and XLA know."""
    text = (FOLDER / "climb.cu").read_text().split("static ffi::Error")[0]
    text += (FOLDER / "look.cu").read_text().split("static ffi::Error")[0]
    for header in ("frequency.cuh", "warp.cuh", "common.cuh"):
        inside = (FOLDER / header).read_text().split("inline ffi::Error")[0]
        text = text.replace(f'#include "{header}"', inside, 1).replace(f'#include "{header}"', "")
    text = text.replace("#pragma once", "").replace("namespace ffi = xla::ffi;", "")
    text = text.replace('#include "xla/ffi/api/ffi.h"', "")
    text = text.replace("#include <cuda_runtime.h>", f'#include "{WARP}"')
    root = 'asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(found) : "f"(x));'
    assert root in text
    return text.replace(root, "found = 1.f / sqrtf(x);") + ENTRIES


def compiled(folder: Path, macros: dict[str, int]) -> ctypes.CDLL:
    """The kernels for some sizes."""
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler was found")
    (folder / "kernels.cc").write_text(source())
    words = [f"-D{name}={value}" for name, value in macros.items()]
    flags = ["-std=c++20", "-O1", "-shared", "-fPIC", "-pthread", "-Wno-unknown-pragmas"]
    library = folder / "kernels.so"
    command = [compiler, *flags, *words, "-o", str(library), str(folder / "kernels.cc")]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    if "barrier: No such file" in said.stderr:
        pytest.skip("the C++ compiler is older than C++20")
    assert said.returncode == 0, said.stderr[:2_000]
    return ctypes.CDLL(str(library))


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


@pytest.mark.parametrize(("environment", "width", "activation", "frequency", "normalise"), CASES)
def test_kernels_for_gpus_do_what_the_plain_functions_do(
    environment, width, activation, frequency, normalise, tmp_path
):
    env = environment.build()
    perceptron = DQN(hidden=(width, width), activation=activation).build(env.spec).perceptron
    given = sizes(perceptron, env)
    d, actions = given["STATE"], given["ACTIONS"]
    how = {"NORMALISE": int(normalise), "FREQUENCY": int(frequency), "PAIRS": env.project.pairs}
    library = compiled(tmp_path, given | how)

    size_of_a_step = 0.1 if normalise else 1e-3
    network, rng = mlp((d, width, width, actions), activation), np.random.default_rng(0)
    params = jax.vmap(network.init)(jax.random.split(jax.random.key(0), AGENTS))
    params = jax.tree.map(lambda x: x + 0.2 * rng.normal(size=x.shape).astype(np.float32), params)
    size = np.asarray(env.spec.high - env.spec.low)
    states = np.asarray(env.spec.low) + size * rng.uniform(size=(AGENTS, d))
    start = np.asarray(jax.vmap(env.project)(states.astype(np.float32)))
    mixing = 0.2 * size[:, None] * rng.normal(size=(AGENTS, d, d))
    covariance = (mixing @ mixing.transpose(0, 2, 1)).astype(np.float32)
    noise = 0.1 * rng.normal(size=(AGENTS, STEPS, d)) @ mixing.transpose(0, 2, 1)
    on_value = np.arange(AGENTS) % 2 == 0 if frequency else np.ones(AGENTS, bool)

    def plain(params, noise, start, covariance, on_value):
        value = partial(lambda params, obs: jnp.max(network.apply(params, obs)), params)
        return climb_along(
            noise,
            start,
            ValueOrFrequency(value, on_value),
            covariance=covariance,
            step_size=size_of_a_step,
            normalise=normalise,
            project=env.project,
            threshold=0.02,
            skip=None,
            max_accepted=5,
        )

    right = jax.vmap(plain)(params, noise.astype(np.float32), start, covariance, on_value)
    box = [np.broadcast_to(end, (AGENTS, d)) for end in (env.project.low, env.project.high)]
    numbers = [np.full(AGENTS, x) for x in (size_of_a_step, 0.02)]
    inputs = [*jax.tree.leaves(params), noise, start, covariance, *numbers, *box]
    inputs = [np.ascontiguousarray(x, np.float32) for x in inputs]
    pointers = (ctypes.c_void_p * len(inputs))(*[x.ctypes.data for x in inputs])
    found = np.zeros((AGENTS, STEPS, d), np.float32), np.zeros((AGENTS, STEPS), bool)
    library.run_climb(AGENTS, STEPS, 5, pointers, pointer(on_value), *map(pointer, found))
    np.testing.assert_allclose(found[0], right[0], atol=2e-5)
    np.testing.assert_array_equal(found[1], right[1])

    looks = np.zeros((AGENTS, actions), np.float32), np.zeros((AGENTS, d), np.float32)
    seen = (ctypes.c_void_p * 7)(*pointers[:6], start.ctypes.data)
    library.run_look(AGENTS, seen, *map(pointer, looks))
    q = jax.vmap(network.apply)(params, start)
    slope = jax.grad(lambda obs, params: jnp.max(network.apply(params, obs)))
    np.testing.assert_allclose(looks[0], q, atol=1e-5)
    np.testing.assert_allclose(looks[1], jax.vmap(slope)(start, params), atol=1e-5)
