"""A study: which settings, which of their values, and how many seeds; as Python or as YAML."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from hcdyna.experiments.cells import Cell
from hcdyna.settings import CHOICES, Settings, presets
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.fields import shown
from hcdyna.settings.hints import did_you_mean
from hcdyna.settings.plain import settings_from_plain, settings_to_plain
from hcdyna.sweeps.checks import check
from hcdyna.sweeps.reading import read_yaml
from hcdyna.sweeps.tasks import Case
from hcdyna.sweeps.values import native, values

PARTS = (*CHOICES, "training", "evaluation")
MOST_CELLS = 1_000_000
USUAL_BLOCK = 30
"""Seeds of a cell, where the study does not say."""


class Asked(NamedTuple):
    """A cell of a study, and what sets it apart."""

    case: Case
    cell: Cell


@dataclass(frozen=True)
class Study:
    """Settings × values × seeds.

    >>> study = Study("rates", vary={"agent.learning_rate": [1e-4, 1e-3]}, seeds=60)
    >>> [(asked.case, asked.cell.first_seed) for asked in study.cells()][:2]
    [({'agent.learning_rate': 0.0001}, 0), ({'agent.learning_rate': 0.0001}, 30)]
    """

    name: str = "study"
    preset: str | None = None
    """Source of the defaults; by default the usual preset of the environment."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Path → value, for all cells: {"environment": "MountainCar", "training.steps": 50_000}."""
    vary: Mapping[str, Any] = field(default_factory=dict)
    """Path → values: a list, or {"from": 1e-5, "to": 1e-2, "count": 7, "scale": "log"}."""
    grids: Sequence[Mapping[str, Any]] = ()
    """A list of further `settings` and `vary`, each added to those above."""
    seeds: int = 1
    first_seed: int = 0
    block: int | None = None
    """Seeds per cell; by default 30."""
    together: int | None = None
    """Cells that a worker trains at a time; by default as many as take some minutes."""
    compare: Sequence[Mapping[str, Any]] = ()
    """Comparisons to judge: {"of": "search_control", "a": "hill_climbing", "b": "replay"}."""
    search: Mapping[str, Any] | None = None
    """The search space for `--search`: see `hcdyna.sweeps.search`."""
    paper: Mapping[str, Any] | None = None
    """Figures of the paper instead: {"figures": ["fig4"], "scale": "quick"}, and seeds of each
    cell, one of the looks of `verdicts.py`, where there are to be more. Figures may be a mapping to
    the labels of some of their cells."""

    def __post_init__(self) -> None:
        for name in ("settings", "vary", "grids", "compare", "search", "paper"):
            try:
                object.__setattr__(self, name, native(getattr(self, name)))
            except RecursionError:
                raise SettingsError(f"{name}: nested too deeply") from None
        check(self)

    @staticmethod
    def read(path: str | Path) -> Study:
        """A study from a YAML file; a SettingsError names the key of a mistake."""
        path = Path(path)
        content = read_yaml(path)
        try:
            return Study.of({"name": path.stem} | content if isinstance(content, dict) else content)
        except SettingsError as error:
            raise SettingsError(f"{path}: {error}") from None

    @staticmethod
    def of(content: Any) -> Study:
        """A study from plain data, such as `plain` gives."""
        known = [each.name for each in fields(Study)]
        if not isinstance(content, Mapping):
            raise SettingsError("a study must be a mapping, with keys such as vary and seeds")
        for key in content:
            if key not in known:
                hint = did_you_mean(str(key), known)
                raise SettingsError(f"unknown key {shown(key)}: {hint}known: {', '.join(known)}")
        return Study(**content)

    def plain(self) -> dict[str, Any]:
        """All that was given, for files."""
        usual = Study()
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        if str(self.preset).endswith((".yaml", ".yml")):  # whoever reads it may be elsewhere
            found["preset"] = str(Path(str(self.preset)).absolute())
        return {name: x for name, x in found.items() if name == "name" or x != getattr(usual, name)}

    def cells(self) -> list[Asked]:
        """Every cell, in the order in which the study names them."""
        if self.paper is not None:
            found = of_the_paper(self.paper)
            for name in sorted(set(self.plain()) - {"name", "paper", "together", "compare"}):
                raise SettingsError(f"{name}: says nothing beside paper, which has its own")
            return found
        blocks = self.blocks()
        count = sum(math.prod(map(len, lists.values())) for _, lists in self._grids()) * len(blocks)
        if count > MOST_CELLS:
            raise SettingsError(f"vary: {shown(count)} cells: must be at most {MOST_CELLS}")
        return [
            Asked(case, Cell(made, count, first_seed=first))
            for case, made in self.cases()
            for first, count in blocks
        ]

    def cases(self) -> Iterator[tuple[Case, Settings]]:
        """Each combination of values, and the settings that it amounts to."""
        known: dict[Any, Settings] = {}
        for fixed, varied in self._grids():
            for chosen in itertools.product(*varied.values()):
                case = dict(zip(varied, chosen, strict=True))
                made = settings_of(self.preset, {**self.settings, **fixed, **case}, known)
                yield {**fixed, **case}, made

    def _grids(self) -> list[tuple[Mapping[str, Any], dict[str, list[Any]]]]:
        """What each grid sets, and all values of what it varies."""
        found = []
        for grid in self.grids or ({},):
            varied = {**self.vary, **grid.get("vary", {})}
            lists = {path: values(path, given) for path, given in varied.items()}
            found.append((grid.get("settings", {}), lists))
        return found

    def blocks(self) -> list[tuple[int, int]]:
        """First seed and number of seeds of each block."""
        size, last = self.block or USUAL_BLOCK, self.first_seed + self.seeds
        return [(at, min(size, last - at)) for at in range(self.first_seed, last, size)]

    def only(self, case: Case, **changes: Any) -> Study:
        """This study at one combination of values, to look closer at it."""
        return replace(self, settings={**self.settings, **case}, vary={}, grids=(), **changes)


def settings_of(
    preset: str | None, given: Mapping[str, Any], known: dict[Any, Settings] | None = None
) -> Settings:
    """The settings of a preset with some values by path. A choice is a name, or a mapping of a name
    and fields; a field is named as part.field. `known` keeps what was read of presets."""
    choices: dict[str, str] = {}
    options: dict[str, Any] = {}
    for path, value in given.items():
        if path in CHOICES:
            named = dict(value) if isinstance(value, Mapping) else {"name": value}
            name = named.pop("name", None)
            name = "true" if name is True and path == "model" else name
            if not isinstance(name, str):
                raise SettingsError(f"{path} = {shown(value)}: must be a name, or have one")
            choices[path] = name
            options |= {f"{path}.{key}": x for key, x in named.items()}
        elif path.partition(".")[0] not in PARTS or "." not in path:
            part = path.partition(".")[0]
            hint = "" if part in PARTS else did_you_mean(part, PARTS)
            raise SettingsError(
                f"{path}: no such setting: {hint}a path is one of {', '.join(CHOICES)}, or begins "
                f"with one of {', '.join(PARTS)}, as in training.steps"
            )
    plain = settings_to_plain(_preset(preset, choices, {} if known is None else known))
    for path, value in {**options, **{k: v for k, v in given.items() if "." in k}}.items():
        *outer, last = path.split(".")
        inside: Any = plain
        for name in outer:
            inside = inside.get(name) if isinstance(inside, Mapping) else None
        if not isinstance(inside, dict):
            raise SettingsError(f"{path} = {shown(value)}: there is no such part")
        inside[last] = value
    return settings_from_plain(plain)


def _preset(preset: str | None, choices: Mapping[str, str], known: dict[Any, Settings]) -> Settings:
    name = preset or presets.usual_for(choices.get("environment"))
    key = (name, *sorted(choices.items()))
    if key not in known:
        known[key] = presets.settings(name, **choices)
    return known[key]


def of_the_paper(given: Mapping[str, Any]) -> list[Asked]:
    """The cells of figures of the paper, by their labels."""
    from hcdyna.experiments.paper import FIGURES, figure
    from hcdyna.experiments.paper.scale import SCALES
    from hcdyna.statistics.verdicts import LOOKS

    names, scale, seeds = given.get("figures"), given.get("scale", "quick"), given.get("seeds", 0)
    known = {"figures", "scale", "seeds"}
    if not isinstance(scale, str) or scale not in SCALES or set(given) - known:
        raise SettingsError(
            f"paper = {shown(dict(given))}: must have figures and a scale, one of "
            f"{', '.join(SCALES)}, and may have seeds"
        )
    if type(seeds) is not int or seeds not in (0, *LOOKS):
        looks = ", ".join(map(str, LOOKS))
        raise SettingsError(f"paper: seeds = {shown(seeds)}: must be one of {looks}")
    some = names if isinstance(names, list | Mapping) else []
    if some == [] or set(map(str, some)) - set(FIGURES):
        raise SettingsError(f"paper: figures must be a list of some of {', '.join(FIGURES)}")
    found = []
    for name in some:
        cells = figure(name).cells(SCALES[scale])
        labels = some[name] if isinstance(some, Mapping) else list(cells)
        for label in labels if isinstance(labels, list | tuple) else [labels]:
            if label not in cells:
                hint = did_you_mean(str(label), list(cells))
                raise SettingsError(f"paper: {name} has no cell {shown(label)}; {hint}".strip("; "))
            case = {"figure": name, "label": label}
            found += [Asked(case, block) for block in cells[label].blocks(seeds)]
    return list({asked.cell.key: asked for asked in reversed(found)}.values())[::-1]
