"""What people see while agents train, and the table at the end."""

import contextlib
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from hcdyna.callbacks import print_progress
from hcdyna.runs.progress import Progress
from hcdyna.runs.run import Run
from hcdyna.runs.tracking import tracker
from hcdyna.settings import Settings
from hcdyna.settings.errors import RunError
from hcdyna.statistics.summaries import mean_interval
from hcdyna.training.load import load_run
from hcdyna.training.showing import bar

OnChunk = Callable[[Progress], Any]


@contextlib.contextmanager
def follow(
    settings: Settings, agents: int, quiet: bool, track: str, folder: Path
) -> Iterator[OnChunk]:
    """A function to call after every evaluation: shows progress, and logs it if asked to."""
    with contextlib.ExitStack() as stack:
        calls: list[OnChunk] = []
        if track != "no":
            calls.append(stack.enter_context(tracker(track, folder)))
        last: list[Progress] = []
        if not quiet:
            if sys.stdout.isatty():
                calls.append(stack.enter_context(bar(settings, agents)))
            else:
                calls.append(print_progress())
            calls.append(lambda progress: last.append(progress))

        def on_chunk(progress: Progress) -> None:
            for call in calls:
                call(progress)

        yield on_chunk
    if last:
        width = min(Console().width, 100) if sys.stdout.isatty() else 100
        Console(width=width).print(outcome(Run.of(last[-1], lambda: None)))


def outcome(run: Run) -> Table:
    """Mean return and its 95% interval over seeds, halfway and at the end, for each setting."""
    steps = run.steps.tolist()
    halfway, end = max(0, len(steps) // 2 - 1), len(steps) - 1
    table = Table(title="Mean return of an evaluation episode [95% interval over seeds]")
    table.add_column("setting")
    table.add_column("agents", justify="right")
    table.add_column("diverged", justify="right")
    for column in sorted({halfway, end}):
        table.add_column(f"at {steps[column]:,} steps", justify="right")
    for setting in range(len(run.settings)):
        returns = run.mean_returns(setting)
        cells = [cell(returns[:, column]) for column in sorted({halfway, end})]
        broken = int(run.diverged[setting, :, end].sum())
        table.add_row(str(setting), str(len(run.seeds)), str(broken), *cells)
    return table


def cell(per_seed: Any) -> str:
    """−120.3 [−150.2, −100.1]; one seed has no interval."""
    mean, low, high = mean_interval(per_seed)
    return f"{mean:.1f}" if len(per_seed) == 1 else f"{mean:.1f} [{low:.1f}, {high:.1f}]"


def load_agents(path: Path, load: Callable[..., Any] = load_run) -> Any:
    """What `load` finds, for its agents; if the curves are damaged, a warning says so."""
    try:
        return load(path)
    except RunError as error:
        found = load(path, curves=False)
        warnings.warn(str(error), stacklevel=2)
        return found
