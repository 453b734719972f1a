"""A run folder for a process that trains: begun, taken up again, or extended."""

import contextlib
import copy
import dataclasses
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hcdyna.numerics.files import explained, held
from hcdyna.runs import run_json
from hcdyna.runs.record import versions
from hcdyna.runs.store import FOLDERS, Store, in_full, step_of
from hcdyna.settings import Settings
from hcdyna.settings.errors import RunError, SettingsError


@contextlib.contextmanager
def begun(folder: Path, record: dict[str, Any]) -> Iterator[Store]:
    """The run in this folder, held for this process; it is created if there is none. If the record
    asks for another number of steps than that run was to take, these are its steps from now on."""
    if (folder / "store.json").exists() and not run_json.exists(folder):
        raise RunError(f"{folder}: is the store of a sweep; a run needs a folder of its own")
    with held(folder, FOLDERS):
        if run_json.exists(folder):
            store = Store.open(folder)
            steps = in_full(record["settings"][0])["training"]["steps"]
            store.demand_same(
                [to_steps(x, store.steps) for x in record["settings"]], record["seeds"]
            )
            yield extended(store, steps)
        else:
            yield Store.create(folder, record)


def extended(store: Store, steps: int) -> Store:
    """The run, with so many steps to take in all; the caller holds its folder.

    It goes on as if it had been that long from the start. The evaluation at an end that is no
    multiple of `every` would not have been then: the run goes back to the save before it.
    """
    before, every = store.steps, store.described[0].evaluation.every
    steps = longer(store.described[0], steps).training.steps
    if steps == before:
        return store
    paths = store.checkpoints()
    if not paths and store.progress().steps:
        raise RunError(f"{store.folder}: can't be extended: there is no checkpoint to go on from")
    done = step_of(paths[0]) if paths else 0
    if steps < done:
        raise SettingsError(f"steps = {steps}: must be at least {done}, which were taken already")
    if done == before and before % every:
        go_back(store)
    settings = [to_steps(plain, steps) for plain in store.record["settings"]]
    now = {
        "from": before,
        "to": steps,
        "versions": versions(),
        "command": sys.argv,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    record = store.record | {
        "settings": settings,
        "extended": [*store.record.get("extended", []), now],
    }
    return Store(store.folder, run_json.rewrite(store.folder, record))


def longer(settings: Settings, steps: int | None) -> Settings:
    """The settings with so many steps; as they are if there is no number."""
    if steps is None:
        return settings
    training = dataclasses.replace(settings.training, steps=steps)
    return dataclasses.replace(settings, training=training)


def to_steps(plain: dict[str, Any], steps: int) -> dict[str, Any]:
    """Plain settings with so many steps."""
    found = copy.deepcopy(plain)
    found.setdefault("training", {})["steps"] = steps
    return found


def go_back(store: Store) -> None:
    """Remove the last evaluation, and all since the checkpoint before it. The order is such that a
    run whose process ends meanwhile is an interrupted one."""
    end, every = store.steps, store.described[0].evaluation.every
    earlier = [path for path in store.checkpoints() if step_of(path) < end]
    if not earlier and end > every:
        raise RunError(
            f"{store.folder}: can't be extended: its {end} steps are no multiple of {every}, the "
            "steps between evaluations, and the checkpoint before its end is missing"
        )
    for path in earlier[:1]:
        store.read_checkpoint(path)  # a damaged one is noticed before anything is removed
    with explained(store.folder):
        for kind in ("checkpoints", "snapshots"):
            (store.folder / kind / f"step-{end:012d}.npz").unlink(missing_ok=True)
    store.forget_after(step_of(earlier[0]) if earlier else 0)
