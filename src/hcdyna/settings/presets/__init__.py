"""Presets: named sets of defaults, as YAML files in this folder or anywhere.

A preset says, for each of the four choices, which options a part of some name gets if it is chosen,
and what training and evaluation are like. `choices` names the parts to take unless the user names
others, `based_on` a preset to start from, and `where` adds to all that for some environments.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from hcdyna.settings import registry
from hcdyna.settings.core import CHOICES, Settings
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.fields import shown
from hcdyna.settings.hints import did_you_mean
from hcdyna.settings.importing import announce
from hcdyna.settings.plain import settings_from_plain, settings_to_plain

USUAL, HOSTED = "paper", "gym"
"""Where none is named: for domains of ours, and for Gymnasium environments."""
FOLDER = Path(__file__).parent
PARTS = (*CHOICES, "training", "evaluation")
LARGEST = 1_000_000
"""Bytes of a preset."""
KEYS = ("description", "based_on", "choices", "where", *PARTS)


class Loader(yaml.SafeLoader):
    """Plain data only, as `yaml.safe_load`, but 1e5 is a number, as in YAML 1.2."""


Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9]+[eE][-+]?[0-9]+$"), list("-+0123456789")
)


def usual_for(environment: str | None) -> str:
    """The preset of an environment where none is named."""
    if environment is None:
        return USUAL
    hosted = registry.is_hosted(environment) or registry.factory_at(environment) is not None
    return HOSTED if hosted else USUAL


def names() -> list[str]:
    """The presets of this package."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def read(name: str) -> dict[str, Any]:
    """The content of a preset, by name or as the path of a YAML file, with what it is based on."""
    if not isinstance(name, str):
        raise SettingsError(f"preset = {shown(name)}: must be one of {', '.join(names())}")
    path = Path(name) if name.endswith((".yaml", ".yml")) else FOLDER / f"{name}.yaml"
    if path.parent == FOLDER and name not in names():
        raise SettingsError(
            f"preset = {shown(name)}: {did_you_mean(name, names())}known: {', '.join(names())}, "
            "or the path of a .yaml file"
        )
    try:
        content = yaml.load(_text(path), Loader)
    except (OSError, UnicodeDecodeError, ValueError, yaml.YAMLError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise SettingsError(f"preset = {shown(name)}: {reason}") from None
    except RecursionError:
        raise SettingsError(f"preset = {shown(name)}: nested too deeply") from None
    content = _with_names(content)
    _check(name, content)
    base = content.pop("based_on", None)
    if base is None:
        return content
    if base not in names():
        raise SettingsError(f"preset = {shown(name)}: based_on must be one of {', '.join(names())}")
    before = read(base)
    return _merged(before, content) | {"where": before.get("where", []) + content.get("where", [])}


def _text(path: Path) -> str:
    """All of a file, unless reading it would never end."""
    if path.exists() and not path.is_file():
        raise ValueError("must be a file")
    if path.stat().st_size > LARGEST:
        raise ValueError(f"must have at most {LARGEST} bytes")
    return path.read_text(encoding="utf-8")


def settings(
    name: str,
    environment: str | None = None,
    agent: str | None = None,
    model: str | None = None,
    search_control: str | None = None,
    kwargs: Sequence[str] = (),
) -> Settings:
    """The settings of a preset for these choices; what is None is the usual choice. `kwargs` are
    those of a Gymnasium environment, which decide what goes with it."""
    content = read(name)
    given = {
        "environment": environment,
        "agent": agent,
        "model": model,
        "search_control": search_control,
    }
    named = {choice: part for choice, part in given.items() if part is not None}
    first = content.get("choices", {}) | named
    world = first.get("environment", "GridWorld")
    if environment is None and registry.is_hosted(world):
        announce(world.rpartition(":")[0])
    more = {"kwargs": tuple(kwargs)} if kwargs and usual_for(world) == HOSTED else {}
    plainly = Settings(environment=registry.make("environments", world, **more))
    usual = {
        choice: registry.name_of(group, getattr(plainly, choice))
        for choice, group in CHOICES.items()
    }
    for case in content.get("where", []):
        if case["environment"] == world:
            content = _merged(content, {k: v for k, v in case.items() if k != "environment"})
    chosen = usual | content.get("choices", {}) | named
    plain = {
        choice: {"name": part} | content.get(choice, {}).get(part, {})
        for choice, part in chosen.items()
    }
    plain["environment"] |= {name: list(words) for name, words in more.items()}
    sections = {name: content.get(name, {}) for name in ("training", "evaluation")}
    return settings_from_plain(plain | sections)


def dump(settings: Settings) -> str:
    """These settings in full, as a preset in YAML."""
    plain = settings_to_plain(settings)
    choices = {choice: plain[choice].pop("name") for choice in CHOICES}
    sections = {choice: {choices[choice]: plain[choice]} for choice in CHOICES}
    content = {"choices": choices} | plain | sections
    return yaml.safe_dump(content, sort_keys=False, default_flow_style=False)


def _merged(base: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """`more` over `base`, level by level; another part inside a part brings its own options."""
    result = dict(base)
    for key, value in more.items():
        below = result.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            other = "part" in value and value["part"] != below.get("part")
            value = value if other else _merged(below, value)
        result[key] = value
    return result


def _with_names(content: Any) -> Any:
    """The model named true, which YAML takes for a truth value, as a name again."""
    if isinstance(content, dict):
        if isinstance(content.get("choices"), dict) and content["choices"].get("model") is True:
            content["choices"]["model"] = "true"
        models = content.get("model")
        if isinstance(models, dict) and True in models:
            models["true"] = models.pop(True)
    return content


def _check(name: str, content: Any) -> None:
    """Raise SettingsError unless this has the shape of a preset; values are checked later."""

    def demand(condition: bool, what: str) -> None:
        if not condition:
            raise SettingsError(f"preset = {shown(name)}: {what}")

    demand(isinstance(content, dict), "must be a mapping, with keys such as training")
    cases = content.get("where", [])
    demand(isinstance(cases, list), "where must be a list")
    for case in cases:
        demand(
            isinstance(case, dict) and isinstance(case.get("environment"), str),
            "each case of where must name its environment",
        )
    for section in (content, *cases):
        choices = section.get("choices", {})
        demand(
            isinstance(choices, dict)
            and all(key in CHOICES and isinstance(part, str) for key, part in choices.items()),
            f"choices must map some of {', '.join(CHOICES)} to names",
        )
        for key in section:
            hint = did_you_mean(str(key), KEYS)
            demand(key in KEYS, f"unknown key {shown(key)}: {hint}known: {', '.join(KEYS)}")
        for part in PARTS:
            if part == "environment" and section is not content:
                continue
            options = section.get(part, {})
            demand(isinstance(options, dict), f"{part} must be a mapping")
            if part in CHOICES:
                demand(
                    all(isinstance(inner, dict) for inner in options.values()),
                    f"{part} must map names to their options",
                )
