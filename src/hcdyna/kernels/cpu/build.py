"""Compile the C++ sources for the processor of this machine and the sizes of a network."""

import functools
import os
import platform
import shutil
from pathlib import Path

import jax

from hcdyna.kernels.library import CannotBuild, kept, register, said_by
from hcdyna.numerics.devices import start

FOLDER = Path(__file__).parent
HEADERS = ("call.h", "vectors.h", "network.h")
COMPILERS = ("c++", "g++", "clang++")
FLAGS = (
    "-O3", "-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden", "-w",
    "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast",
)  # fmt: skip
"""Fused multiply-adds, but nothing that would take a number for finite that is not."""


def compiler() -> tuple[str, str]:
    """The path and version of the first C++ compiler that the search path offers."""
    found = look_for_compiler(os.environ.get("PATH", os.defpath))
    if isinstance(found, str):
        raise CannotBuild(f"no C++ compiler was found ({found})")
    return found


@functools.cache
def look_for_compiler(search_path: str) -> tuple[str, str] | str:
    """The same, or what was tried."""
    problems = []
    for name in COMPILERS:
        path = shutil.which(name, path=search_path)
        if path is not None:
            version, problem = said_by([path, "--version"], most_seconds=20)
            if problem is None:
                return path, version
            problems.append(f"{name}: {problem}")
    return "; ".join(problems) or ", ".join(COMPILERS)


@functools.cache
def processor() -> str:
    """What the compiler's own choice of instructions depends on, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    telling = ("model name", "flags", "Features", "CPU part", "CPU implementer")
    return "\n".join(dict.fromkeys(line for line in lines if line.startswith(telling)))


def for_this_processor() -> tuple[str, ...]:
    """Flags for all instructions that the processor has, as wide as they come."""
    if platform.machine() in ("x86_64", "AMD64"):
        return ("-march=native", "-mprefer-vector-width=512")
    return ("-mcpu=native",)


def why_not() -> str | None:
    """Why no kernel can be used on this machine at all; None if some can."""
    start()
    if jax.default_backend() != "cpu":
        return "JAX does not run on a CPU"
    try:
        compiler()
    except CannotBuild as reason:
        return str(reason)
    return None


@functools.cache
def target(kernel: str, widths: tuple[int, ...], activation: str) -> str:
    """The name under which JAX can call a kernel compiled for such a network."""
    return register(compiled(widths, activation), kernel, "cpu")


@functools.cache
def generator() -> str:
    """The name under which JAX can call the generator of random numbers."""
    return register(library(["threefry.cc"], [], "random numbers"), "random", "cpu")


@functools.cache
def joint(kernel: str) -> str:
    """The name under which JAX can call a kernel that moves arrays."""
    return register(library(["joints.cc"], [], "packed arrays"), kernel, "cpu")


@functools.cache
def model_target(widths: tuple[int, ...], activation: str) -> str:
    """The name under which JAX can call the update of a learned model's network."""
    purpose = f"models of {'-'.join(map(str, widths))}"
    return register(library(["fit.cc"], macros_of(widths, activation), purpose), "fit", "cpu")


def compiled(widths: tuple[int, ...], activation: str) -> Path:
    """The library with all kernels for such an agent, compiled now unless it was before."""
    purpose = f"networks of {'-'.join(map(str, widths))}"
    return library(["climb.cc", "plan.cc"], macros_of(widths, activation), purpose)


def macros_of(widths: tuple[int, ...], activation: str) -> list[str]:
    """What the sources have to know of a network."""
    return [f"-DWIDTHS={','.join(map(str, widths))}", f"-DTANH={int(activation == 'tanh')}"]


def library(sources: list[str], macros: list[str], purpose: str) -> Path:
    """Some of the sources, compiled for this processor."""
    path, version = compiler()
    words = [*FLAGS, *for_this_processor(), *macros]
    places = [str(FOLDER / name) for name in sources]
    command = [path, *words, f"-I{jax.ffi.include_dir()}", *places]
    every = [FOLDER / name for name in (*HEADERS, *sources)]
    note = f"compiling kernels for {purpose} (kept for the next run)"
    return kept(command, every, [version, processor(), *words, *sources], note)
