"""A store in object storage, for workers that share no disk: s3://bucket/name, through fsspec.

Small files are read and written there directly; cells and checkpoints are written into a folder of
this process first, and copied.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hcdyna.settings.errors import NotWritten, words_of
from hcdyna.settings.fields import path_of
from hcdyna.sweeps.extras import needed
from hcdyna.sweeps.places import Folder


def place_of(name: str | Path) -> Place:
    """The folder or bucket of this name."""
    scheme, mark, rest = str(name).partition("://")
    if mark and scheme != "file":
        return Bucket(str(name))
    return Folder(path_of(rest if mark else name))


class Bucket:
    """Files by names such as "leases/abc.1", below an address."""

    def __init__(self, address: str) -> None:
        fsspec = needed("fsspec", address)
        with answered(address):
            self.files, self.base = fsspec.url_to_fs(address.rstrip("/"))
        self.address = address
        self._scratch = tempfile.TemporaryDirectory(prefix="hcdyna-")
        self.root = Path(self._scratch.name)

    def __str__(self) -> str:
        return self.address

    def at(self, name: str) -> str:
        return f"{self.base}/{name}"

    def read(self, name: str) -> bytes | None:
        """The content of a file; None if there is none."""
        try:
            with answered(self.at(name)):
                return self.files.cat_file(self.at(name))
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes) -> None:
        """Write a file, or another content in place of the one that it had."""
        with answered(self.at(name)):
            self.files.pipe_file(self.at(name), content)

    def create(self, name: str, content: bytes) -> bool:
        """Whether the file was made here and now: of all who try at once, one is told so."""
        try:
            with answered(self.at(name)):
                self.files.pipe_file(self.at(name), content, mode="create")
        except FileExistsError:
            return False
        return True

    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder, in order."""
        try:
            with answered(self.at(folder)):
                self.files.invalidate_cache()
                found: list[Any] = self.files.ls(self.at(folder), detail=False)
        except FileNotFoundError:
            return []
        return sorted(name for path in found if (name := str(path).rpartition("/")[2]))

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with contextlib.suppress(FileNotFoundError), answered(self.at(name)):
            self.files.rm_file(self.at(name))

    def send(self, name: str) -> None:
        """Publish a file that was written below `root`."""
        self.write(name, (self.root / name).read_bytes())

    def fetch(self, name: str) -> None:
        """Have a file that was published below `root`."""
        path = self.root / name
        content = None if path.exists() else self.read(name)
        if content is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def checkpoints(self, task: str, number: int) -> Path:
        """A folder of this process for the checkpoints of a task, with the newest of those that
        holders before it have published."""
        mine = self.root / "unfinished" / f"{task}.{number}"
        for before in self._published(task):
            for name in self._below(before):
                content = self.read(f"{before}/{name}")
                if content is not None:
                    (mine / name).parent.mkdir(parents=True, exist_ok=True)
                    (mine / name).write_bytes(content)
            break
        return mine

    def keep_checkpoints(self, task: str, number: int) -> None:
        """Publish what was saved; what is there of holders before this one is removed."""
        mine, name = self.root / "unfinished" / f"{task}.{number}", f"unfinished/{task}.{number}"
        here = {str(path.relative_to(mine)) for path in mine.rglob("*") if path.is_file()}
        there = set(self._below(name))
        for each in sorted(here - there):  # files of a run never change
            self.write(f"{name}/{each}", (mine / each).read_bytes())
        for each in there - here:
            self.remove(f"{name}/{each}")
        for other in self._published(task):
            if other != name:
                self._remove_below(other)

    def forget_checkpoints(self, task: str) -> None:
        """Remove them: the task is done."""
        for name in self._published(task):
            self._remove_below(name)

    def _published(self, task: str) -> list[str]:
        """Folders of checkpoints, the newest first."""
        found = [x for x in self.names("unfinished") if x.rpartition(".")[0] == task]
        found.sort(key=lambda name: -int(name.rpartition(".")[2]))
        return [f"unfinished/{name}" for name in found]

    def _below(self, name: str) -> list[str]:
        try:
            with answered(self.at(name)):
                found: list[Any] = self.files.find(self.at(name))
        except FileNotFoundError:
            return []
        return [str(path).partition(f"{name}/")[2] for path in found]

    def _remove_below(self, name: str) -> None:
        for each in self._below(name):
            self.remove(f"{name}/{each}")
        with contextlib.suppress(Exception):  # some keep empty folders
            self.files.rmdir(self.at(name))

    def demand_writable(self) -> None:
        """Raise RunError in one line if nothing can be kept here."""
        self.write("writable", b"")


Place = Folder | Bucket
"""Where a store is."""


@contextlib.contextmanager
def answered(name: str) -> Iterator[None]:
    """What is in the way of reading or writing, in one line."""
    try:
        yield
    except (FileNotFoundError, FileExistsError):
        raise
    except Exception as error:  # each kind of storage has errors of its own
        raise NotWritten(f"{name}: can't be read or written: {words_of(error)}") from None
