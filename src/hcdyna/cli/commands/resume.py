"""hcdyna resume"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hcdyna.cli.options import RunFolder, parse
from hcdyna.settings.errors import Interrupted


@dataclass(frozen=True)
class Resume:
    """Go on with an interrupted run, to exactly the end that it would have had.

    On a Gymnasium environment the interrupted episode is taken again, with the same seed and
    actions; an environment that does not come to the same state then begins a new episode, and a
    warning says so. The settings are those of the run; to train under others, start another run.
    """

    run: RunFolder
    quiet: bool = False
    """Show no progress."""
    track: Literal["no", "tensorboard", "wandb"] = "no"
    """Also log to TensorBoard or Weights & Biases."""


def main(arguments: Sequence[str]) -> None:
    options = parse(Resume, arguments, "resume")
    from hcdyna.cli.show import follow
    from hcdyna.runs.store import Store
    from hcdyna.training.train import resume

    store = Store.open(options.run)
    agents, end = len(store.described) * len(store.seeds), store.described[0].training.steps
    if store.finished and not options.quiet:
        print(f"{options.run}: finished, all {end:,} steps were taken before")
    with follow(store.described[0], agents, options.quiet, options.track, options.run) as on_chunk:
        try:
            resume(options.run, on_chunk, progress=False)
        except Interrupted as stop:
            raise Interrupted(f"{stop}; resume with: hcdyna resume {options.run}") from None
