"""Compile a CUDA source for given sizes, keep it on disk, and make it known to JAX."""

import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
import threading
from pathlib import Path

import jax

from hcdyna.numerics.caches import NoCache, cache_folder, not_private
from hcdyna.numerics.devices import start

FOLDER = Path(__file__).parent
SOURCES = ("common.cuh", "network.cuh", "climb.cu", "plan.cu")
FLAGS = ("-O3", "-std=c++17", "-shared", "-Xcompiler", "-fPIC", "-diag-suppress", "940,2473")
"""The last are warnings of XLA's own headers."""

LOCK = threading.Lock()
REGISTERED: set[str] = set()
"""Programs may be compiled in several threads at once."""


class CannotBuild(Exception):
    """There is no compiler, no such device, or the compiler failed: use the plain functions."""


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
    library = compiled(kernel, f"sm_{major}{minor}", sizes)
    name = f"hcdyna_{kernel}_{library.stem}"
    with LOCK:
        if name not in REGISTERED:
            function = getattr(ctypes.cdll.LoadLibrary(str(library)), f"hcdyna_{kernel}")
            jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(function), platform="CUDA")
            REGISTERED.add(name)
    return name


def compiled(kernel: str, architecture: str, sizes: dict[str, int]) -> Path:
    """The shared library, compiled now unless it was before."""
    macros = [f"-D{name}={value}" for name, value in sorted(sizes.items())]
    words = [*FLAGS, f"-arch={architecture}", *macros, f"-I{jax.ffi.include_dir()}"]
    digest = hashlib.sha256(" ".join([kernel, jax.__version__, *words]).encode())
    for name in SOURCES:
        digest.update((FOLDER / name).read_bytes())
    try:
        library = cache_folder("kernels") / f"{digest.hexdigest()[:20]}.so"
    except NoCache as reason:
        raise CannotBuild(f"compiled kernels can't be kept: {reason}") from None
    if library.is_file() and not_private(library) is None:
        return library
    temporary = library.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
    command = [compiler(), *words, str(FOLDER / f"{kernel}.cu"), "-o", str(temporary)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise CannotBuild(f"nvcc failed on {kernel}.cu: {answer.stderr.strip()[-2000:]}")
    os.chmod(temporary, 0o700)
    os.replace(temporary, library)
    return library
