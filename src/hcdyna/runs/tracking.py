"""Progress to TensorBoard or Weights & Biases; both come with the extra `track`."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hcdyna.runs.progress import Progress
from hcdyna.runs.store import Store
from hcdyna.settings.errors import SettingsError


@contextlib.contextmanager
def tracker(kind: str, folder: Path) -> Iterator[Callable[[Progress], Any]]:
    """A function to call after every evaluation; logs are in the run folder."""
    try:
        if kind == "tensorboard":
            from tensorboardX import SummaryWriter
        else:
            import wandb
    except ImportError:
        raise SettingsError(
            f"track = {kind}: needs a package that is missing; pip install 'hcdyna[track]'"
        ) from None
    if kind == "tensorboard":
        with SummaryWriter(str(folder / "tensorboard")) as writer:

            def to_tensorboard(progress: Progress) -> None:
                for name, value in scalars(progress).items():
                    writer.add_scalar(name, value, progress.steps[-1])

            yield to_tensorboard
        return
    session: list[Any] = []

    def to_wandb(progress: Progress) -> None:
        if not session:  # by now the folder has its record
            record = Store.open(folder).record
            folder.joinpath("wandb").mkdir(exist_ok=True)
            session.append(
                wandb.init(project="hcdyna", name=folder.name, dir=str(folder), config=record)
            )
        session[0].log(scalars(progress), step=progress.steps[-1])

    yield to_wandb
    for each in session:
        each.finish()


def scalars(progress: Progress) -> dict[str, float]:
    """Means over agents of the latest evaluation; with several settings, of each of them."""
    found = {}
    entries = {"return": progress.returns[-1].mean(-1), "length": progress.lengths[-1].mean(-1)}
    entries |= progress.info[-1] | {"diverged": progress.diverged[-1]}
    for name, per_agent in entries.items():
        for setting, values in enumerate(per_agent):
            place = f"{name}/{setting}" if len(per_agent) > 1 else name
            found[place] = float(np.mean(values))
    return found
