"""Runs made ready for a comparison: one curve per setting, with a name and a colour.

A curve is named after its algorithm, by the paper's name if it has one, and after whatever else
differs between the curves.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from hcdyna.runs.run import Run
from hcdyna.settings import CHOICES, Settings, registry
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.plain import PLAIN, fields_of, is_part_or_described
from hcdyna.statistics.summaries import Statistic

PAPER_NAMES = {
    "replay": "DQN",
    "on_policy": "OnPolicy-Dyna",
    "uniform": "Uniform-Dyna",
    "hill_climbing": "HC-Dyna",
    "gibbs": "Gibbs",
}
COLOURS = {
    "DQN": "#222222",
    "OnPolicy-Dyna": "#2f6fb5",
    "HC-Dyna": "#c8342c",
    "Uniform-Dyna": "#8a5fbf",
    "Gibbs": "#2c8c5a",
}
"""The paper's own for the first three."""
NAMES: dict[Statistic, str] = {"mean": "mean", "iqm": "interquartile mean"}
MORE_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f")
"""Told apart by the colour-blind too (Okabe and Ito)."""


class Curve(NamedTuple):
    """One setting of one run."""

    label: str
    colour: str
    run: Run
    setting: int

    @property
    def settings(self) -> Settings:
        return self.run.settings[self.setting]

    @property
    def world(self) -> str:
        """The environment, by the name that people know."""
        return registry.title_of(self.settings.environment)

    @property
    def returns(self) -> np.ndarray:
        """[seeds, evaluations]"""
        return self.run.mean_returns(self.setting)

    @property
    def diverged(self) -> np.ndarray:
        """[seeds, evaluations] whether an agent had diverged by then."""
        return self.run.diverged[self.setting]

    @property
    def num_diverged(self) -> int:
        return int(self.diverged[:, -1].sum()) if len(self.run.steps) else 0


def curves_of(runs: Sequence[Run], labels: Sequence[str] | None = None) -> list[Curve]:
    """All curves of some runs; `labels` has one for each curve, or for each run."""
    if not runs:
        raise SettingsError("runs = []: must be at least one")
    places = [(run, setting) for run in runs for setting in range(len(run.settings))]
    names = _labels(places) if labels is None else _given(runs, places, list(labels))
    return [
        Curve(name, colour, run, setting)
        for name, colour, (run, setting) in zip(names, _colours(names), places, strict=True)
    ]


def by_world(curves: Sequence[Curve]) -> dict[str, list[Curve]]:
    """The curves of each environment: their returns are on different scales."""
    worlds: dict[str, list[Curve]] = {}
    for curve in curves:
        worlds.setdefault(curve.world, []).append(curve)
    return worlds


def tidy(axes: Any) -> None:
    """The look of all axes with numbers: a pale grid behind, no frame above and at the right."""
    axes.grid(color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def flat(settings: Settings) -> dict[str, Any]:
    """`part.field` → value, with a `part.name` for the four choices; functions by their name. A
    part inside a part has its name at `part.field`, and its own fields at `part.field.field`."""
    found: dict[str, Any] = {}
    for name in (*CHOICES, "training", "evaluation"):
        part = getattr(settings, name)
        if name == "environment":
            found["environment.name"] = registry.title_of(part)
        elif name in CHOICES:
            found[f"{name}.name"] = registry.name_of(CHOICES[name], part)
        for field, value in fields_of(part).items():
            found |= _flat(f"{name}.{field}", value)
    return found


def _flat(path: str, value: Any) -> dict[str, Any]:
    if isinstance(value, PLAIN):
        return {path: value}
    found: dict[str, Any] = {}
    if is_part_or_described(value):
        found[path] = registry.short_name_of(value)
        inside: Iterable[tuple[Any, Any]] = fields_of(value).items()
    elif isinstance(value, tuple) and any(map(is_part_or_described, value)):
        inside = enumerate(value)
    else:
        return {
            path: value if isinstance(value, tuple) else getattr(value, "__qualname__", repr(value))
        }
    for name, inner in inside:
        found |= _flat(f"{path}.{name}", inner)
    return found


def varying(settings: Sequence[Settings]) -> list[dict[str, Any]]:
    """Of each of these settings, what differs between them.

    The options of a part are compared among those who chose the same part: that hill climbing has
    an η and replay has none goes without saying. So are those of a part inside a part.
    """
    tables = [flat(each) for each in settings]
    results: list[dict[str, Any]] = []
    for table in tables:
        different = {}
        for path, value in table.items():
            around = _around(path, table)
            alike = [
                other for other in tables if all(other.get(each) == table[each] for each in around)
            ]
            if any(other.get(path) != value for other in alike):
                different[path] = value
        results.append(different)
    return results


def _around(path: str, table: dict[str, Any]) -> list[str]:
    """Where the names of the parts stand that a field lies in, from the outermost on."""
    words = path.split(".")
    around = [".".join(words[:length]) for length in range(2, len(words))]
    return [each for each in (f"{words[0]}.name", *around) if each in table and each != path]


def algorithm(settings: Settings) -> str:
    """The paper's name of a search-control strategy, or the one it is registered under."""
    name = registry.name_of("search_control", settings.search_control)
    return PAPER_NAMES.get(name, name)


def _labels(places: list[tuple[Run, int]]) -> list[str]:
    every = [run.settings[setting] for run, setting in places]
    labels = []
    for settings, different in zip(every, varying(every), strict=True):
        words = [algorithm(settings)]
        for path, value in different.items():
            part, _, field = path.partition(".")
            if field != "name":
                shown = f"{value:g}" if isinstance(value, float) else str(value)
                words.append(f"{field.replace('_', ' ')} {shown}")
            elif part == "model":
                words.append(f"{value} model")
            elif part != "search_control":
                words.append(str(value))
        labels.append(", ".join(words))
    return _told_apart(labels, [run for run, _ in places])


def _given(runs: Sequence[Run], places: list[tuple[Run, int]], labels: list[str]) -> list[str]:
    if len(labels) == len(places):
        return labels
    if len(labels) != len(runs):
        raise SettingsError(
            f"labels = {labels!r}: must be one for each of the {len(runs)} runs "
            f"or the {len(places)} curves"
        )
    names = []
    for run, label in zip(runs, labels, strict=True):
        own = _labels([(run, setting) for setting in range(len(run.settings))])
        shared = algorithm(run.settings[0])
        names += [f"{label}{name.removeprefix(shared)}" for name in own]
    return names


def _told_apart(labels: list[str], runs: list[Run]) -> list[str]:
    """Labels that occur twice get the name of the folder, or a number."""
    twice = {label for label, count in Counter(labels).items() if count > 1}
    labels = [
        f"{label} ({run.folder.resolve().name})" if label in twice and run.folder else label
        for label, run in zip(labels, runs, strict=True)
    ]
    twice = {label for label, count in Counter(labels).items() if count > 1}
    seen: Counter[str] = Counter()
    for number, label in enumerate(labels):
        seen[label] += 1
        if label in twice:
            labels[number] = f"{label} #{seen[label]}"
    return labels


def _colours(labels: list[str]) -> list[str]:
    """The colour of its own for each of the paper's algorithms, and others in turn."""
    others = itertools.cycle(MORE_COLOURS)
    return [COLOURS.get(label) or next(others) for label in labels]
