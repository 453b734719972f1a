"""hcdyna reproduce"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from hcdyna.cli.options import parse
from hcdyna.cli.output import show
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.fields import number
from hcdyna.settings.words import count

if TYPE_CHECKING:
    from hcdyna.experiments.paper.reproduce import Reproduction


@dataclass(frozen=True)
class Reproduce:
    """Reproduce figures of the paper: run what is missing, draw them, and judge every claim.

    Without a figure, lists them with what each costs here. Cells in the store are not run again, so
    an interrupted command continues where it stopped. With `--seconds 0` nothing is run, and every
    picture, table and verdict is made again from the store.
    """

    figures: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """fig1 … fig8, lr, ablations, strategies, or all."""
    scale: Literal["quick", "full"] = "quick"
    """full: the paper's protocol (30 seeds, 50,000 steps), for a GPU. quick: less, for a laptop."""
    out: Path | None = None
    """The store; results/paper for full, results/quick for quick."""
    seeds: Literal[30, 100, 200, 400, 1000] | None = None
    """Seeds of every cell, one of the five looks that the rule of verdicts allows; those of the
    scale if not given. What is in the store is not run again."""
    undecided: Literal[100, 200, 400, 1000] | None = None
    """Then go on with the cells of claims that are still undecided, look by look, up to so many
    seeds; not at all if not given."""
    merge: tuple[Path, ...] = ()
    """Stores of other machines, from which to copy missing cells."""
    seconds: float | None = number(None, at_least=0)
    """Start no further program after this time; the next call continues. 0: train nothing."""
    on: Literal["local", "ray", "slurm"] | None = None
    """Train as a sweep: see `hcdyna sweep --help`. By default in this process."""
    runs_only: bool = False
    """Train only: no pictures, no verdicts."""


def main(arguments: Sequence[str]) -> None:
    options = parse(Reproduce, arguments, "reproduce")
    from hcdyna.experiments.paper import FIGURES
    from hcdyna.experiments.paper.reproduce import Reproduction

    unknown = [name for name in options.figures if name not in (*FIGURES, "all")]
    if unknown:
        raise SettingsError(f"figure = {unknown[0]!r}: must be one of {', '.join(FIGURES)}, or all")
    folder = options.out or Path("results") / ("paper" if options.scale == "full" else "quick")
    reproduction = Reproduction(folder, options.scale, show)
    for other in options.merge:
        show(f"{count(reproduction.store.merge(other), 'cell')} from {other}")
    if not options.figures:
        show(reproduction.listing())
        return
    chosen = FIGURES if "all" in options.figures else options.figures
    missing = train(reproduction, chosen, options)
    if missing:
        where = reproduction.gaps(chosen)
        without = " without --seconds" if options.seconds == 0 else ""
        show(f"{count(missing, 'cell')} still missing{f' ({where})' if where else ''}")
        show(f"the same command{without} runs them; their claims are not run, or undecided")
    if options.runs_only:
        show(f"{folder / 'cells'}: what was trained")
        return
    show(reproduction.write(chosen))
    show(f"{folder / 'index.html'}: all figures and claims")
    show(f"{folder / 'figures'}: the pictures; claims.json and verdicts.md are beside it")


def train(reproduction: "Reproduction", figures: Sequence[str], options: Reproduce) -> int:
    """Train what is asked for; how many cells are still missing then."""
    seeds, begin = options.seeds or 0, time.perf_counter()
    if options.on is None:
        missing = reproduction.run(figures, options.seconds, seeds)
    else:
        if options.undecided is not None:
            raise SettingsError("--undecided: looks at the verdicts in between; leave out --on")
        sweep_figures(list(figures), reproduction.folder, options)
        wanted = reproduction.wanted(figures, seeds)
        missing = sum(not reproduction.store.has(cell) for cell in wanted)
    if missing or options.undecided is None:
        return missing
    took = time.perf_counter() - begin
    left = None if options.seconds is None else options.seconds - took
    return reproduction.run_undecided(figures, options.undecided, left)


def sweep_figures(figures: list[str], folder: Path, options: Reproduce) -> None:
    """Train the cells of some figures as a study of the store."""
    from hcdyna.cli.commands.sweep import following
    from hcdyna.sweeps.study import Study
    from hcdyna.sweeps.sweep import sweep

    seeds = {} if options.seeds is None else {"seeds": options.seeds}
    study = Study("paper", paper={"figures": figures, "scale": options.scale} | seeds)
    with following() as follow:
        end = sweep(study, folder, options.on or "local", say=show, calibrate=False, follow=follow)
    show(*end.failed_lines())
