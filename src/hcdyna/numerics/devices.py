"""Which devices to train on, and what JAX should know about them."""

import contextlib
import functools
import os
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from hcdyna.numerics.caches import NoCache, cache_folder, trim
from hcdyna.numerics.surroundings import check_surroundings

COMPILER_OPTIONS: dict[str, dict[str, Any]] = {
    "cpu": {
        "xla_cpu_multi_thread_eigen": False,
        "xla_disable_hlo_passes": "cpu-parallel-task-assigner",
    },
    "gpu": {"xla_gpu_command_buffer_scheduling_mode": "CONCURRENT"},
}
"""The arrays of one agent are so small that threads within an operator only get in each other's
way: on a CPU, agents are spread over one single-threaded device per core instead. XLA judges by the
size of a replay buffer how long it takes to look up a few of its rows, and would use threads.
On a GPU, what does not wait for the climb may run beside it."""

MOST_KEPT = 256_000_000
"""Bytes of compiled programs to keep on disk from one process to the next."""

MOST_TURNS_AT_ONCE = {"cpu": 1, "gpu": 100}
"""A GPU waits for the host after each turn of a loop unless the number of turns was known to the
compiler, so there the steps of a chunk, and of an evaluation episode, are taken in blocks."""


def start() -> None:
    """Start JAX on every core or device there is; SettingsError if something is in the way."""
    offer_every_core()
    keep_compiled_programs()
    check_surroundings()


def mesh_for(agents: int) -> Mesh:
    """All devices in one row, or as many of them as there are agents."""
    start()
    return Mesh(np.array(jax.devices()[:agents]), ("agents",))


def offer_every_core() -> None:
    """Make each CPU core a device of its own, unless JAX has started or was told otherwise.

    Programs run in the thread that calls them: handing each over to another takes longer than a
    small one runs."""
    if "JAX_CPU_ENABLE_ASYNC_DISPATCH" not in os.environ:
        jax.config.update("jax_cpu_enable_async_dispatch", False)
    if "device_count" in os.environ.get("XLA_FLAGS", "") or "JAX_NUM_CPU_DEVICES" in os.environ:
        return
    with contextlib.suppress(RuntimeError):  # JAX has started: train on the devices there are.
        jax.config.update("jax_num_cpu_devices", available_cores())


def leave_memory() -> None:
    """Take no more memory of a GPU than is needed: other processes train there. It must be said
    before JAX starts, and holds for processes that this one starts, too."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


@functools.cache
def keep_compiled_programs() -> None:
    """Let JAX keep what it compiles on disk, unless the user has told it where or not to."""
    known = jax.config.values
    if known["jax_compilation_cache_dir"] is not None or not known["jax_enable_compilation_cache"]:
        return
    try:
        folder = cache_folder("compiled")
    except NoCache:
        return
    # JAX can limit the size itself, but only where the package filelock is installed.
    trim(folder, MOST_KEPT)
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)


def available_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@functools.cache
def compiler_options() -> dict[str, Any]:
    """Options for the platform that JAX chose, as far as this version of XLA knows them."""
    wanted = COMPILER_OPTIONS.get(jax.default_backend(), {})
    return {name: value for name, value in wanted.items() if is_known(name, value)}


def is_known(option: str, value: Any) -> bool:
    """Whether XLA has such an option."""
    try:
        jax.jit(lambda: 0, compiler_options={option: value}).lower().compile()
    except jax.errors.JaxRuntimeError:
        return False
    return True


def most_turns_at_once() -> int:
    """How many turns of a loop to take in a block at most, on the platform that JAX chose."""
    return MOST_TURNS_AT_ONCE.get(jax.default_backend(), 1)
