"""hcdyna resume"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hcdyna.cli.options import RunFolder, parse
from hcdyna.settings.errors import Interrupted
from hcdyna.settings.fields import MOST, number


@dataclass(frozen=True)
class Resume:
    """Resume an interrupted run, or extend a finished one with --steps. The result is the same, bit
    for bit, as that of a run without the interruption.

    On a Gymnasium environment, the interrupted episode is replayed with the same seed and actions.
    If that leads to another state, a new episode begins, with a warning. The settings are those of
    the run; to train with others, start a new run.
    """

    run: RunFolder
    steps: int | None = number(None, at_least=1, at_most=MOST)
    """Total environment steps, including those already taken; the run's own number by default."""
    quiet: bool = False
    """Show no progress."""
    track: Literal["no", "tensorboard", "wandb"] = "no"
    """Also log to TensorBoard or Weights & Biases."""


def main(arguments: Sequence[str]) -> None:
    options = parse(Resume, arguments, "resume")
    from hcdyna.cli.show import follow
    from hcdyna.runs.beginning import longer
    from hcdyna.runs.store import Store
    from hcdyna.training.train import resume

    store = Store.open(options.run)
    agents, settings = len(store.described) * len(store.seeds), store.described[0]
    finished = store.finished and options.steps in (None, store.steps)
    settings = longer(settings, options.steps)
    with follow(settings, agents, options.quiet, options.track, options.run) as on_chunk:
        try:
            resume(options.run, on_chunk, steps=options.steps, progress=False)
        except Interrupted as stop:
            raise Interrupted(f"{stop}; resume with: hcdyna resume {options.run}") from None
    if finished and not options.quiet:
        print(f"{options.run}: finished, all {store.steps:,} steps were taken before")
