"""hcdyna report"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hcdyna.cli.options import RunFolders, demand_spare, parse, store_in
from hcdyna.settings.errors import SettingsError


@dataclass(frozen=True)
class Report:
    """Write an interactive HTML page about one run, several runs or the store of a sweep. The page
    works offline."""

    runs: RunFolders
    out: Path | None = None
    """The page; by default report.html in the run folder or store, or in this folder for several
    runs and for object storage."""


def main(arguments: Sequence[str]) -> None:
    options = parse(Report, arguments, "report")
    if not options.runs:
        raise SettingsError("report: name at least one run folder")
    if options.out is not None:
        demand_spare(options.out)
    from hcdyna.figures.report import write_report
    from hcdyna.numerics.files import explained
    from hcdyna.training.load import load_run

    store = store_in(options.runs[0]) if len(options.runs) == 1 else None
    if store is not None:
        from hcdyna.sweeps.report import report
        from hcdyna.sweeps.store import SweepStore

        home = Path() if "://" in store else options.runs[0]
        with explained(home):
            print(report(SweepStore.open(store), options.out or home / "report.html"))
        return
    home = options.runs[0] if len(options.runs) == 1 else Path()
    out = options.out or home / "report.html"
    runs = [load_run(folder) for folder in options.runs]
    with explained(out):
        write_report(runs, out)
    print(out)
