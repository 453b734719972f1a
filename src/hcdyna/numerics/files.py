"""Files that are there as a whole or not at all, and that notice when they were damaged."""

import contextlib
import fcntl
import os
import re
import secrets
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from hcdyna.settings.errors import NotWritten, RunError

CHECKSUM = "checksum"
"""The array of a file that holds the checksum of all the others."""
TEMPORARY = re.compile(r"^\..*\.(\d+)-[0-9a-f]{8}\.part$")
"""A file that is being written: its name, the process that writes it, and something random."""


def write(path: Path, content: bytes) -> None:
    """A file that is there as a whole or not at all; its folder is made."""
    with explained(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_with(path, lambda file: file.write(content))


def write_arrays(path: Path, arrays: dict[str, np.ndarray], run: str = "") -> None:
    """An .npz file with a checksum of its content and of the `run` that it belongs to."""
    total = {CHECKSUM: np.uint32(checksum(arrays, run))}
    write_with(path, lambda file: np.savez(file, **arrays, **total))  # type: ignore[arg-type]


def read_arrays(path: Path, run: str | None = None) -> dict[str, np.ndarray]:
    """All arrays of a file; RunError if it is damaged or belongs to another `run`. None: any run,
    and a file of before there were checksums, which zip's own have to do for."""
    if not path.is_file():  # a pipe in its place would never end
        raise RunError(f"{path}: no such file" if not path.exists() else f"{path}: not a file")
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
            if damaged is not None:
                raise RunError(f"{path}: {damaged} is damaged")
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, KeyError, EOFError, NotImplementedError, RuntimeError) as error:
        raise RunError(f"{path}: can't be read: {error}") from None
    except (zipfile.BadZipFile, zlib.error) as error:
        raise RunError(f"{path}: damaged: {error}") from None
    stored = arrays.pop(CHECKSUM, None)
    if run is not None and (stored is None or stored != checksum(arrays, run)):
        raise RunError(f"{path}: damaged, or of another run: its checksum is wrong")
    return arrays


def checksum(arrays: dict[str, np.ndarray], run: str) -> int:
    """CRC 32 of a run's name and of the names, types, shapes and numbers of some arrays."""
    total = zlib.crc32(run.encode())
    for name in sorted(arrays):
        x = np.asarray(arrays[name])
        total = zlib.crc32(f"{name} {x.dtype.str} {x.shape}".encode(), total)
        total = zlib.crc32(np.ascontiguousarray(x).reshape(-1).view(np.uint8), total)
    return total


def write_with(path: Path, content: Callable[[BinaryIO], Any]) -> None:
    """Write to another name, sync, and rename. What a killed process left there is removed. The
    other name is new for certain, so that no link that somebody planted is followed."""
    with explained(path.parent):
        if path.exists() and not path.is_file():  # renaming would put a file in place of a device
            what = "a folder" if path.is_dir() else "a device or pipe, and not a file"
            raise NotWritten(f"{path}: can't be written: it is {what}")
        remove_abandoned(path.parent, f".{path.name}.")
        temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(temporary, flags, 0o666)
        try:
            with open(descriptor, "wb") as file:
                content(file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def remove_abandoned(folder: Path, prefix: str = ".") -> None:
    """Remove the files that processes which are no more had begun to write."""
    for entry in os.scandir(folder):
        found = TEMPORARY.match(entry.name) if entry.name.startswith(prefix) else None
        if found and not is_alive(int(found[1])):
            Path(entry.path).unlink(missing_ok=True)


def is_alive(process: int) -> bool:
    """Whether there is such a process on this machine."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # of another user
        pass
    return True


@contextlib.contextmanager
def held(folder: Path, inner: tuple[str, ...] = ()) -> Iterator[None]:
    """Hold a folder for this process alone, however it ends; it and the `inner` ones are made. What
    killed processes had begun to write there is removed."""
    with explained(folder):
        for place in (folder, *(folder / name for name in inner)):
            place.mkdir(parents=True, exist_ok=True)
    with explained(folder / "lock"):
        lock = opened_lock(folder / "lock")
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunError(f"{folder}: another process is training this run") from None
        with explained(folder):
            for place in (folder, *(folder / name for name in inner)):
                remove_abandoned(place)
        yield


def opened_lock(path: Path) -> BinaryIO:
    """A file to hold; no link that somebody planted is followed, no pipe waited for."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | getattr(os, "O_NOFOLLOW", 0)
    return open(os.open(path, flags, 0o666), "rb+", buffering=0)


@contextlib.contextmanager
def explained(folder: Path) -> Iterator[None]:
    """A folder that can't be written, or a full disk, in one line."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise NotWritten(f"{folder}: can't be written: {reason}") from None
