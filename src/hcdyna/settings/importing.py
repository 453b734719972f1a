"""Objects of the user by their place: "module:Name", or "/path/script.py:Name" for a script's own.

Importing runs code. So it happens where a run is trained, resumed or acted with, and never where it
is only looked at: there a part or function that is not ours stays a description of itself.
"""

import contextlib
import functools
import importlib
import importlib.util
import os
import sys
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from hcdyna.settings.errors import NotImported, RunError, SettingsError, words_of

_running: list[str] = []
"""Modules and scripts that are being run for what they define."""


class Described:
    """A part that a run names and nobody has imported: its name and its options."""

    def __init__(self, name: str, options: dict[str, Any]) -> None:
        self.name, self.options = name, options

    def build(self, *arguments: Any) -> Any:
        raise RunError(f"{self.name}: is only described here, since it was not imported")

    def __repr__(self) -> str:
        options = ", ".join(f"{key}={value!r}" for key, value in self.options.items())
        return f"{self.name.rpartition(':')[2]}({options})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Described) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(self.name)


class Unimported:
    """A function, or another object of the user's, that was not imported: its place."""

    def __init__(self, place: str) -> None:
        self.place = place

    def __repr__(self) -> str:
        return self.place.rpartition(":")[2]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unimported) and self.place == other.place

    def __hash__(self) -> int:
        return hash(self.place)


def place_of(thing: Any) -> str | None:
    """Where a class or function can be found again; None if it has no such place."""
    if isinstance(thing, Unimported):
        return thing.place
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
    if not module or not name or "<" in name:
        return None
    try:
        functools.reduce(getattr, name.split("."), sys.modules[module])
    except (KeyError, AttributeError):  # made on the fly, so that nobody finds it there
        return None
    if module == "__main__":
        module = _name_of_main()
    return f"{module}:{name}"


def imported(place: str) -> Any:
    """What is at a place; SettingsError if nothing is."""
    module, _, name = place.rpartition(":")
    try:
        return functools.reduce(getattr, name.split("."), _module(module))
    except (SettingsError, RunError):
        raise
    except Exception as error:  # anything can go wrong in code that is not ours
        hint = ""
        if module == "__main__":
            hint = "; it was defined in an interactive session: define it there, or in a module"
        elif isinstance(error, ModuleNotFoundError) and error.name == module.partition(".")[0]:
            hint = "; it is looked for in the current folder and where PYTHONPATH says"
        missing = isinstance(error, ImportError | FileNotFoundError)
        kind = NotImported if missing else SettingsError
        raise kind(f"can't import {place!r}: {words_of(error)}{hint}") from None


def announce(module: str) -> None:
    """Say that a module is about to be imported, unless it was before."""
    if module and module not in sys.modules:
        warnings.warn(f"importing {module}, which is named in the settings", stacklevel=4)


def refuse_while_importing() -> None:
    """A script that trains as soon as it is imported would begin anew with every look at it."""
    if _running:
        raise RunError(
            f"{_running[-1]}: trains when it is imported; put that under "
            "if __name__ == '__main__':, so that what it defines can be used without"
        )


def _name_of_main() -> str:
    """The name or path under which another process finds what the main module defines."""
    main = sys.modules["__main__"]
    spec, path = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    if spec is not None:
        return spec.name
    return os.path.abspath(path) if path else "__main__"


def _module(name: str) -> ModuleType:
    is_script = name.endswith(".py")
    if is_script:
        name = os.path.abspath(name)
    if name == _name_of_main():
        return sys.modules["__main__"]
    if name in sys.modules:
        return sys.modules[name]
    with _folder_first(os.path.dirname(name) if is_script else ""):
        _demand(name, is_script)
        announce(name)
        _running.append(name)
        try:
            return _run_script(name) if is_script else importlib.import_module(name)
        finally:
            _running.pop()


def _demand(name: str, is_script: bool) -> None:
    """Raise an error if there is nothing to import, before it is said that it is imported."""
    if is_script:
        if not os.path.isfile(name):
            raise FileNotFoundError("no such file")
        return
    package = name.partition(".")[0]
    if importlib.util.find_spec(package) is None:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)


@contextlib.contextmanager
def _folder_first(folder: str) -> Iterator[None]:
    """Look where Python itself would: in the current folder, "", or in that of a script."""
    importlib.invalidate_caches()
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):  # a module may change the path as it likes
            sys.path.remove(folder)


def _run_script(path: str) -> ModuleType:
    """A script as a module whose name is its path, so that its parts keep their place."""
    spec = importlib.util.spec_from_file_location(path, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[path]
        raise
    return module
