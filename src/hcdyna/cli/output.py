"""Standard output, which may end before the command does.

A disk is full, a reader such as `head` has seen enough, a terminal is gone. Where the output is all
that a command makes, that is its end; where it makes files, it finishes them without a word.
"""

import contextlib
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

from hcdyna.settings.errors import RunError


class HelpShown(Exception):
    """The user asked for help, and has it."""


class ReaderGone(Exception):
    """Who reads our output has seen enough."""


class Output:
    """A stream in place of `sys.stdout`; `needed` says that the output is all there is to get."""

    def __init__(self, stream: Any, needed: bool) -> None:
        if stream is None and needed:
            raise RunError("standard output: is closed")
        self.stream: Any = open(os.devnull, "w") if stream is None else stream  # noqa: SIM115
        self.needed = needed
        if hasattr(self.stream, "reconfigure"):  # a name of a file need not be printable
            self.stream.reconfigure(errors="backslashreplace")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        with self.guarded():
            self.stream.write(text)
        return len(text)

    def flush(self) -> None:
        with self.guarded():
            self.stream.flush()

    @contextlib.contextmanager
    def guarded(self) -> Iterator[None]:
        """Turn the end of the stream into silence, or into an error of ours."""
        try:
            yield
        except BrokenPipeError:
            self.mute()
            if self.needed:
                raise ReaderGone from None
        except OSError as error:
            self.mute()
            reason = f"standard output: can't be written: {error.strerror or error}"
            if self.needed:
                raise RunError(reason) from None
            say(f"hcdyna: warning: {reason}")

    def mute(self) -> None:
        """Send what comes, and what waits in the buffer until Python ends, to nowhere."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.stream.fileno())
        os.close(nowhere)


class Paragraphs:
    """A stream in place of `sys.stdout` that breaks long lines of prose between words; tyro breaks
    those in its boxes, but prints the description of a command as it comes."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        width = shutil.get_terminal_size().columns
        self.stream.write("\n".join(wrapped(line, width) for line in text.split("\n")))
        return len(text)


def wrapped(line: str, width: int) -> str:
    """Prose in lines of at most `width` characters; a line with colours or of a box as it is."""
    if len(line) <= width or not line[0].isalpha():
        return line
    return textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False)


def say(message: str) -> None:
    """One line to standard error, if there is one."""
    if sys.stderr is None:
        return
    line = " ".join(message.split()).encode(errors="backslashreplace").decode()
    with contextlib.suppress(OSError):
        print(line, file=sys.stderr, flush=True)


def show(*things: Any) -> None:
    """Tables and lines as they are: a name in brackets is a name, not markup."""
    from rich.console import Console

    console = Console(width=100, markup=False, emoji=False)
    for thing in things:
        if isinstance(thing, str):
            print(thing, flush=True)  # a path must stay in one piece
        else:
            console.print(thing)
