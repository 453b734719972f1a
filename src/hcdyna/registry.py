"""Names of all parts, and where each is defined. Nothing is imported until it is asked for.

A package of yours adds parts through entry points of the same groups, for instance
`[project.entry-points."hcdyna.search_control"]`.
"""

from __future__ import annotations

import importlib
import re
from importlib.metadata import entry_points
from typing import Any

from hcdyna.errors import SettingsError
from hcdyna.hints import did_you_mean
from hcdyna.importing import Described

PARTS: dict[str, dict[str, str]] = {
    "environments": {
        "GridWorld": "hcdyna.environments.grid_world:GridWorld",
        "GridWorldContinuous": "hcdyna.environments.grid_world:GridWorldContinuous",
        "TabularGridWorld": "hcdyna.environments.tabular_grid_world:TabularGridWorld",
        "MountainCar": "hcdyna.environments.mountain_car:MountainCar",
        "CartPole": "hcdyna.environments.cart_pole:CartPole",
        "Acrobot": "hcdyna.environments.acrobot:Acrobot",
        "hosted": "hcdyna.hosted.environment:Hosted",
    },
    "agents": {
        "dqn": "hcdyna.agents.dqn:DQN",
        "tabular": "hcdyna.agents.tabular:Tabular",
        "ddpg": "hcdyna.agents.ddpg:DDPG",
    },
    "models": {
        "true": "hcdyna.models.true:TrueModel",
        "learned": "hcdyna.models.learned:LearnedModel",
        "known_end": "hcdyna.models.known_end:KnownEnd",
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
    },
}


def available(group: str) -> dict[str, str]:
    """Name → "module:class" of every part of a group, those of installed plug-ins included."""
    plugins = {point.name: point.value for point in entry_points(group=f"hcdyna.{group}")}
    return plugins | PARTS[group]


def lookup(group: str, name: str) -> type:
    """The settings class of a part; an unknown name gets the nearest right one."""
    # Plug-ins are looked for on disk, so only where a name is not one of ours.
    known = PARTS[group] if name in PARTS[group] else available(group)
    if name not in known:
        hint = did_you_mean(name, known)
        raise SettingsError(f"{group}: unknown name {name!r}: {hint}known: {', '.join(known)}")
    module, _, attribute = known[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


HOSTED = re.compile(r"^([\w.]+:)?([\w.-]+/)?[\w.-]+-v\d+$")


def is_hosted(name: str) -> bool:
    """Whether this is the id of a Gymnasium environment: CartPole-v1, my_package:MyEnv-v0."""
    return HOSTED.match(name) is not None


def make(group: str, name: str) -> Any:
    """A part with its defaults, by name or, for environments, by the id of a Gymnasium one."""
    if group == "environments" and is_hosted(name):
        return lookup(group, "hosted")(id=name)
    return lookup(group, name)()


def name_of(group: str, part: object) -> str:
    """The name that a part is registered under, or the name of its class."""
    if isinstance(part, Described):
        return part.name.rpartition(":")[2]
    place = f"{type(part).__module__}:{type(part).__qualname__}"
    for known in (PARTS[group].items, lambda: available(group).items()):
        for name, at in known():
            if at == place:
                return name
    return type(part).__name__


def is_ours(environment: object) -> bool:
    """Whether this is a domain of this package, which can be built without foreign code."""
    name = name_of("environments", environment)
    return name in PARTS["environments"] and name != "hosted"


def title_of(environment: Any) -> str:
    """What people call an environment: the id of a Gymnasium one, or its registered name.

    >>> title_of(make("environments", "GridWorld")), title_of(make("environments", "Taxi-v3"))
    ('GridWorld', 'Taxi-v3')
    """
    name = name_of("environments", environment)
    return environment.id if name == "hosted" else name
