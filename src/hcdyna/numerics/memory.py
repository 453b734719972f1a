"""How much memory there is, and how much a function will take before it is compiled."""

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np

from hcdyna.settings.errors import SettingsError
from hcdyna.settings.words import count

WORKSPACE = 300e6
"""Bytes that compiled programs take beside the state of the agents, roughly."""


def size(shapes: Any) -> int:
    """Bytes of all arrays of a structure."""
    return sum(int(np.prod(x.shape)) * x.dtype.itemsize for x in jax.tree.leaves(shapes))


def available() -> int | None:
    """Bytes that the devices have left, if that can be known."""
    devices = jax.devices()
    if devices[0].platform == "cpu":
        return free_memory()
    statistics = [device.memory_stats() or {} for device in devices]
    if not all("bytes_limit" in s for s in statistics):
        return None
    return sum(s["bytes_limit"] - s.get("bytes_in_use", 0) for s in statistics)


def free_memory() -> int | None:
    """Bytes of main memory that this process can have, by the machine and by its control group."""
    known = [free for free in (free_on_machine(), free_in_group()) if free is not None]
    return min(known, default=None)


def free_in_group() -> int | None:
    """What a container has left of its limit; files in memory make room when it is needed."""
    folder = Path("/sys/fs/cgroup")
    try:
        limit, used = (int((folder / f"memory.{x}").read_text()) for x in ("max", "current"))
        lines = (folder / "memory.stat").read_text().splitlines()
        files = int(dict(line.split() for line in lines)["inactive_file"])
    except (OSError, ValueError, KeyError):  # no such group, or no limit
        return None
    return limit - used + files


def free_on_machine() -> int | None:
    """Bytes of main memory that a new program can have."""
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return 1024 * int(line.split()[1])
    except OSError:
        pass
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def demand(parts: dict[str, int], there: int | None, advice: dict[str, str], agents: int) -> None:
    """Raise SettingsError if these parts do not fit into what is `there`."""
    total = sum(parts.values()) + WORKSPACE
    if there is None or total <= there:
        return
    largest = max(parts, key=lambda name: parts[name])
    raise SettingsError(
        f"memory: about {amount(total)} for {count(agents, 'agent')}, "
        f"and {amount(there)} are free; "
        f"{largest} takes {amount(parts[largest])}: lower {advice[largest]}, or train fewer seeds"
    )


def working(function: Any, *shapes: Any, in_place: Any = ()) -> int:
    """Bytes of what a function makes on the way, about as the compiler will need them.

    It was compared with what XLA says of twelve programs with large arrays of many kinds: arrays of
    the same shape share their memory, and twice the sum over shapes is seldom exceeded.
    """
    kept = {(x.shape, x.dtype) for x in jax.tree.leaves(in_place)}
    program = jax.make_jaxpr(function)(*shapes)
    made = {(x.shape, x.dtype) for x in arrays_of(program.jaxpr)} - kept
    return 2 * sum(math.prod(shape) * dtype.itemsize for shape, dtype in made)


def arrays_of(program: Any) -> Iterator[Any]:
    """Every array that a program makes, in loops and branches too."""
    for step in program.eqns:
        yield from (x.aval for x in step.outvars if hasattr(x.aval, "dtype"))
        for value in step.params.values():
            for inner in value if isinstance(value, tuple | list) else (value,):
                inner = getattr(inner, "jaxpr", inner)
                if hasattr(inner, "eqns"):
                    yield from arrays_of(inner)


def amount(number: float) -> str:
    """Bytes in a readable unit."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= scale:
            return f"{number / scale:.3g} {unit}"
    return f"{number:.0f} bytes"
