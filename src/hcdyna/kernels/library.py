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
"""Programs may be compiled in several threads at once."""
REGISTERED: set[str] = set()
FAILED: dict[Path, str] = {}
"""Libraries that this process could not make or load, and why: it does not try again."""
MOST_SECONDS = 600
"""How long a compiler may take; it takes seconds."""


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
    if library in FAILED:
        raise CannotBuild(FAILED[library])
    if library.is_file() and not_private(library) is None:
        return library
    if note and sys.stderr is not None and sys.stderr.isatty():
        print(note, file=sys.stderr, flush=True)
    temporary = library.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
    try:
        problem = said_by([*command, "-o", str(temporary)], MOST_SECONDS)[1]
        if problem is None:
            os.chmod(temporary, 0o700)
            os.replace(temporary, library)
            return library
    except OSError as error:  # it left nothing, or the folder is gone
        problem = error.strerror or str(error)
    finally:
        temporary.unlink(missing_ok=True)
    FAILED[library] = f"{Path(command[0]).name} failed on a kernel: {problem}"
    raise CannotBuild(FAILED[library])


def said_by(command: Sequence[str], most_seconds: int) -> tuple[str, str | None]:
    """What a compiler prints, and in one line why it failed; None if it did not."""
    try:
        answer = subprocess.run(
            command,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            check=False,
            timeout=most_seconds,
        )
    except OSError as error:
        return "", error.strerror or str(error)
    except subprocess.TimeoutExpired:
        return "", f"it did not end in {most_seconds} seconds"
    if answer.returncode == 0:
        return answer.stdout, None
    lines = [line.strip() for line in answer.stderr.splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line] or lines[-1:]
    return answer.stdout, telling[0][:300] if telling else f"exit code {answer.returncode}"


def register(library: Path, kernel: str, platform: str) -> str:
    """The name under which JAX can call a kernel of a library."""
    name = f"hcdyna_{kernel}_{library.stem}"
    with LOCK:
        if name not in REGISTERED:
            if library in FAILED:
                raise CannotBuild(FAILED[library])
            try:
                function = getattr(ctypes.cdll.LoadLibrary(str(library)), f"hcdyna_{kernel}")
            except (OSError, AttributeError) as error:
                library.unlink(missing_ok=True)  # the next run compiles it afresh
                FAILED[library] = f"a kernel can't be loaded: {error}"
                raise CannotBuild(FAILED[library]) from None
            jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(function), platform=platform)
            REGISTERED.add(name)
    return name
