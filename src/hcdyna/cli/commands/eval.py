"""hcdyna eval"""

from collections.abc import Sequence
from dataclasses import dataclass

from hcdyna.cli.options import RunFolder, parse
from hcdyna.cli.output import show
from hcdyna.settings.fields import MOST_EPISODES, number
from hcdyna.settings.words import count


@dataclass(frozen=True)
class Eval:
    """Evaluate the trained agents of a run on new episodes, and print a row for each."""

    run: RunFolder
    episodes: int = number(20, at_least=1, at_most=MOST_EPISODES)
    """Episodes per agent."""
    epsilon: float | None = number(None, at_least=0, at_most=1)
    """Share of random actions; by default that of the run's evaluations."""
    best: bool = False
    """Each agent as it was in its best evaluation, not as it is at the end."""


def main(arguments: Sequence[str]) -> None:
    options = parse(Eval, arguments, "eval")
    from rich.table import Table

    from hcdyna.cli.show import cell, load_agents

    run = load_agents(options.run)
    returns, lengths = run.evaluate(options.episodes, options.epsilon, options.best)
    which = ", policies of the best evaluations" if options.best else ""
    table = Table(title=f"{options.run}: {count(options.episodes, 'episode')} per agent{which}")
    for heading in ("setting", "seed", "mean return", "worst", "best", "mean length"):
        table.add_column(heading, justify="right")
    for setting in range(len(run.settings)):
        for seed, mine, steps in zip(run.seeds, returns[setting], lengths[setting], strict=True):
            numbers = (mine.mean(), mine.min(), mine.max(), steps.mean())
            table.add_row(str(setting), str(seed), *(f"{x:.1f}" for x in numbers))
        everyone = cell(returns[setting].mean(axis=-1))
        length = f"{lengths[setting].mean():.1f}"
        table.add_section()
        worst, best = returns[setting].min(), returns[setting].max()
        table.add_row(str(setting), "all", everyone, f"{worst:.1f}", f"{best:.1f}", length)
        table.add_section()
    show(table)
