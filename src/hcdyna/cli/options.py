"""Options from dataclasses, with errors of one line."""

from __future__ import annotations

import contextlib
import inspect
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import tyro

from hcdyna.errors import SettingsError
from hcdyna.hints import nearest

RunFolder = Annotated[
    Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN", help="The folder of a run.")
]
"""A run folder, as the first word behind the command."""
RunFolders = Annotated[
    tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN …", help="Folders of runs.")
]
"""Some run folders."""


def parse(kind: type, arguments: Sequence[str], command: str) -> Any:
    """An object of a dataclass; its docstring is the description of the command."""

    def read(words: Sequence[str]) -> Any:
        program, text = f"hcdyna {command}", inspect.getdoc(kind)
        return tyro.cli(kind, args=list(words), prog=program, description=text)

    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            return read(arguments)
    except SystemExit as stop:
        if not stop.code:
            raise
    message = in_one_line(complaint.getvalue())
    known = io.StringIO()
    with contextlib.redirect_stdout(known), contextlib.suppress(SystemExit):
        read(["--help"])
    unknown = unknown_option(arguments, re.findall(r"--[\w.-]*\w", known.getvalue()))
    raise SettingsError(f"{command}: {unknown or message}")


def unknown_option(arguments: Sequence[str], known: list[str]) -> str | None:
    """What to say to the first option that does not exist, if there is one."""
    for word in arguments:
        name = word.partition("=")[0].replace("_", "-")
        if name.startswith("--") and name not in known:
            near = nearest(name, known)
            hint = f"did you mean {near}?" if near else "--help lists those there are"
            return f"unknown option {name}: {hint}"
    return None


def in_one_line(box: str) -> str:
    """The message in one of tyro's boxes: all up to its first rule."""
    lines: list[str] = []
    for line in re.sub(r"\x1b\[[0-9;]*m", "", box).splitlines():
        text = line.strip().strip("│╭╮╰╯").strip()
        if text and set(text) <= {"─"}:
            if lines:
                break
        elif not line.strip().startswith(("╭", "╰")):
            lines.append(text)
    message = " ".join(" ".join(lines).split())
    message = re.sub(r"^Error parsing \w+[-_]options: ", "", message)
    return message or "these options can't be understood"
