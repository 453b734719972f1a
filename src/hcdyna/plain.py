"""Settings as plain data (dicts, lists, numbers, strings) and back: for files and comparisons."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from typing import Any

from hcdyna import registry
from hcdyna.errors import SettingsError
from hcdyna.importing import Described, Unimported, announce, imported, place_of
from hcdyna.settings import CHOICES, Evaluation, Settings, Training

PLAIN = (bool, int, float, str, type(None))


def settings_to_plain(settings: Settings) -> dict[str, Any]:
    """Each part as a dict of its fields; the four choices with their name."""
    plain: dict[str, Any] = {}
    for choice, group in CHOICES.items():
        part = getattr(settings, choice)
        plain[choice] = {"name": _name(group, part)} | fields_to_plain(part)
    plain["training"] = fields_to_plain(settings.training)
    plain["evaluation"] = fields_to_plain(settings.evaluation)
    return plain


def fields_to_plain(part: Any) -> dict[str, Any]:
    """Field → value. Functions become "module:name"; what has no such name can't be saved."""
    if isinstance(part, Described):
        return part.options
    if not dataclasses.is_dataclass(part):
        return {}
    return {
        field.name: _value_to_plain(part, field.name, getattr(part, field.name))
        for field in dataclasses.fields(part)
    }


def settings_from_plain(plain: Any, look: bool = False) -> Settings:
    """The settings that `settings_to_plain` was given; SettingsError for anything else.

    To `look` at them, nothing is imported that is not ours: such parts are only described.
    """
    known = (*CHOICES, "training", "evaluation")
    if not isinstance(plain, Mapping) or not all(
        isinstance(plain.get(key, {}), Mapping) for key in known
    ):
        raise SettingsError(f"settings: must be a mapping with the keys {', '.join(known)}")
    parts: dict[str, Any] = {}
    for choice, group in CHOICES.items():
        options = dict(plain.get(choice, {}))
        name = options.pop("name", None)
        if not isinstance(name, str):
            raise SettingsError(f"{choice}: must have a name")
        if choice == "environment" and registry.is_hosted(name):
            options, name = {"id": name} | options, "hosted"
        if look and name not in registry.PARTS[group]:
            parts[choice] = Described(name, options)
        else:
            parts[choice] = part_from_plain(_class_of(group, name), options, look)
    # Nothing in these two is ever imported: they are numbers and words.
    return Settings(
        **parts,
        training=part_from_plain(Training, plain.get("training", {}), look=True),
        evaluation=part_from_plain(Evaluation, plain.get("evaluation", {}), look=True),
    )


def to_act(settings: Settings) -> Settings:
    """The same settings with everything imported that was only described, to train or to act."""
    parts = [getattr(settings, choice) for choice in CHOICES]
    if registry.name_of("environments", settings.environment) == "hosted":
        announce(settings.environment.id.rpartition(":")[0])
    values = [value for part in parts for value in getattr(part, "__dict__", {}).values()]
    if not any(isinstance(x, Described | Unimported) for x in (*parts, *values)):
        return settings
    return settings_from_plain(settings_to_plain(settings))


def part_from_plain(kind: type, options: Mapping[str, Any], look: bool = False) -> Any:
    """An object of this class; an unknown field gets the nearest right name."""
    known = [field.name for field in dataclasses.fields(kind)]
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            fields = ", ".join(known) if known else "none"
            raise SettingsError(f"{kind.__name__}.{name}: no such field: {hint}known: {fields}")
    return kind(**{name: _value_from_plain(value, look) for name, value in options.items()})


def differences(a: Any, b: Any, at: str = "") -> list[str]:
    """Where two plain structures differ, as lines such as `training.steps: 100 → 200`."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        lines = []
        for key in [*a, *(key for key in b if key not in a)]:
            path = f"{at}.{key}" if at else str(key)
            lines += differences(a.get(key, "absent"), b.get(key, "absent"), path)
        return lines
    return [] if a == b else [f"{at}: {a} → {b}"]


def _name(group: str, part: Any) -> str:
    """The registered name, or the place of a class that is not registered."""
    if isinstance(part, Described):
        return part.name
    name = registry.name_of(group, part)
    if name in registry.available(group):
        return name
    place = place_of(type(part))
    if place is None:
        raise SettingsError(
            f"{group} = {part!r}: can't be saved with the run; define {type(part).__name__} at the "
            "top level of a module, or train without `out`"
        )
    return place


def _class_of(group: str, name: str) -> type:
    if ":" not in name:
        return registry.lookup(group, name)
    try:
        found = imported(name)
    except SettingsError as error:
        raise SettingsError(f"{group}: {error}") from None
    if not dataclasses.is_dataclass(found) or not isinstance(found, type):
        raise SettingsError(f"{group}: {name!r} is not a dataclass")
    return found


def _value_to_plain(part: Any, field: str, value: Any) -> Any:
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, tuple) and all(isinstance(x, PLAIN) for x in value):
        return list(value)
    place = place_of(value)
    if place is None:
        raise SettingsError(
            f"{type(part).__name__}.{field} = {value!r}: can't be saved with the run; "
            "give a function with a name at the top level of a module, or train without `out`"
        )
    return {"import": place}


def _value_from_plain(value: Any, look: bool) -> Any:
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, Mapping) and isinstance(value.get("import"), str):
        return Unimported(value["import"]) if look else imported(value["import"])
    return value
