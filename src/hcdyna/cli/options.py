"""Options from dataclasses, with errors of one line."""

import contextlib
import inspect
import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import tyro

from hcdyna.cli.output import HelpShown, Paragraphs, ReaderGone
from hcdyna.settings.errors import RunError, SettingsError, words_of
from hcdyna.settings.fields import problems, shown
from hcdyna.settings.hints import did_you_mean

RunFolder = Annotated[
    Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN", help="The folder of a run.")
]
"""A run folder, as the first word behind the command."""
RunFolders = Annotated[
    tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN …", help="Folders of runs.")
]
"""One or more run folders."""


class Place(str):
    """Where a store is: a folder, or an address such as s3://bucket/name."""


def store_in(folder: Path) -> str | None:
    """The store of a sweep that a word names, where runs may be named, too; None if it is none.
    In a path, s3://bucket/name has become s3:/bucket/name."""
    if (folder / "store.json").is_file():
        return str(folder)
    scheme, mark, rest = str(folder).partition(":/")
    if not mark or not scheme.isalnum() or folder.exists():
        return None
    return f"{scheme}://{'/' if scheme == 'file' else ''}{rest}"


def demand_spare(out: Path) -> None:
    """Refuse a file that a run or store consists of: it can't be made again."""
    for folder in (out.parent, out.parent.parent):
        kept = any((folder / name).is_file() for name in ("run.json", "store.json"))
        if kept and out.exists() and out.suffix in (".json", ".npz", ".safetensors"):
            raise SettingsError(f"--out {out}: belongs to what is kept in {folder}; name another")


StoreName = Annotated[
    Place, tyro.conf.Positional, tyro.conf.arg(metavar="STORE", help="The store of a sweep.")
]
"""The store of a sweep, as the first word behind the command."""


REGISTRY = tyro.constructors.ConstructorRegistry()
"""How we read words otherwise than tyro does."""
LONGEST_NAME, LONGEST_PATH = 255, 4_095
"""Bytes that Linux and macOS allow in the name of a file, and in a path."""
KINDS = {"INT": "a whole number", "FLOAT": "a number"}
"""What tyro calls types, and what people do."""
LONGEST_MESSAGE = 400
"""Characters: it may repeat a word of the user's."""


class BadPath(Exception):
    """A word that no file can be called."""


@REGISTRY.primitive_rule
def whole_number(info: tyro.constructors.PrimitiveTypeInfo) -> Any:
    """1e5 is a whole number."""

    def read(words: list[str]) -> int:
        with contextlib.suppress(ValueError):
            return int(words[0])
        with contextlib.suppress(ValueError, OverflowError):
            if float(words[0]).is_integer():
                return int(float(words[0]))
        raise ValueError(f"{shown(words[0])} is not a whole number")

    return one_word(info, int, "INT", read)


@REGISTRY.primitive_rule
def path(info: tyro.constructors.PrimitiveTypeInfo) -> Any:
    """A path that a file can have; whether there is one is another question."""

    return one_word(info, Path, "PATH", lambda words: Path(possible(words[0])))


def possible(word: str) -> str:
    """The word, if a file or folder can be called so; BadPath if not."""
    name = os.fsencode(word)
    if not word or "\0" in word:
        raise BadPath(f"{word!r}: must be the name of a file or folder")
    longest = max(name.split(b"/"), key=len)
    if len(longest) > LONGEST_NAME or len(name) > LONGEST_PATH:
        raise BadPath(
            f"{shown(word)}: too long for a path: a name has at most {LONGEST_NAME} bytes, "
            f"and all together at most {LONGEST_PATH}"
        )
    return word


@REGISTRY.primitive_rule
def place(info: tyro.constructors.PrimitiveTypeInfo) -> Any:
    """The same for a store, which may have an address instead."""
    return one_word(info, Place, "STORE", lambda words: Place(possible(words[0])))


def one_word(info: tyro.constructors.PrimitiveTypeInfo, kind: type, name: str, read: Any) -> Any:
    """The rule for one type that is written as one word; None for others."""
    if info.type is not kind:
        return None
    return tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar=name,
        instance_from_str=read,
        is_instance=lambda value: isinstance(value, kind),
        str_from_instance=lambda value: [str(value)],
    )


def parse(
    kind: type, arguments: Sequence[str], command: str, hint: Callable[[str], str] = lambda name: ""
) -> Any:
    """An object of a dataclass; its docstring is the description of the command. `hint` may know
    more about an option that does not exist than which one is nearest."""

    def read(words: Sequence[str]) -> Any:
        text = inspect.getdoc(kind)
        return tyro.cli(
            kind,
            args=list(words),
            prog=f"hcdyna {command}",
            description=text,
            registry=REGISTRY,
            # A part that may be of several classes stays of the class that it has.
            config=(tyro.conf.AvoidSubcommands,),
        )

    complaint = io.StringIO()
    try:
        prose: Any = Paragraphs(sys.stdout)
        with contextlib.redirect_stderr(complaint), contextlib.redirect_stdout(prose):
            options = read(arguments)
    except BadPath as error:
        raise SettingsError(f"{command}: {error}") from None
    except SystemExit as stop:
        if not stop.code:
            raise HelpShown from None
    except (ReaderGone, RunError):  # of the output, while help is printed
        raise
    except Exception as error:  # of a class that is not ours
        raise SettingsError(f"{command}: {words_of(error)}") from error
    else:
        for field, value, problem in problems(options):
            if "bounds" in field.metadata:  # what else there is, tyro has checked
                flag = f"--{field.name.replace('_', '-')}"
                raise SettingsError(f"{command}: {flag} {shown(value)}: {problem}")
        return options
    message = in_one_line(complaint.getvalue())
    known = io.StringIO()
    with contextlib.redirect_stdout(known), contextlib.suppress(SystemExit):
        read(["--help"])
    # Not --search of "options of the strategy begin with --search.".
    options = re.findall(r"--[\w.-]*\w(?![\w.-])", known.getvalue())
    unknown = unknown_option(arguments, options, hint)
    raise SettingsError(f"{command}: {unknown or message}")


def unknown_option(
    arguments: Sequence[str], known: list[str], hint: Callable[[str], str]
) -> str | None:
    """What to say to the first option that does not exist, if there is one."""
    for word in arguments:
        name = word.partition("=")[0].replace("_", "-")
        if name.startswith("--") and name not in known:
            more = hint(name) or did_you_mean(name, known).strip() or "--help lists those there are"
            return f"unknown option {name}: {more}"
    return None


def in_one_line(box: str) -> str:
    """The message in one of tyro's boxes: all between its title and the next rule. Where the output
    is not in UTF-8, the title has a rule of its own and lines are dashes."""
    blocks: list[list[str]] = [[]]
    for line in re.sub(r"\x1b\[[0-9;]*m", "", box).splitlines():
        text = line.strip().strip("│╭╮╰╯").strip()
        if line.strip().startswith("╭") or (text and set(text) <= {"─", "-"}):
            blocks.append([])
        elif not line.strip().startswith("╰"):
            blocks[-1].append(text)
    message = " ".join(" ".join(blocks[min(1, len(blocks) - 1)]).split())
    message = re.sub(
        r"^Error parsing (([\w-]+[-_]options|training|evaluation)[\w.-]*: )?", "", message
    )
    message = message.partition(" Got errors:")[0]  # of each member of a union
    union = re.search(r"no type matching (\S+) could be instantiated from \[(.*)\]", message)
    if union:
        kinds = [KINDS.get(kind, kind) for kind in union[1].split("|") if kind != "{None}"]
        message = f"{message[: union.start()]}{union[2]} is not {' or '.join(kinds)}"
    message = re.sub(r"^Unrecognized options: (.*)", r"\1: belongs to no option", message)
    if len(message) > LONGEST_MESSAGE:
        message = f"{message[:LONGEST_MESSAGE]}…"
    return message or "these options can't be understood"
