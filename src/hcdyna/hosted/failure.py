"""An environment that fails must not take what was learned with it."""

from __future__ import annotations

from typing import Any

from hcdyna.errors import RunError


class HostFailed(RunError):
    """An environment failed; what was learned until then comes with the message."""

    def __init__(self, message: str, life: Any, done: int) -> None:
        super().__init__(message)
        self.life, self.done = life, done
