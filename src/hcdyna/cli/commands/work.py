"""hcdyna work"""

import ctypes
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from hcdyna.cli.options import StoreName, parse
from hcdyna.cli.output import say
from hcdyna.settings.fields import number


@dataclass(frozen=True)
class Work:
    """Take tasks from the store of a sweep and train them, until none is left.

    Any number of workers can do this at the same time, on any machine that sees the store. A worker
    that is stopped with Ctrl-C or SIGTERM saves its task and exits with code 75; the next worker
    resumes the task.
    """

    store: StoreName
    seconds: float | None = number(None, at_least=0)
    """Take no further task after this many seconds."""
    wait: bool = True
    """Wait for the tasks of other workers, to take over from workers that are lost."""


def main(arguments: Sequence[str]) -> None:
    options = parse(Work, arguments, "work")
    if os.environ.get("HCDYNA_ENDS_WITH_PARENT") and sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG: no worker is left behind
    import math

    from hcdyna.settings.words import count
    from hcdyna.sweeps.worker import work

    seconds = math.inf if options.seconds is None else options.seconds
    trained = work(options.store, lambda line: say(line), seconds, options.wait)
    print(f"{count(trained, 'task')} trained here")
