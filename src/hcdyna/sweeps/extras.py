"""Packages that only some sweeps need: imported when they are used."""

import importlib
from typing import Any

from hcdyna.settings.errors import SettingsError

EXTRAS = {"ray": "ray", "submitit": "slurm", "optuna": "search", "fsspec": "bucket"}
"""Package → the extra of ours that installs it."""


def needed(package: str, what: str) -> Any:
    """The package; SettingsError, with the command that installs it, if it is not there."""
    try:
        return importlib.import_module(package)
    except ImportError:
        raise SettingsError(
            f"{what}: needs {package}; pip install 'hcdyna[{EXTRAS[package]}]'"
        ) from None
