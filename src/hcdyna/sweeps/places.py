"""Where the files of a store lie: a folder. Each is there as a whole or not at all."""

import contextlib
import errno
import os
import secrets
import shutil
from pathlib import Path

from hcdyna.numerics.files import explained, write
from hcdyna.settings.errors import RunError

NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)
"""What file systems without hard links answer to one."""


class Folder:
    """Files by names such as "leases/abc.1", in a folder that machines may share."""

    def __init__(self, root: Path) -> None:
        self.root = root
        found = next(place for place in (root, *root.absolute().parents) if place.exists())
        if not found.is_dir():
            raise RunError(f"{root}: can't be a store: {found} is not a folder")

    def __str__(self) -> str:
        return str(self.root)

    @property
    def address(self) -> str:
        """Where it is, for processes that are in other folders."""
        return str(self.root.resolve())

    def read(self, name: str) -> bytes | None:
        """The content of a file; None if there is none."""
        try:
            return (self.root / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def write(self, name: str, content: bytes) -> None:
        """Write a file, or another content in place of the one that it had."""
        write(self.root / name, content)

    def create(self, name: str, content: bytes) -> bool:
        """Whether the file was made here and now: of all who try at once, one is told so."""
        path = self.root / name
        temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
        with explained(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                write_new(temporary, content)
                os.link(temporary, path)  # fails if it is there, and never shows half a file
            except FileExistsError:
                return False
            except OSError as error:
                if error.errno not in NO_LINKS:
                    raise
                return created(path, content)
            finally:
                temporary.unlink(missing_ok=True)
        return True

    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder, in order, without those being written."""
        try:
            return sorted(x for x in os.listdir(self.root / folder) if not x.startswith("."))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with contextlib.suppress(FileNotFoundError), explained(self.root / name):
            (self.root / name).unlink(missing_ok=True)

    def send(self, name: str) -> None:
        """Publish a file that was written below `root`: it is there."""

    def fetch(self, name: str) -> None:
        """Have a file that was published below `root`: it is there."""

    def checkpoints(self, task: str, number: int) -> Path:
        """The folder for the checkpoints of a task under the lease of this number. It takes over
        what holders before it have left, so that one which was only asleep can't write there."""
        mine = self.root / "unfinished" / f"{task}.{number}"
        for before in self._checkpoints(task):
            if before != mine:
                with contextlib.suppress(OSError):  # another one may be quicker
                    if mine.exists():
                        shutil.rmtree(before, ignore_errors=True)
                    else:
                        os.rename(before, mine)
        return mine

    def keep_checkpoints(self, task: str, number: int) -> None:
        """See to it that others find what was saved: they do."""

    def forget_checkpoints(self, task: str) -> None:
        """Remove them: the task is done."""
        for folder in self._checkpoints(task):
            shutil.rmtree(folder, ignore_errors=True)

    def _checkpoints(self, task: str) -> list[Path]:
        found = (self.root / "unfinished").glob(f"{task}.*")
        return sorted(found, key=lambda path: -int(path.suffix[1:] or 0))

    def demand_writable(self) -> None:
        """Raise RunError in one line if nothing can be kept here."""
        with explained(self.root):
            if not os.access(self.root, os.W_OK):
                raise OSError(errno.EROFS, "read-only, or not yours")


def write_new(path: Path, content: bytes) -> None:
    """A file that was not there before; FileExistsError if it was."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    with open(os.open(path, flags, 0o666), "wb") as file:
        file.write(content)


def created(path: Path, content: bytes) -> bool:
    """Whether `write_new` made the file."""
    try:
        write_new(path, content)
    except FileExistsError:
        return False
    return True
