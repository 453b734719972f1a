"""What a study says of its search, checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hcdyna.settings.errors import SettingsError
from hcdyna.settings.fields import shown
from hcdyna.settings.hints import did_you_mean
from hcdyna.sweeps.study import Study

KEYS = ("space", "trials", "batch", "rounds", "metric")


@dataclass(frozen=True)
class Wanted:
    """The space, and how to go about it."""

    space: Mapping[str, Any]
    trials: int = 32
    batch: int = 8
    rounds: int = 1
    metric: str = "last"

    @staticmethod
    def of(study: Study) -> "Wanted":
        given = study.search
        if given is None or not isinstance(given.get("space"), Mapping) or not given["space"]:
            raise SettingsError("--search: the study needs search: {space: {path: range, …}}")
        for key in given:
            if key not in KEYS:
                hint = did_you_mean(str(key), KEYS)
                raise SettingsError(f"search: unknown key {key!r}: {hint}known: {', '.join(KEYS)}")
        found = Wanted(**given)
        for key, most in (("trials", 100_000), ("batch", 10_000), ("rounds", 6)):
            value = getattr(found, key)
            if type(value) is not int or not 1 <= value <= most:
                raise SettingsError(
                    f"search: {key} = {shown(value)}: must be a whole number from 1 to {most}"
                )
        if found.metric not in ("last", "area"):
            raise SettingsError(f"search: metric = {shown(found.metric)}: must be last or area")
        return found
