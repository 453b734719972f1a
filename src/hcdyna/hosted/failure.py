"""An environment that fails must not take what was learned with it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from hcdyna.errors import RunError
from hcdyna.hosted.environment import Hosted


class HostFailed(RunError):
    """An environment failed; what was learned until then comes with the message."""

    def __init__(self, message: str, life: Any, done: int) -> None:
        super().__init__(message)
        self.life, self.done = life, done


def within(hosted: Hosted, call: Callable[[], Any], step: int = 0) -> Any:
    """Call, and give up after the time that `reset` may take; it is due after so many steps."""
    found: list[Any] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(call())
        except BaseException as error:  # it is raised again in the thread that waits
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(hosted.reset_timeout)
    if failed:
        raise failed[0]
    if not found:
        raise RunError(
            f"{hosted.id}: reset did not return within {hosted.reset_timeout:g} s (step {step} of "
            "this process); give --env.reset-timeout if it needs longer"
        )
    return found[0]
