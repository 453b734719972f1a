"""Packages whose public names are imported when they are first used."""

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Lazy = tuple[dict[str, str], Callable[[str], Any], Callable[[], list[str]]]


def lazily(package: str, file: str) -> Lazy:
    """Name → module, `__getattr__` and `__dir__` of a package, from the imports of its stub.

    The stub is the file of the same name that ends in .pyi, so that type checkers and Python read
    one list (as lazy_loader does for SciPy's family).
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    home_of = {
        alias.name: node.module or package
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    def find(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = home_of[name]
        if home != package and hasattr(importlib.import_module(home), name):
            return getattr(sys.modules[home], name)
        return importlib.import_module(f"{home}.{name}")

    return home_of, find, lambda: sorted({*vars(sys.modules[package]), *home_of})
