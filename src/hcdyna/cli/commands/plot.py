"""hcdyna plot"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hcdyna.cli.options import RunFolders, parse
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.fields import number

FORMATS = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class Plot:
    """Draw the learning curves of runs, or what one agent sees."""

    runs: RunFolders
    what: Literal["curves", "agent"] = "curves"
    """curves: returns of all runs. agent: value surface, replay and queue of one agent."""
    statistic: Literal["mean", "iqm"] = "mean"
    """Mean over seeds, or the mean of the middle half of them; both with a 95% bootstrap band."""
    seed: int | None = number(None, at_least=0, at_most=2**32 - 1)
    """Which agent, for --what agent; by default the first."""
    variables: tuple[int, int] = (0, 1)
    """Which two variables to draw, where states have more."""
    out: Path = Path("curves.png")
    """The picture: .png, .svg or .pdf."""


def main(arguments: Sequence[str]) -> None:
    options = parse(Plot, arguments, "plot")
    if options.out.suffix not in FORMATS:
        raise SettingsError(f"--out {options.out}: must end in one of {', '.join(FORMATS)}")
    if not options.runs:
        raise SettingsError("plot: name at least one run folder")
    from hcdyna.cli.show import load_agents
    from hcdyna.figures.plots import plot_agent, plot_curves, save_figure
    from hcdyna.training.load import load_run

    if options.what == "curves":
        runs = [load_run(folder) for folder in options.runs]
        figure = plot_curves(runs, statistic=options.statistic)
    else:
        run = load_agents(options.runs[0])
        seed = run.seeds[0] if options.seed is None else options.seed
        figure = plot_agent(run, seed, variables=options.variables)
    print(save_figure(figure, options.out))
