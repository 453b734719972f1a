"""Settings as plain data (dicts, lists, numbers, strings) and back: for files and comparisons.

A choice is a dict of its name and its fields: {"name": "hill_climbing", "eta": 0.1, …}. A part
inside a part says its group too: {"part": "search_control.hill_climbing", "eta": 0.1, …}. A class
that is not registered is named by its place, "module:Class".
"""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from hcdyna.settings import registry
from hcdyna.settings.core import CHOICES, Evaluation, Settings, Training
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.fields import is_part, made, shown
from hcdyna.settings.importing import Described, Unimported, announce, imported, place_of

PLAIN = (bool, int, float, str, type(None))


def settings_to_plain(settings: Settings) -> dict[str, Any]:
    """Each part as a dict of its fields; the four choices with their name."""
    plain: dict[str, Any] = {}
    for choice, group in CHOICES.items():
        part = getattr(settings, choice)
        plain[choice] = _named("name", name_in_files(group, part), part)
    plain["training"] = _fields_to_plain(settings.training)
    plain["evaluation"] = _fields_to_plain(settings.evaluation)
    return plain


def settings_from_plain(plain: Any, look: bool = False) -> Settings:
    """The settings that `settings_to_plain` was given; SettingsError for anything else.

    To `look` at them, nothing is imported that is not ours: such parts are only described.
    """
    known = (*CHOICES, "training", "evaluation")
    if not isinstance(plain, Mapping) or not all(
        isinstance(plain.get(key, {}), Mapping) for key in known
    ):
        raise SettingsError(f"settings: must be a mapping with the keys {', '.join(known)}")
    try:
        return Settings(
            **{
                choice: _choice_from_plain(choice, plain.get(choice, {}), look)
                for choice in CHOICES
            },
            # Nothing in these two is ever imported: they are numbers and words.
            training=part_from_plain(Training, plain.get("training", {}), look=True),
            evaluation=part_from_plain(Evaluation, plain.get("evaluation", {}), look=True),
        )
    except RecursionError:
        raise SettingsError("settings: parts within parts are nested too deeply") from None


def to_act(settings: Settings) -> Settings:
    """The same settings with everything imported that was only described, to train or to act."""
    if registry.is_gymnasium(settings.environment):
        for module in settings.environment.modules:
            announce(module)
    if not any(_is_described(getattr(settings, choice)) for choice in CHOICES):
        return settings
    return settings_from_plain(settings_to_plain(settings))


def part_from_plain(kind: type, options: Mapping[str, Any], look: bool = False) -> Any:
    """An object of this class; an unknown field gets the nearest right name."""
    return made(kind, _values(kind.__name__, options, look))


def fields_of(part: Any) -> dict[str, Any]:
    """Field → value of a part, or what a run says of one that was not imported."""
    if isinstance(part, Described):
        return part.options
    fields = dataclasses.fields(part) if is_part(part) else ()
    return {field.name: getattr(part, field.name) for field in fields if field.init}


def is_part_or_described(value: Any) -> bool:
    """Whether this has fields of its own."""
    return is_part(value) or isinstance(value, Described)


def differences(a: Any, b: Any, at: str = "") -> list[str]:
    """Where two plain structures differ, as lines such as `training.steps: 100 → 200`."""
    a, b = (dict(enumerate(x)) if _has_parts(x) else x for x in (a, b))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        lines = []
        for key in [*a, *(key for key in b if key not in a)]:
            path = f"{at}.{key}" if at else str(key)
            lines += differences(a.get(key, "absent"), b.get(key, "absent"), path)
        return lines
    return [] if a == b else [f"{at}: {a} → {b}"]


def _has_parts(plain: Any) -> bool:
    return isinstance(plain, list) and any(isinstance(x, Mapping) for x in plain)


def name_in_files(group: str, part: Any) -> str:
    """The registered name, or the place of a class that is not registered."""
    if isinstance(part, Described):
        return part.name
    return registry.registered(group, part) or _place(f"{group} = {shown(part)}", part)


def _place(what: str, part: Any) -> str:
    kind = type(part).__name__
    place = place_of(type(part)) if is_part(part) else None
    if place is None:
        remedy = f"define {kind} at the top level of a module"
        if not is_part(part):
            remedy = f"make {kind} a frozen dataclass"
        raise SettingsError(
            f"{what}: can't be saved with the run; {remedy}, or train without `out`"
        )
    return place


def _named(key: str, name: str, part: Any) -> dict[str, Any]:
    fields = _fields_to_plain(part)
    if key in fields:
        raise SettingsError(
            f"{type(part).__name__}.{key}: can't be saved with the run; call this field otherwise"
        )
    return {key: name} | fields


def _fields_to_plain(part: Any) -> dict[str, Any]:
    kind = part.name if isinstance(part, Described) else type(part).__name__
    return {
        name: _value_to_plain(f"{kind}.{name}", value) for name, value in fields_of(part).items()
    }


def _value_to_plain(what: str, value: Any) -> Any:
    """Functions become "module:name"; what has no such name can't be saved."""
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, tuple) and all(isinstance(x, PLAIN) for x in value):
        return list(value)
    if type(value) is tuple and not any(isinstance(x, tuple) for x in value):
        return [_value_to_plain(what, x) for x in value]
    if is_part_or_described(value):
        name = registry.full_name_of(value) or _place(f"{what} = {shown(value)}", value)
        return _named("part", name, value)
    place = place_of(value)
    if place is None:
        raise SettingsError(
            f"{what} = {shown(value)}: can't be saved with the run; "
            "give a function with a name at the top level of a module, or train without `out`"
        )
    return {"import": place}


def _choice_from_plain(choice: str, plain: Mapping[str, Any], look: bool) -> Any:
    options, group = dict(plain), CHOICES[choice]
    name = options.pop("name", None)
    if not isinstance(name, str):
        raise SettingsError(f"{choice}: must have a name")
    if choice == "environment" and registry.is_hosted(name):
        options, name = {"id": name} | options, "hosted"
    if choice == "environment" and not look and (factory := registry.factory_at(name)):
        options, name = {"factory": factory} | options, "hosted"
    if name == "hosted":
        options.pop("bounds", None)  # a field of before, which no run had set
    if look and name not in registry.PARTS[group]:
        return Described(name, _values(name, options, look))
    kind = registry.lookup(group, name)
    factory = options.pop("factory", None) if name == "hosted" else None
    kwargs = options.get("kwargs")
    if name == "hosted" and isinstance(kwargs, Mapping):  # as people write it in YAML
        options["kwargs"] = [f"{key}={json.dumps(value)}" for key, value in kwargs.items()]
    values = _values(kind.__name__, options, look)
    if factory is not None:
        values["factory"] = factory if callable(factory) else _value("factory", factory, look)
    return made(kind, values)


def _values(what: str, plain: Mapping[str, Any], look: bool) -> dict[str, Any]:
    return {name: _value(f"{what}.{name}", value, look) for name, value in plain.items()}


def _value(what: str, plain: Any, look: bool) -> Any:
    if isinstance(plain, list):  # lists within lists stay: a file may hold endless ones
        return tuple(x if isinstance(x, list) else _value(what, x, look) for x in plain)
    if not isinstance(plain, Mapping):
        return plain
    part, place = plain.get("part"), plain.get("import")
    if isinstance(part, str):
        options = {name: value for name, value in plain.items() if name != "part"}
        if look and not registry.is_named_by_us(part):
            return Described(part, _values(part, options, look))
        return part_from_plain(registry.lookup_full(part), options, look)
    if isinstance(place, str):
        return Unimported(place) if look else imported(place)
    raise SettingsError(
        f"{what} = {shown(plain)}: must be a value, or say which part it is, as in "
        "{part: search_control.uniform}"
    )


def _is_described(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(map(_is_described, value))
    if is_part(value):
        return any(map(_is_described, fields_of(value).values()))
    return isinstance(value, Described | Unimported)
