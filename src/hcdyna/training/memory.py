"""How much memory a run needs, before anything is compiled."""

from __future__ import annotations

import os
from typing import Any

import jax
import numpy as np

from hcdyna.errors import SettingsError
from hcdyna.settings import Settings
from hcdyna.words import count

WORKSPACE = 300e6
"""Bytes that compiled programs take beside the state of the agents, roughly."""


def needed(shapes: Any) -> dict[str, int]:
    """Bytes by what takes them: replay, search-control, the rest."""
    dyna = shapes.dyna
    parts = {"replay": size(dyna.replay), "search-control": size(dyna.search_control)}
    return parts | {"the rest": size(shapes) - sum(parts.values())}


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


def summary(shapes: Any, agents: int) -> str:
    """One line for people."""
    parts = needed(shapes)
    listed = ", ".join(f"{name} {amount(number)}" for name, number in parts.items())
    return f"Memory: about {amount(sum(parts.values()))} for {count(agents, 'agent')} ({listed})"


def demand_enough(shapes: Any, settings: Settings, agents: int) -> None:
    """Raise SettingsError, naming what to lower, if the devices have less than the run needs."""
    parts, there = needed(shapes), available()
    total = sum(parts.values()) + WORKSPACE
    if there is None or total <= there:
        return
    largest = max(parts, key=lambda name: parts[name])
    queue_size = getattr(settings.search_control, "queue_size", None)
    advice = {
        "replay": f"training.replay_size = {settings.training.replay_size}",
        "search-control": f"search_control.queue_size = {queue_size}",
        "the rest": f"the number of agents, {agents}",
    }
    raise SettingsError(
        f"memory: about {amount(total)} for {count(agents, 'agent')}, "
        f"and {amount(there)} are free; "
        f"{largest} takes {amount(parts[largest])}: lower {advice[largest]}, or train fewer seeds"
    )


def amount(number: float) -> str:
    """Bytes in a readable unit."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= scale:
            return f"{number / scale:.3g} {unit}"
    return f"{number:.0f} bytes"
