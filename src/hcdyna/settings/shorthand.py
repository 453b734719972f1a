"""Settings in one line: an environment by name, and whatever else is not as usual."""

import dataclasses
from typing import Any

from hcdyna.settings import presets, registry
from hcdyna.settings.core import CHOICES, Settings
from hcdyna.settings.flat import with_fields

PARTS = [choice for choice in CHOICES if choice != "environment"]


def settings_named(environment: Any, **options: Any) -> Settings:
    """An environment by its name or as a part; the three other choices, and the fields of all
    parts, by their names (see `with_fields`).

    What is not given is as usual: for a Gymnasium environment, as in the preset `gym`.

    >>> found = settings_named("MountainCar", search_control="uniform", steps=20_000)
    >>> found.search_control, found.training.steps
    (Uniform(), 20000)
    """
    parts = {name: value for name, value in options.items() if name in PARTS}
    fields = {name: value for name, value in options.items() if name not in PARTS}
    return with_fields(with_parts(environment, parts), fields)


def with_parts(environment: Any, parts: dict[str, Any]) -> Settings:
    """The settings for some choices, each a name or an object."""
    preset = presets.USUAL
    if isinstance(environment, str):
        preset = presets.usual_for(environment)
    elif registry.is_gymnasium(environment):
        preset = presets.HOSTED
    if preset == presets.USUAL:
        return Settings(environment=environment, **parts)
    names = {name: value for name, value in parts.items() if isinstance(value, str)}
    objects = {name: x for name, x in parts.items() if name not in names and x is not None}
    if isinstance(environment, str):
        return dataclasses.replace(presets.settings(preset, environment, **names), **objects)
    # With the options of the preset for what is usual here.
    base = presets.settings(preset, **{**environment.usual, **names})
    return dataclasses.replace(base, environment=environment, **objects)
