"""What can't be a study, named in a line."""

from collections.abc import Mapping, Sequence
from typing import Any

from hcdyna.settings.errors import SettingsError
from hcdyna.settings.fields import MOST_SEEDS, settled, shown
from hcdyna.sweeps.tasks import Case, short
from hcdyna.sweeps.values import number


def check_comparison(wanted: Mapping[str, Any]) -> None:
    """Raise SettingsError for a comparison that can't be judged."""
    known = {"of", "a", "b", "claim", "margin", "metric", "bounds"}
    if not {"of", "a", "b"} <= set(wanted) <= known or not isinstance(wanted["of"], str):
        raise SettingsError(
            f"compare: {shown(dict(wanted))}: must have of (a path), a and b, and may have claim, "
            "margin, metric and bounds"
        )
    choices = {"claim": ("better", "not worse", "similar"), "metric": ("area", "last")}
    for key, fine in choices.items():
        if wanted.get(key, fine[0]) not in fine:
            raise SettingsError(
                f"compare: {key} = {shown(wanted[key])}: must be one of {', '.join(fine)}"
            )
    if number("compare: margin", wanted.get("margin", 0.0)) < 0:
        raise SettingsError(f"compare: margin = {wanted['margin']}: must be at least 0")
    bounds = wanted.get("bounds", [0.0, 1.0])
    if not isinstance(bounds, list | tuple) or len(bounds) != 2:
        raise SettingsError(f"compare: bounds = {shown(bounds)}: must be two numbers")
    low, high = (number("compare: bounds", x) for x in bounds)
    if low >= high:
        raise SettingsError(f"compare: bounds = {shown(bounds)}: the second must be larger")


def check_cases(comparisons: Sequence[Mapping[str, Any]], cases: Sequence[Case]) -> None:
    """Raise SettingsError for a comparison of values that no case has."""
    for wanted in comparisons:
        of = wanted["of"]
        if short(wanted["a"]) == short(wanted["b"]):
            raise SettingsError(
                f"compare: a = b = {shown(wanted['a'])}: must be two values of {of}"
            )
        known = list(dict.fromkeys(short(case[of]) for case in cases if of in case))
        for side in ("a", "b"):
            if short(wanted[side]) not in known:
                has = ", ".join(known) if known else "none: the study does not vary it"
                raise SettingsError(
                    f"compare: {side} = {shown(wanted[side])}: must be a value of {of}: {has}"
                )


def is_by_path(found: Any) -> bool:
    """Whether this has values by paths, which are text."""
    return isinstance(found, Mapping) and all(isinstance(path, str) for path in found)


def check(study: Any) -> None:
    """Raise SettingsError for what can't be a study; values are checked when settings are made."""

    def demand(condition: bool, field: str, what: str) -> None:
        if not condition:
            raise SettingsError(f"{field} = {shown(getattr(study, field))}: must be {what}")

    def whole(field: str, low: int, high: int) -> bool:
        """Whether it is a whole number in these bounds, as 1e2 is, too."""
        value = settled(getattr(study, field), int)
        object.__setattr__(study, field, value)
        return type(value) is int and low <= value <= high

    name = study.name
    fine = isinstance(name, str) and name.replace("-", "").replace("_", "").isalnum()
    demand(fine and len(name) <= 64, "name", "letters, numbers, - and _")
    demand(isinstance(study.preset, str | None), "preset", "a name")
    for each in ("settings", "vary"):
        found = getattr(study, each)
        demand(is_by_path(found), each, "a mapping of paths to values")
    for each in ("grids", "compare"):
        found = getattr(study, each)
        fine = isinstance(found, list | tuple) and all(isinstance(x, Mapping) for x in found)
        demand(fine, each, "a list of mappings")
    for grid in study.grids:
        fine = set(grid) <= {"settings", "vary"}
        demand(
            fine and all(map(is_by_path, grid.values())),
            "grids",
            "a list of mappings, each with settings, vary or both",
        )
    demand(whole("seeds", 1, MOST_SEEDS), "seeds", f"a whole number from 1 to {MOST_SEEDS}")
    most = 2**32 - study.seeds
    demand(whole("first_seed", 0, most), "first_seed", f"a whole number from 0 to {most}")
    for each in ("block", "together"):
        unset = getattr(study, each) is None
        demand(unset or whole(each, 1, MOST_SEEDS), each, "a whole number above 0")
    for wanted in study.compare:
        check_comparison(wanted)
    for each in ("search", "paper"):
        found = getattr(study, each)
        demand(found is None or isinstance(found, Mapping), each, "a mapping")
