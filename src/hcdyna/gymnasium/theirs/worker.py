"""The other side of `processes.Remote`: python -m hcdyna.gymnasium.theirs.worker RECIPE PARENT
serves one environment to the process with that number.

Requests are (method, arguments, options), answers (whether it went well, what came), both pickled.
"""

import ctypes
import json
import os
import pickle
import signal
import sys
import threading
import time
import warnings
from typing import Any, BinaryIO

from hcdyna.gymnasium.theirs.failure import text_of
from hcdyna.gymnasium.theirs.making import Recipe, make
from hcdyna.settings.importing import imported

ENTRIES = {"reset": 2, "step": 5}
"""Of what these return; the last is `info`."""
PR_SET_PDEATHSIG = 1


def serve(words: str, requests: BinaryIO, answers: BinaryIO) -> None:
    """Until there are no more requests: the other process has closed its end, or is gone."""
    env: Any = None
    while True:
        try:
            method, arguments, options = pickle.load(requests)
        except EOFError:
            return
        try:
            if method == "make":
                env, came = make(recipe(words), **options), None
            else:
                came = without_info(method, getattr(env, method)(*arguments, **options))
            answer = pickle.dumps((True, came))
        except BaseException as error:  # anything can go wrong in code that is not ours
            answer = pickle.dumps((False, (type(error).__name__, text_of(error))))
        answers.write(answer)
        answers.flush()


def recipe(words: str) -> Recipe:
    """What `processes.in_words` was given."""
    id, kwargs, spec, place = json.loads(words)
    return Recipe(id, tuple(kwargs), spec, None if place is None else imported(place))


def without_info(method: str, came: Any) -> Any:
    """Nobody reads it there, and it may hold what can't be sent."""
    if isinstance(came, tuple) and len(came) == ENTRIES.get(method):
        return *came[:-1], {}
    return came


def end_with(parent: int) -> None:
    """End this process when the other has ended in any way, even if the environment hangs."""
    if sys.platform == "linux":  # also where the environment lets no other thread run
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # It is for the other process to decide. Unlike SIG_IGN, programs started here don't inherit
        # this.
        signal.signal(number, lambda number, frame: None)
    # The other process has said so before.
    warnings.filterwarnings("ignore", "importing .*, which is named in the settings")
    end_with(int(sys.argv[2]))
    # What the environment prints must not get between the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(sys.argv[1], sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
