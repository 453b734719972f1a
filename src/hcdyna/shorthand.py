"""Settings in one line: an environment by name, and whatever else is not as usual."""

from __future__ import annotations

import dataclasses
import difflib
from typing import Any

from hcdyna.errors import SettingsError
from hcdyna.settings import CHOICES, Settings, Training

PARTS = [choice for choice in CHOICES if choice != "environment"]


def settings_named(environment: str, **options: Any) -> Settings:
    """The three other choices, and the fields of `Training`, by their names.

    >>> found = settings_named("MountainCar", search_control="uniform", steps=20_000)
    >>> found.search_control, found.training.steps
    (Uniform(), 20000)
    """
    fields = [field.name for field in dataclasses.fields(Training)]
    for name in options:
        if name not in (*PARTS, *fields):
            near = difflib.get_close_matches(name, (*PARTS, *fields), n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            known = ", ".join((*PARTS, *fields))
            raise SettingsError(f"{name} = {options[name]!r}: {hint}known: {known}")
    training = {name: value for name, value in options.items() if name in fields}
    parts = {name: value for name, value in options.items() if name in PARTS}
    return Settings(environment=environment, training=Training(**training), **parts)
