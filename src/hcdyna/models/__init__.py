"""Where do simulated outcomes come from?"""

from __future__ import annotations

from typing import Any

HOME_OF = {
    "FromFunction": "functions",
    "LearnedModel": "learned",
    "TrueModel": "true",
    "from_function": "functions",
}


def __getattr__(name: str) -> Any:
    """Nothing is imported before it is asked for."""
    import importlib

    if name not in HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{HOME_OF[name]}"), name)
