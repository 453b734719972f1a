"""Compile a CUDA source for given sizes."""

import functools
import os
import shutil
from pathlib import Path

import jax

from hcdyna.kernels.library import CannotBuild, kept, register
from hcdyna.numerics.devices import start

FOLDER = Path(__file__).parent
SOURCES = (
    *("common.cuh", "warp.cuh", "frequency.cuh", "tensor.cuh", "network.cuh", "model.cuh"),
    *("buffers.cuh", "adam.cuh", "climb.cu", "look.cu", "plan.cu", "fit.cu", "answer.cu"),
)
FLAGS = ("-O3", "-std=c++17", "-shared", "-Xcompiler", "-fPIC", "-diag-suppress", "940,2473")
"""The last are warnings of XLA's own headers."""


def compiler() -> str:
    """The path of nvcc."""
    usual = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "bin" / "nvcc"
    found = shutil.which("nvcc") or (str(usual) if usual.is_file() else None)
    if found is None:
        raise CannotBuild("nvcc was not found, so the plain programs run")
    return found


@functools.lru_cache(maxsize=1)
def why_not() -> str | None:
    """Why no kernel can be used on this machine at all; None if some can."""
    start()
    if jax.default_backend() not in ("gpu", "cuda"):
        return "there is no CUDA device"
    try:
        compiler()
    except CannotBuild as reason:
        return str(reason)
    return None


@functools.cache
def target(kernel: str, **sizes: int) -> str:
    """The name under which JAX can call a kernel compiled for these sizes."""
    major, minor = jax.local_devices()[0].compute_capability.split(".")
    return register(compiled(kernel, f"sm_{major}{minor}", sizes), kernel, "CUDA")


def compiled(kernel: str, architecture: str, sizes: dict[str, int]) -> Path:
    """The shared library, compiled now unless it was before."""
    macros = [f"-D{name}={value}" for name, value in sorted(sizes.items())]
    words = [*FLAGS, f"-arch={architecture}", *macros]
    command = [compiler(), *words, f"-I{jax.ffi.include_dir()}", str(FOLDER / f"{kernel}.cu")]
    known_by = [kernel, compiler(), *words]
    return kept(command, [FOLDER / name for name in SOURCES], known_by)
