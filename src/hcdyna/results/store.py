"""One folder a run: what was asked for, the curves as they grow, and the newest two checkpoints.

    run.json           settings, seeds, versions, device, commit, command line
    curves/            one .npz per save: evaluations and diagnostics since the save before
    checkpoints/       step-….npz, the newest two
    snapshots/         what the first agent sees, for pictures
    lock               held by the process that is training

Every file is written under another name, synced and renamed: it is there as a whole or not at all.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hcdyna.errors import RunError
from hcdyna.plain import differences, settings_from_plain
from hcdyna.settings import Settings
from hcdyna.training.run import Progress

FORMAT = 1
EPISODES = ("returns", "lengths", "diverged")
KEPT = 2
"""Checkpoints to keep: if the newest is damaged, the one before it serves."""


class Store:
    """A run folder."""

    def __init__(self, folder: Path, record: dict[str, Any]) -> None:
        self.folder = folder
        self.record = record
        self.settings: list[Settings] = [settings_from_plain(s) for s in record["settings"]]
        self.seeds: list[int] = record["seeds"]

    @staticmethod
    def create(folder: Path, record: dict[str, Any]) -> Store:
        """Start a run folder; it may exist, but must not hold a run yet."""
        with explained(folder):
            for name in ("curves", "checkpoints", "snapshots"):
                (folder / name).mkdir(parents=True, exist_ok=True)
        text = json.dumps({"format": FORMAT} | record, indent=1, ensure_ascii=False)
        write(folder / "run.json", text.encode())
        return Store(folder, record)

    @staticmethod
    def exists(folder: Path) -> bool:
        """Whether there is a run in this folder."""
        return (folder / "run.json").is_file()

    @staticmethod
    def open(folder: str | Path) -> Store:
        """An existing run; RunError, in one line, if this is not one."""
        folder = Path(folder)
        if not Store.exists(folder):
            raise RunError(f"{folder}: not a run folder (it has no run.json)")
        try:
            record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise RunError(f"{folder}/run.json: can't be read: {error}") from None
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            raise RunError(f"{folder}/run.json: not a run of format {FORMAT}")
        settings, seeds = record.get("settings"), record.get("seeds")
        if not isinstance(settings, list) or not settings:
            raise RunError(f"{folder}/run.json: settings must be a list of at least one")
        if not isinstance(seeds, list) or not seeds or not all(type(s) is int for s in seeds):
            raise RunError(f"{folder}/run.json: seeds must be a list of whole numbers")
        return Store(folder, record)

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the run for this process; the lock goes with it, however it ends."""
        with explained(self.folder):
            held = open(self.folder / "lock", "a")  # noqa: SIM115, closed below
        with held:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RunError(f"{self.folder}: another process is training this run") from None
            yield

    def demand_same(self, settings: list[dict[str, Any]], seeds: list[int]) -> None:
        """Refuse to go on under other settings, and say how they differ."""
        asked = {"settings": dict(enumerate(settings)), "seeds": seeds}
        here = {"settings": dict(enumerate(self.record["settings"])), "seeds": self.seeds}
        found = differences(here, asked)
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
        write_arrays(self.folder / "curves" / f"step-{progress.steps[-1]:012d}.npz", arrays)

    def progress(self, until: int | None = None) -> Progress:
        """All saved evaluations, or those up to a step."""
        progress = Progress(self.settings, self.seeds)
        for path in sorted((self.folder / "curves").glob("step-*.npz")):
            if until is not None and step_of(path) > until:
                break
            arrays = read_arrays(path)
            found = {name: x for name, x in arrays.items() if not name.startswith("info/")}
            if found.keys() != {"steps", "returns", "lengths", "diverged"} or any(
                x.shape[1:3] != progress.shape for name, x in arrays.items() if name in EPISODES
            ):
                raise RunError(f"{path}: not the curves of this run")
            for number, step in enumerate(arrays["steps"]):
                prefix = f"info/{number}/"
                progress.steps.append(int(step))
                progress.returns.append(arrays["returns"][number])
                progress.lengths.append(arrays["lengths"][number])
                progress.diverged.append(arrays["diverged"][number])
                progress.info.append(
                    {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
                )
        return progress

    def forget_after(self, step: int) -> None:
        """Remove curves that lie after the checkpoint to go on from: they will be made again."""
        with explained(self.folder):
            for path in (self.folder / "curves").glob("step-*.npz"):
                if step_of(path) > step:
                    path.unlink()

    def save_checkpoint(self, step: int, arrays: dict[str, np.ndarray]) -> None:
        """Keep this state and the one before it."""
        text = json.dumps({"settings": self.record["settings"], "seeds": self.seeds})
        named = arrays | {"record": np.frombuffer(text.encode(), np.uint8)}
        write_arrays(self.folder / "checkpoints" / f"step-{step:012d}.npz", named)
        for path in self.checkpoints()[KEPT:]:
            with explained(self.folder):
                path.unlink()

    def checkpoints(self) -> list[Path]:
        """Newest first."""
        return sorted((self.folder / "checkpoints").glob("step-*.npz"), reverse=True)

    def demand_made_here(self, arrays: dict[str, np.ndarray]) -> None:
        """Refuse a checkpoint that was made under other settings than the record says."""
        try:
            made_with = json.loads(arrays.pop("record").tobytes())
            self.demand_same(made_with["settings"], made_with["seeds"])
        except (KeyError, TypeError, ValueError):
            raise RunError(f"{self.folder}: a checkpoint does not say what run it is of") from None


def step_of(path: Path) -> int:
    """The step in the name of a file."""
    try:
        return int(path.stem.removeprefix("step-"))
    except ValueError:
        raise RunError(f"{path}: not a file of a run") from None


def write_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """An .npz file; zip keeps a checksum of every array."""

    def content(file: Any) -> None:
        np.savez(file, **arrays)  # type: ignore[arg-type]

    _write(path, content)


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """All arrays of a file, checksums verified."""
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
            if damaged is not None:
                raise RunError(f"{path}: {damaged} is damaged")
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, KeyError, EOFError, NotImplementedError, RuntimeError) as error:
        raise RunError(f"{path}: can't be read: {error}") from None
    except zipfile.BadZipFile as error:
        raise RunError(f"{path}: damaged: {error}") from None


def write(path: Path, content: bytes) -> None:
    """A file that is there as a whole or not at all."""
    _write(path, lambda file: file.write(content))


def _write(path: Path, content: Any) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with explained(path.parent):
        try:
            with open(temporary, "wb") as file:
                content(file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


@contextlib.contextmanager
def explained(folder: Path) -> Iterator[None]:
    """A folder that can't be written, or a full disk, in one line."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise RunError(f"{folder}: can't be written: {reason}") from None
