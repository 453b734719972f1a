"""Compile sources into a shared library, keep it on disk, and make its functions known to JAX."""

import ctypes
import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

import jax

from hcdyna.numerics.caches import NoCache, cache_folder, not_private

LOCK = threading.Lock()
REGISTERED: set[str] = set()
"""Programs may be compiled in several threads at once."""


class CannotBuild(Exception):
    """There is no compiler, no such device, or the compiler failed: use the plain functions."""


def kept(
    command: Sequence[str], sources: Iterable[Path], known_by: Iterable[str], note: str = ""
) -> Path:
    """What `command` makes (it is given `-o` and a path), compiled now unless it was before.

    It was if the `sources` and all that it is `known_by` are the same, wherever they lie: programs
    that call a kernel are kept under its name. On a terminal, `note` is shown while the compiler
    runs.
    """
    digest = hashlib.sha256("\n".join([jax.__version__, *known_by]).encode())
    for path in sources:
        digest.update(path.read_bytes())
    try:
        library = cache_folder("kernels") / f"{digest.hexdigest()[:20]}.so"
    except NoCache as reason:
        raise CannotBuild(f"compiled kernels can't be kept: {reason}") from None
    if library.is_file() and not_private(library) is None:
        return library
    if note and sys.stderr is not None and sys.stderr.isatty():
        print(note, file=sys.stderr, flush=True)
    temporary = library.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
    answer = subprocess.run(
        [*command, "-o", str(temporary)], capture_output=True, text=True, check=False
    )
    if answer.returncode:
        name = Path(command[0]).name
        raise CannotBuild(f"{name} failed on a kernel: {answer.stderr.strip()[-2000:]}")
    os.chmod(temporary, 0o700)
    os.replace(temporary, library)
    return library


def register(library: Path, kernel: str, platform: str) -> str:
    """The name under which JAX can call a kernel of a library."""
    name = f"hcdyna_{kernel}_{library.stem}"
    with LOCK:
        if name not in REGISTERED:
            function = getattr(ctypes.cdll.LoadLibrary(str(library)), f"hcdyna_{kernel}")
            jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(function), platform=platform)
            REGISTERED.add(name)
    return name
