"""Folders of what can be made again, in the user's cache or else in the temporary folder.

What lies there is loaded and run: who can write there can run code as this user. So each belongs to
the user, and nobody else can write to it, or it is not used.
"""

import contextlib
import os
import stat
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path


class NoCache(Exception):
    """There is no folder that only this user can write to."""


def cache_folder(name: str) -> Path:
    """The folder for things of this kind; NoCache if there can be none."""
    reasons = []
    for base in _bases():
        try:
            base.parent.mkdir(parents=True, exist_ok=True)
            for folder in (base, base / name):
                with contextlib.suppress(FileExistsError):
                    folder.mkdir(mode=0o700)
                problem = not_private(folder)
                if problem is not None:
                    warnings.warn(f"{folder}: {problem}, so nothing is kept there", stacklevel=2)
                    raise NoCache(f"{folder}: {problem}")
            if not os.access(base / name, os.W_OK | os.X_OK):
                raise NoCache(f"{base / name}: can't be written")
            return base / name
        except (NoCache, OSError) as error:
            reasons.append(str(error))
    raise NoCache("; ".join(reasons) or "there is no folder for a cache")


def _bases() -> Iterator[Path]:
    given = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(given):  # others are to be ignored, by the standard that this is from
        yield Path(given) / "hcdyna"
    else:
        with contextlib.suppress(RuntimeError):  # a user without a home, or with "" for one
            if Path.home().is_absolute() and Path.home() != Path("/"):
                yield Path.home() / ".cache" / "hcdyna"
    with contextlib.suppress(OSError):  # no temporary folder either
        yield Path(tempfile.gettempdir()) / f"hcdyna-{os.getuid()}"


def not_private(path: Path) -> str | None:
    """Why somebody else could have a hand in a file or folder; None if only this user can."""
    try:
        link, there = path.lstat(), path.stat()
    except OSError as error:
        return error.strerror or str(error)
    if {link.st_uid, there.st_uid} != {os.getuid()}:
        return "belongs to another user"
    if there.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "can be written by other users (chmod go-w would mend that)"
    return None


def trim(folder: Path, most: int) -> None:
    """Remove files until those left have at most so many bytes; who was used last stays."""
    found = []
    for path in folder.iterdir():
        with contextlib.suppress(OSError):  # another process may be trimming too
            about = path.stat()
            found.append((max(about.st_atime, about.st_mtime), about.st_size, path))
    total = 0
    for _, size, path in sorted(found, reverse=True):
        total += size
        if total > most:
            with contextlib.suppress(OSError):
                path.unlink()
