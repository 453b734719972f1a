"""hcdyna status"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from hcdyna.cli.options import StoreName, parse
from hcdyna.cli.output import show
from hcdyna.settings.fields import number


@dataclass(frozen=True)
class Status:
    """Show the state of a sweep: done, running (and where), waiting, failed, time left."""

    store: StoreName
    watch: bool = False
    """Refresh until everything is done."""
    every: float = number(2.0, at_least=0.1, at_most=86_400)
    """Seconds between two refreshes, with --watch."""


def main(arguments: Sequence[str]) -> None:
    options = parse(Status, arguments, "status")
    from hcdyna.cli.commands.sweep import following
    from hcdyna.sweeps.status import status
    from hcdyna.sweeps.store import SweepStore

    store = SweepStore.open(options.store)
    if options.watch:
        with following() as follow:
            while not (now := status(store)).finished:
                follow(now)
                time.sleep(options.every)
    now = status(store)
    show(now.table() if now.where else now.line(), *now.failed_lines())
