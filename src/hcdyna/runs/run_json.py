"""run.json: what a run was asked for, with a checksum, read with all suspicion."""

import json
import zlib
from pathlib import Path
from typing import Any

from hcdyna.numerics.files import write
from hcdyna.settings.errors import RunError

FORMAT = 2
"""1 had no checksums of its own; such runs can still be read and resumed."""


def exists(folder: Path) -> bool:
    """Whether there is a run in this folder."""
    try:
        return (folder / "run.json").is_file()
    except OSError as error:
        raise RunError(f"{folder}: can't be read: {error.strerror or error}") from None


def create(folder: Path, record: dict[str, Any]) -> dict[str, Any]:
    """Write the record of a run that begins, and return it with its format and checksum."""
    record = {"format": FORMAT} | record
    record |= {"checksum": checksum_of(record)}
    write(folder / "run.json", json.dumps(record, indent=1, ensure_ascii=False).encode())
    return record


def rewrite(folder: Path, record: dict[str, Any]) -> dict[str, Any]:
    """Write the changed record of a run, whose files stay its own, and return it."""
    if record["format"] > 1:
        record = {"run": record["checksum"]} | record
        record |= {"checksum": checksum_of(record)}
    write(folder / "run.json", json.dumps(record, indent=1, ensure_ascii=False).encode())
    return record


def read(folder: Path) -> dict[str, Any]:
    """The record of a run; ValueError, OSError or RecursionError if there is none."""
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    if not isinstance(record, dict) or record.get("format") not in range(1, FORMAT + 1):
        raise ValueError(f"its format is not one of 1 to {FORMAT}")
    if record["format"] > 1 and record.get("checksum") != checksum_of(record):
        raise ValueError("its checksum is wrong; it is damaged or was edited")
    settings, seeds = record.get("settings"), record.get("seeds")
    if not isinstance(settings, list) or not settings:
        raise ValueError("settings must be a list of at least one")
    if (
        not isinstance(seeds, list)
        or not seeds
        or not all(type(x) is int and 0 <= x < 2**32 for x in seeds)
    ):
        raise ValueError("seeds must be a list of whole numbers from 0 to 2³² − 1")
    if not isinstance(record.get("versions", {}), dict):
        raise ValueError("versions must be a table")
    changes = record.get("extended", [])
    if not isinstance(changes, list) or not all(
        isinstance(change, dict) and type(change.get("from")) is int for change in changes
    ):
        raise ValueError("extended must be a list of changes, each with a number of steps `from`")
    if not isinstance(record.get("run", ""), str):
        raise ValueError("run must be a checksum")
    return record


def checksum_of(record: dict[str, Any]) -> str:
    """CRC 32 of all of a record but its checksum."""
    rest = {key: value for key, value in record.items() if key != "checksum"}
    return f"{zlib.crc32(json.dumps(rest, sort_keys=True).encode()):08x}"
