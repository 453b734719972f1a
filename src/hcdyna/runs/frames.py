"""Curves and diagnostics of a run as data frames of whichever library is at hand."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from hcdyna.settings.errors import SettingsError

if TYPE_CHECKING:
    from hcdyna.runs.run import Run

LIBRARIES = ("pandas", "polars")


def frame(run: Run, what: str = "curves", library: str = "pandas") -> Any:
    """A tidy data frame, one row per evaluation episode (curves) or evaluation (diagnostics)."""
    sources = {"curves": run.curves, "diagnostics": run.diagnostics}
    if what not in sources:
        raise SettingsError(f"what = {what!r}: must be one of {', '.join(sources)}")
    if library not in LIBRARIES:
        raise SettingsError(f"library = {library!r}: must be one of {', '.join(LIBRARIES)}")
    try:
        module = importlib.import_module(library)
    except ImportError:
        raise SettingsError(
            f"library = {library!r}: is not installed; pip install {library}"
        ) from None
    return module.DataFrame(sources[what]())
