"""hcdyna list"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hcdyna.cli.options import parse
from hcdyna.settings import presets, registry
from hcdyna.settings.errors import RunError, SettingsError

GROUPS = {
    "environments": "environments",
    "strategies": "search_control",
    "agents": "agents",
    "models": "models",
}
USUAL = Path("runs")
Kind = Literal["environments", "strategies", "agents", "models", "presets", "runs"]


@dataclass(frozen=True)
class List:
    """List environments, strategies, agents, models, presets or runs."""

    what: Annotated[Kind | None, tyro.conf.Positional] = None
    """What to list; by default everything but runs."""
    folder: Path = USUAL
    """Where to look for runs."""


def main(arguments: Sequence[str]) -> None:
    options = parse(List, arguments, "list")
    console = Console(width=100)
    kinds = [options.what] if options.what else [*GROUPS, "presets"]
    for kind in kinds:
        if kind == "runs":
            console.print(runs(options.folder))
        elif kind == "presets":
            found = {name: presets.read(name).get("description", "") for name in presets.names()}
            console.print(listing("presets", found))
        else:
            group = GROUPS[kind]
            rows = {name: about(group, name) for name in registry.available(group)}
            if kind == "environments":
                rows["any Gymnasium id"] = rows.pop("hosted")
            console.print(listing(kind, rows))


def about(group: str, name: str) -> str:
    """The first sentence of its documentation."""
    try:
        text = registry.lookup(group, name).__doc__ or ""
    except Exception as error:  # a plug-in that can't be imported must not hide the others
        return f"can't be imported: {error}"
    paragraph = " ".join(text.strip().partition("\n\n")[0].split())
    return re.split(r"(?<=\.) (?=[A-Z])", paragraph)[0]


def listing(title: str, rows: dict[str, str]) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("name")
    table.add_column("what it is")
    for name, text in rows.items():
        table.add_row(escape(name), escape(text))  # [states, actions] is no markup
    return table


def runs(folder: Path) -> Table:
    """Every run below a folder, with how far it is and how it does."""
    from hcdyna.training.load import load_run

    if not folder.is_dir() and folder != USUAL:  # which there is only after the first run
        raise RunError(f"--folder {folder}: no such folder")
    table = Table(title=escape(f"runs in {folder}"), title_justify="left")
    table.add_column("run", overflow="fold")  # a name that was cut could not be used
    for heading in ("domain", "strategy"):
        table.add_column(heading, overflow="fold")
    for heading in ("n", "seeds", "steps", "last return"):
        table.add_column(heading, justify="right")
    for path in sorted(found.parent for found in folder.rglob("run.json")):
        place = escape(str(path.relative_to(folder)))
        try:
            run = load_run(path)
        except (RunError, SettingsError) as error:
            table.add_row(place, escape(f"can't be read: {error}"))
            continue
        settings, done = run.settings[0], len(run.steps)
        table.add_row(
            place,
            escape(registry.title_of(settings.environment)),
            escape(registry.name_of("search_control", settings.search_control)),
            str(settings.training.planning_steps),
            str(len(run.seeds)),
            steps_taken(int(run.steps[-1]) if done else 0, settings.training.steps),
            last_return(run) if done else "",
        )
    return table


def steps_taken(taken: int, wanted: int) -> str:
    """5,000, or 3,000 of 5,000 if the run is not finished."""
    return f"{taken:,}" if taken == wanted else f"{taken:,} of {wanted:,}"


def last_return(run: Any) -> str:
    """The return in the latest evaluation, and how many agents have diverged, if any have."""
    from hcdyna.cli.show import cell

    text, broken = cell(run.mean_returns()[:, -1]), int(run.diverged[:, :, -1].sum())
    return f"{text}, {broken} diverged" if broken else text
