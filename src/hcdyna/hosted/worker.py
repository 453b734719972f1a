"""The other side of `processes.Remote`: python -m hcdyna.hosted.worker ID serves one environment.

Requests are (method, arguments, options), answers (whether it went well, what came), both pickled.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from typing import Any, BinaryIO

from hcdyna.hosted.environment import make


def serve(name: str, requests: BinaryIO, answers: BinaryIO) -> None:
    """Until there are no more requests: the other process has closed its end, or is gone."""
    env: Any = None
    while True:
        try:
            method, arguments, options = pickle.load(requests)
        except EOFError:
            return
        try:
            if method == "make":
                env, came = make(name), None
            else:
                came = getattr(env, method)(*arguments, **options)
            answer = pickle.dumps((True, came))
        except Exception as error:  # anything can go wrong in code that is not ours
            answer = pickle.dumps((False, (type(error).__name__, str(error))))
        answers.write(answer)
        answers.flush()


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for the other process to decide
    # What the environment prints must not get between the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(sys.argv[1], sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
