"""hcdyna reproduce"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from hcdyna.cli.options import parse
from hcdyna.cli.output import show
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.fields import number
from hcdyna.settings.words import count


@dataclass(frozen=True)
class Reproduce:
    """Reproduce figures of the paper: run what is missing, draw them, and judge every claim.

    Without a figure, lists them with what each costs here. Cells in the store are not run again, so
    an interrupted command continues where it stopped, and `hcdyna reproduce all --scale full` on
    the repository's store runs nothing and rebuilds every picture, table and verdict.
    """

    figures: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """fig1 … fig8, lr, ablations, or all."""
    scale: Literal["quick", "full"] = "quick"
    """full: the paper's protocol (30 seeds, 50,000 steps), for a GPU. quick: less, for a laptop."""
    out: Path | None = None
    """The store; results/paper for full, results/quick for quick."""
    merge: tuple[Path, ...] = ()
    """Stores of other machines, from which to copy missing cells."""
    seconds: float | None = number(None, at_least=0)
    """Start no further program after this time; the next call continues."""
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
    if options.on is None:
        missing = reproduction.run(chosen, options.seconds)
    else:
        sweep_figures(list(chosen), folder, options)
        missing = sum(len(reproduction.missing(name)) for name in chosen)
    if missing:
        show(f"{count(missing, 'cell')} still missing: the same command runs them")
    if options.runs_only:
        show(f"{folder / 'cells'}: what was trained")
        return
    show(reproduction.write(chosen))
    show(f"{folder / 'index.html'}: all figures and claims")
    show(f"{folder / 'figures'}: the pictures; claims.json and verdicts.md are beside it")


def sweep_figures(figures: list[str], folder: Path, options: Reproduce) -> None:
    """Train the cells of some figures as a study of the store."""
    from hcdyna.cli.commands.sweep import following
    from hcdyna.sweeps.study import Study
    from hcdyna.sweeps.sweep import sweep

    study = Study("paper", paper={"figures": figures, "scale": options.scale})
    with following() as follow:
        end = sweep(study, folder, options.on or "local", say=show, calibrate=False, follow=follow)
    show(*end.failed_lines())
