"""One way of rounding, whatever the shape of an array; this has to be settled before JAX starts.

A processor with fused multiply-adds rounds a·b + c once or twice, as the compiler sees fit, and
it sees fit differently for one agent and for thirty. Without them each product and each sum is
rounded by itself, and a seed gives the same bits alone, in company and on any number of devices.
"""

import os
import platform

WITHOUT_FUSED_MULTIPLY_ADD = "--xla_cpu_max_isa=AVX"


def round_every_operation() -> None:
    """Tell XLA so for CPUs, unless the user has told it which instructions to use.

    Of XLA's settings only this one reaches the purpose; it applies to the whole process, and has
    no effect once JAX has compiled something. Other processors than x86 have no such setting.
    """
    flags = os.environ.get("XLA_FLAGS", "")
    a_file = bool(flags.strip()) and not flags.strip().startswith("--")  # that holds the flags
    told = a_file or "xla_cpu_max_isa" in flags
    if platform.machine() in ("x86_64", "AMD64") and not told:
        os.environ["XLA_FLAGS"] = f"{flags} {WITHOUT_FUSED_MULTIPLY_ADD}".strip()
