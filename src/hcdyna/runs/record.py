"""What a result is worth nothing without: versions, device, commit and command line."""

import functools
import platform
import subprocess
import sys
import warnings
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax

from hcdyna.version import __version__

CHANGES_BITS = ("hcdyna", "jax", "jaxlib", "device", "random numbers")


def describe(settings: list[dict[str, Any]], seeds: list[int], kernels: str) -> dict[str, Any]:
    """The record of a run that starts now; `kernels` says whether fused ones are used."""
    return {
        "settings": settings,
        "seeds": seeds,
        "versions": versions(),
        "kernels": kernels,
        "commit": commit(),
        "command": sys.argv,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def versions() -> dict[str, str]:
    """Of everything that decides the bits of a result."""
    devices = jax.devices()
    return {
        "hcdyna": __version__,
        "jax": jax.__version__,
        "jaxlib": version("jaxlib"),
        "numpy": version("numpy"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "device": devices[0].device_kind,
        "devices": str(len(devices)),
        "random numbers": random_numbers(),
    }


def random_numbers() -> str:
    """How JAX makes them: JAX_DEFAULT_PRNG_IMPL, and whether JAX_THREEFRY_PARTITIONABLE is off or
    JAX_RANDOM_SEED_OFFSET is set."""
    config: Any = jax.config
    usual, offset = config.jax_threefry_partitionable, config.jax_random_seed_offset
    more = f", seeds plus {offset}" if offset else ""
    return f"{config.jax_default_prng_impl}{'' if usual else ', not partitionable'}{more}"


@functools.cache
def commit() -> str | None:
    """The commit of the source tree that this package runs from, if it is one."""
    try:
        answer = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip() or None


def warn_of_changes(record: dict[str, Any]) -> None:
    """Warn if the run was begun under versions that may give other bits."""
    now, then = versions(), record.get("versions", {})
    changed = [f"{k} {then[k]} → {now[k]}" for k in CHANGES_BITS if k in then and then[k] != now[k]]
    if changed:
        warnings.warn(
            f"the run was begun with other versions ({', '.join(changed)}): "
            "it goes on, but not bit for bit",
            stacklevel=3,
        )
