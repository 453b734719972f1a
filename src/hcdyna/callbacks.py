"""Ready-made functions for `train(…, on_evaluation=…)`, which is called after every evaluation.

A callback is a function of a `Progress`; training stops early if it returns True.

    from hcdyna import Settings, callbacks, train
    both = callbacks.all_of(callbacks.print_progress(), callbacks.stop_at_return(-60))
    run = train(Settings(), seeds=10, on_evaluation=both)
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from hcdyna.settings.errors import SettingsError
from hcdyna.settings.fields import is_real, shown

if TYPE_CHECKING:
    from hcdyna.runs.progress import Progress

Callback = Callable[["Progress"], Any]


def stop_at_return(value: float, window: int = 5) -> Callback:
    """Stop once the mean return over seeds and the last `window` evaluations is at least `value`,
    for each of several settings. An agent without a finite return prevents it."""
    if not is_real(value):
        raise SettingsError(f"value = {shown(value)}: must be a finite number")
    if type(window) is not int or window < 1:
        raise SettingsError(f"window = {shown(window)}: must be a whole number from 1 on")

    def stop(progress: Progress) -> bool:
        if len(progress.returns) < window:
            return False
        latest = np.stack(progress.returns[-window:])  # [window, settings, seeds, episodes]
        return bool((latest.mean(axis=(0, 2, 3)) >= value).all())

    return stop


def print_progress() -> Callback:
    """Print a line after every evaluation: steps, speed, returns and remaining time."""
    pace = Pace()

    def report(progress: Progress) -> None:
        step, total = progress.steps[-1], progress.settings[0].training.steps
        agents = len(progress.settings) * len(progress.seeds)
        speed = pace.of(progress) * agents
        left = (total - step) * agents / speed if speed else 0.0
        print(
            f"{step:>9,} of {total:,} steps  {speed:>8,.0f} steps/s  {brief(progress)}  "
            f"{left:,.0f} s left",
            flush=True,
        )

    return report


def all_of(*callbacks: Callback) -> Callback:
    """Call all callbacks in order; stop if any of them returns True.

    >>> both = all_of(lambda progress: print("called"), lambda progress: True)
    >>> both(None)
    called
    True
    """

    for callback in callbacks:
        if not callable(callback):
            raise SettingsError(f"callback = {shown(callback)}: must be a function of a Progress")

    def call(progress: Progress) -> bool:
        answers = [callback(progress) for callback in callbacks]
        return any(is_true(answer) for answer in answers)

    return call


def is_true(answer: Any) -> bool:
    """Whether a callback says True, be it Python's, NumPy's or JAX's; other answers count for
    nothing.

    >>> is_true(np.bool_(True)), is_true(1), is_true("yes")
    (True, False, False)
    """
    truth = isinstance(answer, bool) or getattr(answer, "dtype", None) == np.bool_
    return truth and np.ndim(answer) == 0 and bool(answer)


class Pace:
    """Environment steps per second of one agent, if asked after every evaluation."""

    def __init__(self) -> None:
        self.time = time.monotonic()

    def of(self, progress: Progress) -> float:
        """The pace of the steps since the evaluation before; the first one includes compilation."""
        now = time.monotonic()
        elapsed, self.time = now - self.time, now
        before, last = ([0, *progress.steps])[-2:]
        return (last - before) / max(elapsed, 1e-9)


def brief(progress: Progress) -> str:
    """The latest mean return, its standard deviation over agents, and how many have diverged."""
    returns = progress.returns[-1].mean(axis=-1)
    diverged = int(progress.diverged[-1].sum())
    text = f"return {returns.mean():.1f}"
    if returns.size > 1:  # one agent has no spread
        text += f" ± {returns.std():.1f}"
    return f"{text}, {diverged} diverged" if diverged else text
