"""Columns as a data frame of a library that need not be installed."""

import importlib
from typing import Any

import numpy as np

from hcdyna.settings.errors import SettingsError

LIBRARIES = ("pandas", "polars")
"""Of data frames."""


def frame_of(columns: dict[str, np.ndarray], library: str) -> Any:
    """The columns as a data frame of pandas or polars."""
    if library not in LIBRARIES:
        raise SettingsError(f"library = {library!r}: must be one of {', '.join(LIBRARIES)}")
    try:
        module = importlib.import_module(library)
    except ImportError:
        raise SettingsError(
            f"library = {library!r}: is not installed; pip install 'hcdyna[{library}]'"
        ) from None
    return module.DataFrame(columns)
