"""Settings in one line: an environment by name, and whatever else is not as usual."""

import dataclasses
from typing import Any

from hcdyna.settings import presets, registry
from hcdyna.settings.core import CHOICES, Settings
from hcdyna.settings.flat import with_fields

PARTS = [choice for choice in CHOICES if choice != "environment"]


def settings_named(environment: Any, preset: str | None = None, **options: Any) -> Settings:
    """An environment by its name or as a part; the three other choices, and the fields of all
    parts, by their names (see `with_fields`).

    What is not given is as in the preset: `gym` for a Gymnasium environment, else `paper`.

    >>> found = settings_named("MountainCar", search_control="uniform", steps=20_000)
    >>> found.search_control, found.training.steps
    (Uniform(), 20000)
    """
    parts = {name: value for name, value in options.items() if name in PARTS}
    fields = {name: value for name, value in options.items() if name not in PARTS}
    by_id = isinstance(environment, str) and usual_preset(environment) == presets.HOSTED
    if by_id and fields.get("kwargs"):
        # First of all, since they can decide the kind of actions, and that the agent.
        environment = registry.make("environments", environment, kwargs=fields.pop("kwargs"))
    return with_fields(with_parts(environment, parts, preset), fields)


def with_parts(environment: Any, parts: dict[str, Any], preset: str | None) -> Settings:
    """The settings for some choices, each a name or an object."""
    usual = usual_preset(environment)
    if preset is None and usual == presets.USUAL:
        return Settings(environment=environment, **parts)
    preset = usual if preset is None else preset
    names = {name: value for name, value in parts.items() if isinstance(value, str)}
    objects = {name: x for name, x in parts.items() if name not in names and x is not None}
    if isinstance(environment, str):
        return dataclasses.replace(presets.settings(preset, environment, **names), **objects)
    # With the options of the preset for what is usual here.
    if registry.is_gymnasium(environment):
        chosen = environment.usual
    else:
        chosen = {"environment": registry.name_of("environments", environment)}
    base = presets.settings(preset, **{**chosen, **names})
    return dataclasses.replace(base, environment=environment, **objects)


def usual_preset(environment: Any) -> str:
    """That of an environment by name or as a part, where none is named."""
    if isinstance(environment, str):
        return presets.usual_for(environment)
    return presets.HOSTED if registry.is_gymnasium(environment) else presets.USUAL
