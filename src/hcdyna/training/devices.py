"""Which devices to train on, and how agents are spread over them."""

from __future__ import annotations

import os

import jax
import numpy as np
from jax.sharding import Mesh

COMPILER_OPTIONS = {"cpu": {"xla_cpu_multi_thread_eigen": False}}
"""The arrays of one agent are so small that XLA's threads within an operator only get in the way:
agents are spread over one single-threaded device per core instead."""


def mesh_for(agents: int) -> Mesh:
    """All devices, or as many as there are agents, in one row."""
    offer_every_core()
    devices = jax.devices()[:agents]
    return Mesh(np.array(devices), ("agents",))


def offer_every_core() -> None:
    """Make each CPU core a device of its own; without effect once JAX has started."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if "XLA_FLAGS" in os.environ and "device_count" in os.environ["XLA_FLAGS"]:
        return
    try:
        jax.config.update("jax_num_cpu_devices", cores or 1)
    except RuntimeError:
        pass  # JAX has started already: train on the devices there are.


def compiler_options() -> dict[str, bool]:
    """Options for the platform that JAX chose."""
    return COMPILER_OPTIONS.get(jax.default_backend(), {})
