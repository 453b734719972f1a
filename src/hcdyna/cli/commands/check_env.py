"""hcdyna check-env"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import tyro
from rich.table import Table

from hcdyna.cli.options import parse
from hcdyna.cli.output import show
from hcdyna.settings.by_place import FunctionByPlace
from hcdyna.settings.fields import number
from hcdyna.settings.importing import place_of


@dataclass(frozen=True)
class CheckEnv:
    """Check if a Gymnasium environment can be trained on, how fast it is and what is assumed."""

    id: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="ID")]
    """CartPole-v1, my_package:MyEnv-v0 (imports my_package), or my_module:make_env (a function)."""
    kwargs: Annotated[tuple[str, ...], tyro.conf.arg(name="env.kwargs")] = ()
    """Keyword arguments of gymnasium.make or of the function, such as continuous=true."""
    steps: int = number(1_000, at_least=1, at_most=1_000_000_000)
    """Random steps to take."""
    reset_timeout: Annotated[float, tyro.conf.arg(name="env.reset-timeout")] = 60.0
    """Timeout of `reset` in seconds."""
    step_timeout: Annotated[float, tyro.conf.arg(name="env.step-timeout")] = 60.0
    """Timeout of `step` in seconds."""
    terminal: Annotated[
        FunctionByPlace[Callable[..., Any] | None], tyro.conf.arg(name="env.terminal")
    ] = None
    """JAX function obs [d] → whether an episode ends there, to compare with the random steps."""
    processes: Annotated[Literal["auto", "on", "off"], tyro.conf.arg(name="env.processes")] = "auto"
    """on: step it in a separate process."""


def main(arguments: Sequence[str]) -> None:
    options = parse(CheckEnv, arguments, "check-env")
    from hcdyna.gymnasium.theirs.checking import check_environment
    from hcdyna.gymnasium.theirs.environment import Hosted
    from hcdyna.settings.registry import factory_at

    hosted = Hosted(
        options.id,
        kwargs=options.kwargs,
        factory=factory_at(options.id),
        reset_timeout=options.reset_timeout,
        step_timeout=options.step_timeout,
        terminal=options.terminal,
        processes=options.processes,
    )
    found = check_environment(hosted, options.steps)
    table = Table(title=f"{options.id}: can be used", show_header=False)
    for topic, words in found.items():
        table.add_row(topic, words)
    show(table)
    more = f" --env.kwargs {' '.join(options.kwargs)}" if options.kwargs else ""
    if options.terminal is not None:
        more += f" --env.terminal {place_of(options.terminal)}"
    print(f"Train with: hcdyna train --env {options.id}{more} --steps 20000 --seeds 4")
