"""What was trained before: a run from its folder, or one agent from its file."""

import functools
from pathlib import Path

from hcdyna.runs import policy_file
from hcdyna.runs.progress import Progress
from hcdyna.runs.run import Run
from hcdyna.runs.store import Store
from hcdyna.runs.trained import TrainedAgent
from hcdyna.settings.errors import RunError
from hcdyna.settings.fields import path_of
from hcdyna.training.trainer import Saved, Trainer


def load(path: str | Path, curves: bool = True) -> Run | TrainedAgent:
    """A run from its folder, or a TrainedAgent from the file that `TrainedAgent.save` wrote.

    Loading an agent imports the modules named in its settings (for parts of your own). A run
    imports them only when its agents are used. With `curves=False`, the agents of a run can be used
    even if its curves are damaged. `load_run` and `load_agent` return a known type, for type
    checkers.

    >>> run = load("runs/mine")  # doctest: +SKIP
    >>> agent = load("mine.safetensors")  # doctest: +SKIP
    """
    path = path_of(path)
    if path.is_dir() or not (path.is_file() or path.suffix == policy_file.SUFFIX):
        return load_run(path, curves)
    return load_agent(path)


def load_agent(path: str | Path) -> TrainedAgent:
    """One agent from the file that `TrainedAgent.save` wrote; imports the modules it names."""
    path = path_of(path)
    return TrainedAgent(*policy_file.read_agent(path), about=path.name)


def load_run(folder: str | Path, curves: bool = True) -> Run:
    """A run from its folder, finished or not; its agents are read on first use.

    Modules named in its settings are imported only when its agents are used. With `curves=False`,
    the agents of a run can be used even if its curves are damaged.
    """
    store = Store.open(path_of(folder))
    try:
        progress = store.progress() if curves else Progress(store.described, store.seeds)
    except RunError as error:
        raise RunError(f"{error}; its agents can still be used (eval, watch)") from None

    def newest() -> Saved:
        trainer = Trainer(store.settings, store.seeds)
        found = trainer.newest(store)
        if found is None:
            raise RunError(f"{folder}: no checkpoint, which holds the agents of a run")
        return found

    kept = functools.cache(lambda: newest().best)
    return Run.of(progress, lambda: newest().life, store.folder, kept)
