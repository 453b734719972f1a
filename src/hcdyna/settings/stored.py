"""Settings of before: what an older version stored, in the terms of this one, and back."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from hcdyna.settings import registry
from hcdyna.settings.core import CHOICES, Evaluation, Training

SECTIONS = {"training": Training, "evaluation": Evaluation}


def brought_up_to_date(plain: Any) -> Any:
    """Stored settings with the fields that came later, as they were meant."""
    if not isinstance(plain, Mapping):
        return plain
    known = (*CHOICES, *SECTIONS)
    parts = {choice: plain[choice] for choice in known if isinstance(plain.get(choice), Mapping)}
    return {**plain, **{choice: _with_later(choice, part) for choice, part in parts.items()}}


def as_of_before(plain: dict[str, Any]) -> dict[str, Any]:
    """Settings without the fields that say what older versions meant, so that what is known by its
    settings keeps its name."""
    known = (*CHOICES, *SECTIONS)
    return plain | {choice: _without_later(choice, plain[choice]) for choice in known}


def _with_later(choice: str, part: Mapping[str, Any]) -> dict[str, Any]:
    name = part.get("name")
    before = registry.RENAMED.get(CHOICES.get(choice, ""), {})
    now = before.get(name, {}) if isinstance(name, str) else {}
    part = {**now, **part, **({"name": now["name"]} if now else {})}
    return {**_before(choice, part), **part}


def _without_later(choice: str, part: dict[str, Any]) -> dict[str, Any]:
    before = _before(choice, part)
    return {name: x for name, x in part.items() if name not in before or before[name] != x}


def _before(choice: str, part: Mapping[str, Any]) -> dict[str, Any]:
    """Field → what it means not to say it, of a part of ours."""
    kind: Any = SECTIONS.get(choice)
    if kind is None:
        group, name = CHOICES[choice], part.get("name")
        if not isinstance(name, str) or name not in registry.PARTS[group]:
            return {}
        kind = registry.lookup(group, name)
    fields = dataclasses.fields(kind)
    return {x.name: x.metadata["before"] for x in fields if "before" in x.metadata}
