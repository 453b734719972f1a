"""Settings in few words, for people."""

import dataclasses
from typing import Any

from hcdyna.settings import registry
from hcdyna.settings.fields import is_part


def short_repr(part: Any) -> str:
    """A part as Python, without the fields that are as usual.

    >>> from hcdyna.settings import Settings, Training
    >>> short_repr(Training(steps=300))
    'Training(steps=300)'
    >>> Settings(environment="MountainCar", search_control="uniform", training=Training(steps=300))
    Settings(MountainCar(), DQN(), TrueModel(), Uniform(), training=Training(steps=300))
    """
    if isinstance(part, tuple):
        return f"({', '.join(map(short_repr, part))}{',' if len(part) == 1 else ''})"
    if not is_part(part):
        return repr(part)
    given = [f"{name}={short_repr(value)}" for name, value in unusual(part).items()]
    return f"{type(part).__name__}({', '.join(given)})"


def unusual(part: Any) -> dict[str, Any]:
    """The fields of a part that are not as usual."""
    found = {}
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        usual = field.default
        if field.default_factory is not dataclasses.MISSING:
            usual = field.default_factory()
        if value is not usual and not (type(value) is type(usual) and value == usual):
            found[field.name] = value
    return found


def in_short(settings: Any) -> str:
    """`GridWorld: dqn, model true, hill_climbing, n = 10`."""
    parts = [
        registry.name_of("agents", settings.agent),
        f"model {registry.name_of('models', settings.model)}",
        registry.name_of("search_control", settings.search_control),
        f"n = {settings.training.planning_steps}",
    ]
    return f"{registry.title_of(settings.environment)}: {', '.join(parts)}"
