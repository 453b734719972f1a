"""Fields of all parts of some settings by their own names, as `train` takes them."""

import dataclasses
from typing import Any

from hcdyna.settings import registry
from hcdyna.settings.core import CHOICES, Settings
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.fields import shown
from hcdyna.settings.hints import did_you_mean

FIRST = ("training", "agent")
"""Whose fields a name means, even if another part has one of that name: steps, learning_rate."""
PARTS = (*FIRST, *(choice for choice in CHOICES if choice != "agent"), "evaluation")
OF_TRAIN = ("seed", "seeds", "out", "progress", "on_evaluation")
"""What else can be given to `train`."""


def with_fields(settings: Settings, fields: dict[str, Any]) -> Settings:
    """The settings with some fields of their parts exchanged.

    A name is that of a field of training or of the agent, or else of the only part that has one;
    with the part in front it is the field of that part.

    >>> found = with_fields(Settings(model="learned"), {"learning_rate": 0.1, "model_hidden": (8,)})
    >>> found.agent.learning_rate, found.model.hidden
    (0.1, (8,))
    """
    known = places(settings)
    changes: dict[str, dict[str, Any]] = {}
    for name, value in fields.items():
        part, field = place_of(name, value, known)
        changes.setdefault(part, {})[field] = value
    parts = {
        part: dataclasses.replace(getattr(settings, part), **values)
        for part, values in changes.items()
    }
    return dataclasses.replace(settings, **parts)


def places(settings: Settings) -> dict[str, list[str]]:
    """Field → the parts that have one of this name."""
    found: dict[str, list[str]] = {}
    for part in PARTS:
        value = getattr(settings, part)
        for field in dataclasses.fields(value) if dataclasses.is_dataclass(value) else ():
            found.setdefault(field.name, []).append(part)
    return found


def place_of(name: str, value: Any, known: dict[str, list[str]]) -> tuple[str, str]:
    """The part and the field that a name means; SettingsError if that is none, or not clear."""
    full = {f"{part}_{field}": (part, field) for field, parts in known.items() for part in parts}
    if name in full and name not in known:
        return full[name]
    parts = known.get(name, [])
    if not parts:
        choices = [choice for choice in CHOICES if choice != "environment"]
        written = {f"{part}.{field}": f"{part}_{field}" for part, field in full.values()}
        part = next((each for each in PARTS if name.startswith(f"{each}_")), None)
        dotted = name if part is None else f"{part}.{name.removeprefix(f'{part}_')}"
        hint = said_of_others(dotted) or did_you_mean(
            dotted, [*choices, *known, *written, *OF_TRAIN], written
        )
        if not hint and "kwargs" in known:
            hint = f"for an argument of gymnasium.make give kwargs={{{name!r}: …}}; "
        raise SettingsError(
            f"{name} = {shown(value)}: {hint}known: {', '.join((*choices, *known))}"
        )
    if len(parts) > 1 and parts[0] not in FIRST:
        names = " or ".join(f"{part}_{name}" for part in parts)
        raise SettingsError(f"{name} = {shown(value)}: several parts have one; say {names}")
    return parts[0], name


def said_of_others(name: str) -> str:
    """`only agent = ddpg has it; ` for a field such as critics or agent.critics that no part has
    which is chosen; nothing if no other part has it either."""
    part, _, field = name.rpartition(".")
    found = [
        f"{choice} = {'any Gymnasium id' if other == 'hosted' else other}"
        for choice, group in CHOICES.items()
        if part in ("", choice)
        for other in registry.PARTS[group]
        if field in {each.name for each in dataclasses.fields(registry.lookup(group, other))}
    ]
    return f"only {' or '.join(found)} has it; " if found else ""
