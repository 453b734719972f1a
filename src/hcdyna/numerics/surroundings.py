"""What in the surroundings of the process would be in the way of JAX, or of our use of it.

Some of it ends the process without a word that Python could catch, so it is looked for beforehand.
"""

import functools
import os
import re
import subprocess
import sys
from typing import Any

import jax

from hcdyna.numerics.rounding import WITHOUT_FUSED_MULTIPLY_ADD
from hcdyna.settings.errors import SettingsError

GUARDS = ("", "_host_to_device", "_device_to_device", "_device_to_host")
IN_THE_WAY: dict[str, tuple[tuple[Any, ...], str]] = {
    "jax_enable_x64": ((True,), "programs are made for single precision"),
    "jax_numpy_dtype_promotion": (("strict",), "programs mix types of numbers"),
    "jax_numpy_rank_promotion": (("raise",), "programs mix ranks of arrays"),
    "jax_debug_key_reuse": ((True,), "a program may look at a key twice"),
    "jax_disable_jit": ((True,), "a time step would take seconds"),
    "jax_no_execution": ((True,), "nothing could be trained"),
    "jax_no_tracing": ((True,), "nothing could be compiled"),
    **{
        f"jax_transfer_guard{kind}": (
            ("disallow", "disallow_explicit"),
            "seeds and results go to and from the devices",
        )
        for kind in GUARDS
    },
}
"""Options of JAX, and the values under which our programs can't run."""

MOST_DEVICES = 1_024
STARTERS = (
    *("JAX_PLATFORMS", "JAX_PLATFORM_NAME", "JAX_DEFAULT_DEVICE"),
    *("JAX_NUM_CPU_DEVICES", "CUDA_VISIBLE_DEVICES"),
)
"""Variables that decide whether JAX finds a device at all."""

PARSE_FLAGS = "import jaxlib.xla_client as x; x.CompileOptions().executable_build_options"
"""XLA reads its flags for this, and ends the process where it does not know one."""


def check_surroundings() -> None:
    """Raise SettingsError, naming the variable, if JAX can't start or programs can't run."""
    for option, (bad, why) in IN_THE_WAY.items():
        value = getattr(jax.config, option, None)
        if value in bad:
            raise SettingsError(f"{option.upper()} = {value}: must not be set, since {why}")
    check_device_count()
    given = os.environ.get("XLA_FLAGS", "").split()
    flags = " ".join(flag for flag in given if flag != WITHOUT_FUSED_MULTIPLY_ADD)
    problem = problem_with_flags(flags)
    if problem is not None:
        raise SettingsError(f"XLA_FLAGS = {flags!r}: {problem}")
    try:
        jax.devices()
        usual = jax.config.values["jax_default_device"]
        if isinstance(usual, str):
            jax.devices(usual)
    except Exception as error:  # a RuntimeError, or an assertion of JAX's where it knows the name
        given = [f"{name} = {os.environ[name]!r}" for name in STARTERS if name in os.environ]
        reason = " ".join(str(error).split()) or "JAX finds none"
        raise SettingsError(f"{', '.join(given) or 'JAX'}: no device to run on: {reason}") from None


def check_device_count() -> None:
    """Raise SettingsError for a number of devices that JAX would not get over."""
    flag = re.search(r"device_count=(\d+)", os.environ.get("XLA_FLAGS", ""))
    asked = {
        "JAX_NUM_CPU_DEVICES": getattr(jax.config, "jax_num_cpu_devices", -1),
        "XLA_FLAGS: xla_force_host_platform_device_count": int(flag[1]) if flag else -1,
    }
    for name, count in asked.items():
        if count == 0 or count > MOST_DEVICES:
            raise SettingsError(f"{name} = {count}: must be from 1 to {MOST_DEVICES}")


@functools.cache
def problem_with_flags(flags: str) -> str | None:
    """Why XLA would end the process, tried in another one; None if it would not."""
    if not flags:
        return None
    answer = subprocess.run(
        [sys.executable, "-c", f"{PARSE_FLAGS}.debug_options"],
        env=os.environ | {"XLA_FLAGS": flags},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    said = answer.stderr.strip()
    if answer.returncode == 0 or not said or "Traceback" in said:  # another version of jaxlib
        return None
    return said.splitlines()[0].rpartition("] ")[2]
