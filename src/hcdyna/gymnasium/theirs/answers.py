"""What an environment may answer to `step`."""

from typing import Any

import numpy as np

LARGEST = float(np.finfo(np.float32).max)
LONGEST_TEXT = 80


def is_number(reward: Any) -> bool:
    """Whether it is a real number that float32 can hold."""
    if not isinstance(reward, int | float | np.integer | np.floating):
        return False
    try:
        return abs(float(reward)) <= LARGEST
    except OverflowError:
        return False


def is_flag(x: Any) -> bool:
    """Whether it is True or False, as Python's, NumPy's or an array of no dimension."""
    if isinstance(x, bool | np.bool_):
        return True
    return getattr(x, "shape", None) == () and getattr(x, "dtype", None) == np.bool_


def shown(x: Any) -> str:
    """An answer in a few words."""
    try:
        text = " ".join(repr(x).split())
    except Exception:  # such as a whole number of more digits than Python writes
        text = f"of type {type(x).__name__}"
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"
