"""Settings in one line: an environment by name, and whatever else is not as usual."""

import dataclasses
from typing import Any

from hcdyna.settings import presets, registry
from hcdyna.settings.core import CHOICES, Settings, Training
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.hints import did_you_mean

PARTS = [choice for choice in CHOICES if choice != "environment"]


def settings_named(environment: Any, **options: Any) -> Settings:
    """An environment by its name or as a part; the other choices, and the fields of `Training`, by
    their names.

    What is not given is as usual: for a Gymnasium environment, as in the preset `gym`.

    >>> found = settings_named("MountainCar", search_control="uniform", steps=20_000)
    >>> found.search_control, found.training.steps
    (Uniform(), 20000)
    """
    fields = [field.name for field in dataclasses.fields(Training)]
    parts = {name: value for name, value in options.items() if name in PARTS}
    for name, value in options.items():
        if name not in (*PARTS, *fields):
            settings = Settings(environment=environment, **parts)
            known = ", ".join((*PARTS, *fields))
            raise SettingsError(f"{name} = {value!r}: {hint(name, value, settings)}known: {known}")
    training = {name: value for name, value in options.items() if name in fields}
    preset = presets.USUAL
    if isinstance(environment, str):
        preset = presets.usual_for(environment)
    elif registry.name_of("environments", environment) == "hosted":
        preset = presets.HOSTED
    if preset == presets.USUAL:
        return Settings(environment=environment, training=Training(**training), **parts)
    names = {name: value for name, value in parts.items() if isinstance(value, str)}
    objects = {name: x for name, x in parts.items() if name not in names and x is not None}
    if isinstance(environment, str):
        base = presets.settings(preset, environment, **names)
    else:  # with the options of the preset for what is usual here
        base = presets.settings(preset, **{**environment.usual, **names})
        objects["environment"] = environment
    more = dataclasses.replace(base.training, **training)
    return dataclasses.replace(base, training=more, **objects)


def hint(name: str, value: Any, settings: Settings) -> str:
    """What may have been meant: an option of `train`, or a field of one of the four parts."""
    options = [*PARTS, *(field.name for field in dataclasses.fields(Training)), "seeds", "out"]
    fields = {
        f"{choice}.{field.name}": f"{choice}={type(part).__name__}({field.name}={value!r})"
        for choice in CHOICES
        if dataclasses.is_dataclass(part := getattr(settings, choice))
        for field in dataclasses.fields(part)
    }
    return did_you_mean(name, [*options, *fields], written=fields)
