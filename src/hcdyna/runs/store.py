"""One folder a run: what was asked for, the curves as they grow, and the newest two checkpoints.

    run.json           settings, seeds, versions, device, commit, command line, extensions
    curves/            one .npz per save: evaluations and diagnostics since the save before
    checkpoints/       step-….npz, the newest two
    snapshots/         what the first agent sees, for pictures
    lock               held by the process that is training

Every file holds a checksum, of which run it belongs to included; a checkpoint says how many
evaluations belong to it. So what is damaged, missing, renamed or of another run is noticed.
"""

from __future__ import annotations

import contextlib
import functools
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from hcdyna.numerics.files import explained, held, read_arrays, write_arrays
from hcdyna.runs import run_json
from hcdyna.runs.progress import Progress
from hcdyna.settings import Settings, evaluated_after, evaluations_until
from hcdyna.settings.errors import RunError
from hcdyna.settings.plain import differences, settings_from_plain, settings_to_plain, to_act
from hcdyna.settings.stored import brought_up_to_date

EPISODES = ("returns", "lengths", "diverged")
KEPT = 2
"""Checkpoints to keep: if the newest is damaged, the one before it serves."""
FOLDERS = ("curves", "checkpoints", "snapshots")


class Store:
    """A run folder."""

    def __init__(self, folder: Path, record: dict[str, Any]) -> None:
        self.folder, self.record = folder, record
        self.described: list[Settings] = [
            settings_from_plain(brought_up_to_date(plain), look=True)
            for plain in record["settings"]
        ]
        """The settings to look at; parts of the user's own are not imported."""
        self.seeds: list[int] = record["seeds"]
        self.steps = self.described[0].training.steps
        """Those that the run takes in all; checkpoints may be from when it was to take fewer."""
        self.run: str | None = record.get("run", record.get("checksum"))
        """What sets the files of this run apart from those of others; None in format 1."""

    @functools.cached_property
    def settings(self) -> list[Settings]:
        """The settings to train or act with; imports the modules that they name."""
        return [to_act(settings) for settings in self.described]

    @staticmethod
    def create(folder: Path, record: dict[str, Any]) -> Store:
        """Start a run folder; it may exist, but must not hold a run yet."""
        with explained(folder):
            for name in FOLDERS:
                (folder / name).mkdir(parents=True, exist_ok=True)
        return Store(folder, run_json.create(folder, record))

    @staticmethod
    def open(folder: str | Path) -> Store:
        """An existing run; RunError, in one line, if this is not one."""
        folder = Path(folder)
        if not run_json.exists(folder):
            raise RunError(f"{folder}: not a run folder (it has no run.json)")
        try:
            return Store(folder, run_json.read(folder))
        except (OSError, ValueError, TypeError, RecursionError) as error:
            what = "nested too deep" if isinstance(error, RecursionError) else str(error)
            raise RunError(f"{folder}/run.json: not a run of ours: {what}") from None

    def lock(self) -> contextlib.AbstractContextManager[None]:
        """Hold the run for this process; the lock goes with it, however it ends."""
        return held(self.folder, FOLDERS)

    def demand_same(self, settings: list[dict[str, Any]], seeds: list[int]) -> None:
        """Refuse to go on under other settings, and say how they differ."""
        asked = {"settings": dict(enumerate(map(in_full, settings))), "seeds": seeds}
        mine = map(in_full, self.record["settings"])
        found = differences({"settings": dict(enumerate(mine)), "seeds": self.seeds}, asked)
        if found:
            raise RunError(
                f"{self.folder}: holds a run with other settings; {'; '.join(found)}; "
                "choose another folder"
            )

    def save_curves(self, progress: Progress, start: int) -> None:
        """The evaluations from number `start` on."""
        if start >= len(progress.steps):
            return
        arrays: dict[str, np.ndarray] = {
            "steps": np.array(progress.steps[start:], np.int64),
            "returns": np.stack(progress.returns[start:]),
            "lengths": np.stack(progress.lengths[start:]),
            "diverged": np.stack(progress.diverged[start:]),
        }
        for number, info in enumerate(progress.info[start:]):
            arrays |= {f"info/{number}/{name}": value for name, value in info.items()}
        self._write(self.folder / "curves" / f"step-{progress.steps[-1]:012d}.npz", arrays)

    def progress(self, until: Path | None = None) -> Progress:
        """All saved evaluations, or those that belong to a checkpoint; RunError if any is missing.

        Without a checkpoint to compare with, a run that was cut short looks like an unfinished one.
        """
        paths = self.checkpoints() if until is None else [until]
        progress = Progress(self.described, self.seeds)
        for path in sorted((self.folder / "curves").glob("step-*.npz")):
            if until is not None and step_of(path) > step_of(until):
                break
            self._add_curves(progress, path)
        due = max((self._evaluations(path) for path in paths), default=0)
        if len(progress.steps) < due:
            missing = evaluated_after(self.described[0], len(progress.steps))
            raise RunError(f"{self.folder}/curves: the evaluation after step {missing} is missing")
        return progress

    def forget_after(self, step: int) -> None:
        """Remove curves that lie after the checkpoint to go on from: they will be made again."""
        with explained(self.folder):
            for path in (self.folder / "curves").glob("step-*.npz"):
                if step_of(path) > self.steps:
                    raise RunError(f"{path}: lies after the end of this run: renamed, or a copy")
                if step_of(path) > step:
                    path.unlink()

    def save_checkpoint(self, step: int, arrays: dict[str, np.ndarray], evaluations: int) -> None:
        """Keep this state, to which so many evaluations belong, and the one before it."""
        about = {"settings": self.record["settings"], "seeds": self.seeds}
        text = json.dumps(about | {"step": step, "evaluations": evaluations})
        named = arrays | {"record": np.frombuffer(text.encode(), np.uint8)}
        self._write(self.folder / "checkpoints" / f"step-{step:012d}.npz", named)
        # What lies after this step is damaged, or would have been gone on from.
        for path in [path for path in self.checkpoints() if step_of(path) < step][KEPT - 1 :]:
            with explained(self.folder):
                path.unlink()

    def checkpoints(self) -> list[Path]:
        """Newest first."""
        return sorted((self.folder / "checkpoints").glob("step-*.npz"), reverse=True)

    @property
    def finished(self) -> bool:
        """Whether all steps were taken."""
        paths = self.checkpoints()
        return bool(paths) and step_of(paths[0]) >= self.steps

    def read_checkpoint(self, path: Path) -> dict[str, np.ndarray]:
        """The arrays of a state; RunError if it is damaged or was made under other settings."""
        arrays = read_arrays(path, self.run)
        try:
            made_with = json.loads(arrays.pop("record").tobytes())
            known = [self.steps, *(change["from"] for change in self.record.get("extended", []))]
            for plain in made_with["settings"]:
                if plain["training"]["steps"] in known:
                    plain["training"]["steps"] = self.steps
            self.demand_same(made_with["settings"], made_with["seeds"])
            step = made_with.get("step", step_of(path))
        except (KeyError, TypeError, ValueError):
            raise RunError(f"{path}: does not say what run it is of") from None
        if step != step_of(path):
            raise RunError(f"{path}: is the state after step {step}, under another name")
        return arrays

    def save_snapshot(self, step: int, arrays: dict[str, np.ndarray]) -> None:
        """What the first agent sees, for pictures."""
        self._write(self.folder / "snapshots" / f"step-{step:012d}.npz", arrays)

    def snapshots(self) -> dict[int, dict[str, np.ndarray]]:
        """Step → snapshot, in order; a damaged one is left out with a warning."""
        found = {}
        for path in sorted((self.folder / "snapshots").glob("step-*.npz")):
            try:
                found[step_of(path)] = read_arrays(path, self.run)
            except RunError as error:
                warnings.warn(f"{error}; it is left out", stacklevel=2)
        return found

    def _write(self, path: Path, arrays: dict[str, np.ndarray]) -> None:
        write_arrays(path, arrays, self.run or "")

    def _add_curves(self, progress: Progress, path: Path) -> None:
        """The evaluations of one file, which must come next."""
        arrays = read_arrays(path, self.run)
        found = {name: x for name, x in arrays.items() if not name.startswith("info/")}
        if found.keys() != {"steps", *EPISODES} or any(
            x.shape[1:3] != progress.shape for name, x in arrays.items() if name in EPISODES
        ):
            raise RunError(f"{path}: not the curves of this run")
        steps = [int(step) for step in arrays["steps"]]
        numbers = range(len(progress.steps), len(progress.steps) + len(steps))
        due = [evaluated_after(self.described[0], number) for number in numbers]
        if steps != due or steps[-1:] != [step_of(path)]:
            raise RunError(
                f"{path}: does not follow the evaluations before it; a file of {path.parent} is "
                "missing, renamed or there twice"
            )
        for number, step in enumerate(steps):
            prefix = f"info/{number}/"
            progress.steps.append(step)
            progress.returns.append(arrays["returns"][number])
            progress.lengths.append(arrays["lengths"][number])
            progress.diverged.append(arrays["diverged"][number])
            progress.info.append(
                {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
            )

    def _evaluations(self, checkpoint: Path) -> int:
        """How many evaluations belong to a checkpoint; 0 if it can't be read."""
        if not checkpoint.is_file():
            return 0
        try:
            with open(checkpoint, "rb") as opened, np.load(opened, allow_pickle=False) as file:
                about = json.loads(file["record"].tobytes())
            usual = evaluations_until(self.described[0], step_of(checkpoint))
            return int(about.get("evaluations", usual))
        except Exception:  # whoever needs the checkpoint itself will be told
            return 0


def in_full(plain: Any) -> dict[str, Any]:
    """Plain settings with the defaults of fields that there were not when they were saved."""
    return settings_to_plain(settings_from_plain(brought_up_to_date(plain), look=True))


def step_of(path: Path) -> int:
    """The step in the name of a file."""
    try:
        return int(path.stem.removeprefix("step-"))
    except ValueError:
        raise RunError(f"{path}: not a file of a run") from None
