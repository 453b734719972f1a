"""Names of all parts, and where each is defined. Nothing is imported until it is asked for.

A package of yours adds parts through entry points of the same groups, for instance
`[project.entry-points."hcdyna.search_control"]`.
"""

import dataclasses
import importlib
import inspect
import re
from importlib.metadata import entry_points
from typing import Any

from hcdyna.settings.errors import SettingsError
from hcdyna.settings.fields import made
from hcdyna.settings.hints import did_you_mean
from hcdyna.settings.importing import Described, imported, place_of

PARTS: dict[str, dict[str, str]] = {
    "environments": {
        "GridWorld": "hcdyna.environments.grid_world:GridWorld",
        "GridWorldContinuous": "hcdyna.environments.grid_world:GridWorldContinuous",
        "TabularGridWorld": "hcdyna.environments.tabular_grid_world:TabularGridWorld",
        "MountainCar": "hcdyna.environments.mountain_car:MountainCar",
        "CartPole": "hcdyna.environments.cart_pole:CartPole",
        "Acrobot": "hcdyna.environments.acrobot:Acrobot",
        "Maze": "hcdyna.environments.maze:Maze",
        "hosted": "hcdyna.gymnasium.theirs.environment:Hosted",
    },
    "agents": {
        "dqn": "hcdyna.agents.dqn:DQN",
        "tabular": "hcdyna.agents.tabular:Tabular",
        "ddpg": "hcdyna.agents.ddpg:DDPG",
    },
    "models": {
        "true": "hcdyna.models.true:TrueModel",
        "learned": "hcdyna.models.learned:LearnedModel",
        "counted": "hcdyna.models.counted:CountedModel",
    },
    "search_control": {
        "replay": "hcdyna.search_control.replay:Replay",
        "on_policy": "hcdyna.search_control.on_policy:OnPolicy",
        "uniform": "hcdyna.search_control.uniform:Uniform",
        "hill_climbing": "hcdyna.search_control.hill_climbing:HillClimbing",
        "tabular_hill_climbing": (
            "hcdyna.search_control.tabular_hill_climbing:TabularHillClimbing"
        ),
        "gibbs": "hcdyna.search_control.gibbs:Gibbs",
        "visited_pairs": "hcdyna.search_control.visited_pairs:VisitedPairs",
        "prioritised_sweeping": "hcdyna.search_control.prioritised_sweeping:PrioritisedSweeping",
        "continuous_gibbs": "hcdyna.search_control.continuous_gibbs:ContinuousGibbs",
        "prioritised_replay": "hcdyna.search_control.prioritised_replay:PrioritisedReplay",
        "rollouts": "hcdyna.search_control.rollouts:Rollouts",
        "td_error": "hcdyna.search_control.td_error:TDError",
        "frequency": "hcdyna.search_control.frequency:Frequency",
    },
}

RENAMED: dict[str, dict[str, dict[str, Any]]] = {
    "agents": {"double_dqn": {"name": "dqn", "double": True, "dueling": True}},
    "models": {"known_end": {"name": "learned", "ends": "known"}},
}
"""Parts of before, and what they are called now."""

BUILT_FROM = {
    "environments": (),
    "agents": ("spec", "training"),
    "models": ("env", "spec", "training"),
    "search_control": ("env", "spec", "training"),
}
"""What `build` may ask for, by these names, in each group."""


def available(group: str) -> dict[str, str]:
    """Name → "module:class" of every part of a group, those of installed plug-ins included."""
    plugins = {point.name: point.value for point in entry_points(group=f"hcdyna.{group}")}
    return plugins | PARTS[group]


def lookup(group: str, name: str) -> type:
    """The settings class of a part, by its name or as "module:Class"; an unknown name gets the
    nearest right one."""
    if ":" in name:
        return _at_place(group, name)
    # Plug-ins are looked for on disk, so only where a name is not one of ours.
    known = PARTS[group] if name in PARTS[group] else available(group)
    if name not in known:
        words = ["any Gymnasium id" if each == "hosted" else each for each in known]
        now = [f"{key} {value}" for key, value in RENAMED.get(group, {}).get(name, {}).items()]
        hint = f"it is now {', '.join(now)}; " if now else did_you_mean(name, words)
        raise SettingsError(f"{group}: unknown name {name!r}: {hint}known: {', '.join(words)}")
    module, _, attribute = known[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def _at_place(group: str, place: str) -> type:
    try:
        kind = class_at(place)
    except SettingsError as error:
        raise type(error)(f"{group}: {error}") from None
    build, told = getattr(kind, "build", None), BUILT_FROM[group]
    wanted = list(inspect.signature(build).parameters.values())[1:] if callable(build) else []
    unknown = [x.name for x in wanted if x.name not in told and x.default is x.empty]
    if not callable(build) or unknown or (told and not wanted):
        which = f"asks for some of {', '.join(told)}" if told else "asks for nothing"
        raise SettingsError(f"{group}: {place!r} must have a method build that {which}")
    return kind


def class_at(place: str) -> type:
    """The dataclass at "module:Class"; imports the module."""
    found = imported(place)
    if not isinstance(found, type) or not dataclasses.is_dataclass(found):
        raise SettingsError(f"{place!r} is not a dataclass")
    return found


HOSTED = re.compile(r"^([\w.]+:)?([\w.-]+/)?[\w.-]+-v\d+$")


def is_hosted(name: str) -> bool:
    """Whether this is the id of a Gymnasium environment: CartPole-v1, my_package:MyEnv-v0."""
    return HOSTED.match(name) is not None


def factory_at(name: str) -> Any:
    """The function or class at "module:name" that makes a Gymnasium environment; None for a name of
    another kind. Imports the module."""
    if ":" not in name or is_hosted(name):
        return None
    try:
        found = imported(name)
    except SettingsError as error:
        raise type(error)(f"environments: {error}") from None
    is_part = isinstance(found, type) and dataclasses.is_dataclass(found)
    return None if is_part or not callable(found) else found


def make(group: str, name: str, **options: Any) -> Any:
    """A part with its defaults and some options: by its name, as "module:Class" or, for
    environments, by the id of a Gymnasium one or as "module:function" that makes one."""
    if group == "environments" and is_hosted(name):
        return lookup(group, "hosted")(id=name, **options)
    if group == "environments" and (factory := factory_at(name)):
        return lookup(group, "hosted")(factory=factory, **options)
    return made(lookup(group, name), options)


def registered(group: str, part: object) -> str | None:
    """The name that a part is registered under, if it is."""
    place = f"{type(part).__module__}:{type(part).__qualname__}"
    for known in (PARTS[group].items, lambda: available(group).items()):
        for name, at in known():
            if at == place:
                return name
    return None


def group_of(part: object) -> str | None:
    """The group that a part of this package belongs to; None for those of others."""
    place = f"{type(part).__module__}:{type(part).__qualname__}"
    return next((group for group, known in PARTS.items() if place in known.values()), None)


def name_of(group: str, part: object) -> str:
    """The name that a part is registered under, or the name of its class."""
    if isinstance(part, Described):
        return part.name.rpartition(":")[2]
    return registered(group, part) or type(part).__name__


def full_name_of(part: object) -> str | None:
    """How a part inside another one is named: "search_control.uniform", or the place of its class;
    None if that has none."""
    if isinstance(part, Described):
        return part.name
    for group in PARTS:
        if name := registered(group, part):
            return f"{group}.{name}"
    return place_of(type(part))


def short_name_of(part: object) -> str:
    """The last word of its full name, or the name of its class.

    >>> short_name_of(make("search_control", "uniform"))
    'uniform'
    """
    return re.split(r"[:.]", full_name_of(part) or type(part).__name__)[-1]


def is_named_by_us(full_name: str) -> bool:
    """Whether a full name is one of this package's, so that nothing foreign is imported for it."""
    group, _, name = full_name.partition(".")
    return name in PARTS.get(group, {})


def lookup_full(full_name: str) -> type:
    """The class of a full name."""
    if ":" in full_name:
        return class_at(full_name)
    group, _, name = full_name.partition(".")
    if group not in PARTS:
        raise SettingsError(
            f"part = {full_name!r}: must be like search_control.uniform or my_module:MyPart; "
            f"groups are {', '.join(PARTS)}"
        )
    return lookup(group, name)


def is_ours(environment: object) -> bool:
    """Whether this is a domain of this package, which can be built without foreign code."""
    place = f"{type(environment).__module__}:{type(environment).__qualname__}"
    ours = PARTS["environments"]
    return place in ours.values() and place != ours["hosted"]


def is_gymnasium(environment: object) -> bool:
    """Whether this is a Gymnasium environment, as a part."""
    return name_of("environments", environment) == "hosted"


def title_of(environment: Any) -> str:
    """What people call an environment: the id of a Gymnasium one, or its registered name.

    >>> title_of(make("environments", "GridWorld")), title_of(make("environments", "Taxi-v3"))
    ('GridWorld', 'Taxi-v3')
    """
    return environment.id if is_gymnasium(environment) else name_of("environments", environment)
