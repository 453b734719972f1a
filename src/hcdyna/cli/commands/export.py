"""hcdyna export"""

import csv
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hcdyna.cli.options import RunFolder, demand_spare, parse, store_in
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.words import count


@dataclass(frozen=True)
class Export:
    """Write the curves or diagnostics of a run as a tidy table, or all curves of a sweep."""

    run: RunFolder
    csv: bool = False
    """As CSV, to standard output unless --out is given."""
    parquet: bool = False
    """As Parquet, to --out; needs pyarrow."""
    what: Literal["curves", "diagnostics"] = "curves"
    """Evaluation episodes, or what training reports."""
    out: Path | None = None
    """The file to write."""


def main(arguments: Sequence[str]) -> None:
    options = parse(Export, arguments, "export")
    if options.csv == options.parquet:
        raise SettingsError("export: choose one of --csv and --parquet")
    if options.parquet and options.out is None:
        raise SettingsError("export: --parquet needs a file, --out FILE")
    if options.out is not None:
        demand_spare(options.out)
    from hcdyna.numerics.files import explained
    from hcdyna.training.load import load_run

    store = store_in(options.run)
    if store is not None:
        columns = of_a_store(store, options)
    else:
        run = load_run(options.run)
        columns = run.curves() if options.what == "curves" else run.diagnostics()
    if options.out is None:
        write_csv(sys.stdout, columns)
        return
    with explained(options.out):
        if options.parquet:
            write_parquet(options.out, columns)
        else:
            with open(options.out, "w", newline="", encoding="utf-8") as file:
                write_csv(file, columns)
    print(f"{options.out}: {count(len(next(iter(columns.values()))), 'row')}")


def of_a_store(name: str, options: Export) -> dict[str, Any]:
    """All curves of a sweep, with the values that set them apart."""
    from hcdyna.sweeps.outcomes import everything, table
    from hcdyna.sweeps.store import SweepStore

    if options.what != "curves":
        raise SettingsError("export: the cells of a sweep keep curves, not diagnostics")
    store = SweepStore.open(name)
    return table(everything(store, store.studies()))


def write_csv(file: Any, columns: dict[str, Any]) -> None:
    """A header and a line per row; floats in full, so that they read back as the same number."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    rows: Iterable[tuple[Any, ...]] = zip(*(x.tolist() for x in columns.values()), strict=True)
    writer.writerows(rows)


def write_parquet(path: Path, columns: dict[str, Any]) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise SettingsError("export --parquet: needs pyarrow; pip install pyarrow") from None
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
