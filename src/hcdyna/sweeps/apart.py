"""Cases that a study of the same name, changed meanwhile, has asked for in the same words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hcdyna.settings import CHOICES, Settings
from hcdyna.settings.plain import settings_to_plain
from hcdyna.sweeps.study import Study
from hcdyna.sweeps.tasks import Case, in_words


def by_name(studies: Sequence[Study]) -> list[list[Study]]:
    """Studies in groups of one name: a study that grew is there once for each time it was added."""
    found: dict[str, list[Study]] = {}
    for study in studies:
        found.setdefault(study.name, []).append(study)
    return list(found.values())


def told_apart(cases: Sequence[Case], settings: Sequence[Settings]) -> list[Case]:
    """The cases, each with the paths at which those of the same words differ in their settings."""
    same: dict[str, list[Settings]] = {}
    for case, each in zip(cases, settings, strict=True):
        same.setdefault(in_words(case), []).append(each)
    groups = [list(dict.fromkeys(some)) for some in same.values()]
    paths = dict.fromkeys(path for some in groups if len(some) > 1 for path in differing(some))
    if not paths:
        return list(cases)
    plain = [by_path(each) for each in settings]
    return [
        case | {path: there[path] for path in paths if path in there and path not in case}
        for case, there in zip(cases, plain, strict=True)
    ]


def differing(some: list[Settings]) -> list[str]:
    """The paths at which settings differ; of parts with other names, the name alone."""
    plain = [by_path(each) for each in some]
    every = dict.fromkeys(path for there in plain for path in there)
    paths = [path for path in every if any(x.get(path) != plain[0].get(path) for x in plain)]
    return [path for path in paths if path in CHOICES or path.partition(".")[0] not in paths]


def by_path(settings: Settings) -> dict[str, Any]:
    """The names of parts, and all of their fields: {"agent": "dqn", "agent.learning_rate": …}."""
    found: dict[str, Any] = {}
    for part, values in settings_to_plain(settings).items():
        for field, value in values.items():
            found[part if part in CHOICES and field == "name" else f"{part}.{field}"] = value
    return found
