"""hcdyna sweep"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from hcdyna.cli.options import Place, parse
from hcdyna.cli.output import show
from hcdyna.settings.errors import RunError, SettingsError
from hcdyna.settings.fields import number
from hcdyna.settings.words import count


@dataclass(frozen=True)
class Sweep:
    """Train all settings and seeds of a study: on this machine, a Ray cluster or under Slurm.

    Prints first how many agents and programs there are and, after a short measurement, how long
    they will take. Cells in the store are not trained again: run the same command to resume an
    interrupted sweep.
    """

    study: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="STUDY")]
    """The study, a YAML file."""
    store: Place | None = None
    """Where to keep everything, a folder that all workers see; by default sweeps/NAME."""
    on: Literal["local", "ray", "slurm"] = "local"
    """What starts the workers."""
    workers: int | None = number(None, at_least=1, at_most=100_000)
    """How many; by default one per GPU, or one per core."""
    cores: int = number(1, at_least=1, at_most=4_096)
    """CPU cores per worker."""
    gpus: float | None = number(None, at_least=0, at_most=64)
    """GPUs per worker; 0.25 for a quarter, 0 for none."""
    options: tuple[str, ...] = ()
    """For the engine, as name=value: address=ray://… or partition=gpu time=120."""
    dry_run: bool = False
    """Only print the size of the study."""
    calibrate: bool = True
    """Estimate the time from a short measurement."""
    search: bool = False
    """Search for the best settings with Optuna, as described under `search` in the study."""
    retry: bool = False
    """Retry cells that have failed."""


def main(arguments: Sequence[str]) -> None:
    options = parse(Sweep, arguments, "sweep")
    from hcdyna.sweeps import sweep
    from hcdyna.sweeps.buckets import place_of
    from hcdyna.sweeps.store import SweepStore
    from hcdyna.sweeps.study import Study

    study = Study.read(options.study)
    folder = options.store or str(Path("sweeps") / study.name)
    resources = sweep.Resources(
        options.workers, options.cores, options.gpus, pairs(options.options)
    )
    workers = sweep.engine(options.on).workers(resources)
    gpus = sweep.gpus_here(options.on, resources)
    if options.search:
        look_for_best(study, folder, options, resources)
        return
    if options.dry_run:
        there = place_of(folder).read("store.json") is not None
        known = SweepStore.open(folder) if there else None
        with naming(options.study):
            planned = sweep.plan(study, known, workers, options.calibrate, gpus=gpus)
        show(planned.line())
        return
    with naming(options.study):
        store, planned = sweep.add(study, folder, workers, options.calibrate, gpus=gpus)
    show(planned.line())
    if options.retry:
        show(f"{count(store.retry(), 'task')} to be tried again")
    with following() as follow:
        end = sweep.run(store, options.on, resources, follow)
    show(*end.failed_lines(), f"{folder}: {end.line()}")
    if end.aside:
        raise RunError(f"{count(end.aside, 'cell')} set aside; --retry tries them again")
    if not end.finished:
        show(f"look at it with: hcdyna status {folder} --watch")


def look_for_best(study: Any, folder: str, options: Sweep, resources: Any) -> None:
    """Search, or only say how much that is."""
    from hcdyna.sweeps import rounds, sweep
    from hcdyna.sweeps.extras import needed
    from hcdyna.sweeps.search import search
    from hcdyna.sweeps.store import SweepStore

    with naming(options.study):
        if options.dry_run:
            optuna, workers = needed("optuna", "--search"), sweep.engine(options.on).workers
            show(rounds.size(optuna, study, workers(resources), options.calibrate))
            return
        if options.retry:
            show(f"{count(SweepStore.create(folder).retry(), 'task')} to be tried again")
        with following() as follow:
            best = search(study, folder, options.on, resources, show, follow, options.calibrate)
    show(f"{best}: the winner, as a preset")


@contextmanager
def naming(study: Path) -> Iterator[None]:
    """Name the file in an error of a study that can't be trained."""
    try:
        yield
    except SettingsError as error:
        raise SettingsError(f"{study}: {error}") from None


def pairs(words: Sequence[str]) -> dict[str, str]:
    """name=value, each."""
    wrong = [word for word in words if "=" not in word.strip("=")]
    if wrong:
        raise SettingsError(f"sweep: --options {wrong[0]}: must be name=value")
    return {name: value for name, _, value in (word.partition("=") for word in words)}


@contextmanager
def following() -> Iterator[Callable[[Any], None]]:
    """A function that shows a status: in place on a terminal, else as a line where it changed."""
    if sys.stdout.isatty():
        from rich.live import Live

        with Live(auto_refresh=False) as live:
            yield lambda status: live.update(status.table(), refresh=True)
        return
    last = [""]

    def tell(status: Any) -> None:
        done = f"{status.done} {status.aside}"
        if done != last[0]:
            last[0] = done
            show(status.line())

    yield tell
