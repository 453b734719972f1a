"""Numbers that decide the shapes of arrays, and may vary within a compiled program all the same."""

from __future__ import annotations

from typing import Any, NamedTuple

PLANNING_STEPS, MIXING_RATE = "training.planning_steps", "training.mixing_rate"
"""n and ρ decide the shapes of arrays. Where they vary within a program, all its agents pay for
the largest n, and each row of a mini-batch is drawn from both sources."""


class UpTo(NamedTuple):
    """A whole number that varies within a program."""

    most: int
    now: Any


def most(n: int | UpTo) -> int:
    """The largest n of the program."""
    return n.most if isinstance(n, UpTo) else n


def now(n: int | UpTo) -> Any:
    """The n of this agent where it varies within the program; None where it doesn't."""
    return n.now if isinstance(n, UpTo) else None
