"""hcdyna reproduce"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from hcdyna.cli.options import parse
from hcdyna.cli.output import show
from hcdyna.settings.errors import RunError, SettingsError
from hcdyna.settings.fields import number
from hcdyna.settings.words import count

if TYPE_CHECKING:
    from hcdyna.experiments.paper.reproduce import Reproduction
    from hcdyna.sweeps.study import Study


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
    workers: int | None = number(None, at_least=1, at_most=100_000)
    """How many workers, with `--on`; by default one per GPU, or one per core."""
    gpus: float | None = number(None, at_least=0, at_most=64)
    """GPUs per worker, with `--on`; 0.1 lets ten share one."""
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
    from hcdyna.cli.commands.sweep import following
    from hcdyna.sweeps.paper import train_figures, train_here
    from hcdyna.sweeps.sweep import Resources, sweep

    def start(study: "Study", seconds: float) -> None:
        if options.on is None:
            end = train_here(reproduction, study, seconds)
        else:
            folder = reproduction.folder
            with following() as follow:
                end = sweep(
                    *(study, folder, options.on, Resources(options.workers, gpus=options.gpus)),
                    say=show, calibrate=False, follow=follow,
                )  # fmt: skip
        if end.aside:
            show(*end.failed_lines())
            raise RunError(f"{count(end.aside, 'cell')} failed; the same command tries again")

    for name in ("workers", "gpus"):
        given = getattr(options, name)
        if options.on is None and given is not None:
            raise SettingsError(f"--{name} {given}: is for workers; add --on local, ray or slurm")
    if options.on is not None and options.seconds:
        raise SettingsError(
            f"--seconds {options.seconds}: is for training in this process; leave out --on"
        )
    seconds = math.inf if options.seconds is None else options.seconds
    return train_figures(
        reproduction, figures, start, options.seeds or 0, options.undecided, seconds
    )
