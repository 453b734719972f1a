"""Workers as processes of this machine, one a GPU or one a few cores."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from hcdyna.numerics.devices import available_cores
from hcdyna.runs.saving import interruptions
from hcdyna.settings.errors import RunError, SettingsError
from hcdyna.settings.words import count
from hcdyna.sweeps import leases
from hcdyna.sweeps.status import Status, status
from hcdyna.sweeps.store import SweepStore
from hcdyna.sweeps.sweep import Resources
from hcdyna.sweeps.worker import Requeue

FAULTS = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
"""Signals by which a program kills its own process: a failure of its task."""
LOOK = 1.0
"""Seconds between two looks at the store."""
HASTY = 3
"""Workers of one slot that end by themselves, without having trained anything, before it is given
up."""


def workers(resources: Resources) -> int:
    """How many workers there will be; SettingsError if this machine can't have such."""
    if resources.options:
        name = next(iter(resources.options))
        raise SettingsError(f"options {name}: only the engines ray and slurm have options")
    if resources.gpus and resources.gpus > len(visible_gpus()):
        has = count(len(visible_gpus()), "GPU")
        raise SettingsError(f"gpus = {resources.gpus:g}: JAX can use {has} of this machine")
    if resources.workers is not None:
        return resources.workers
    gpus = [] if resources.gpus == 0 else visible_gpus()
    if gpus:
        return max(1, int(len(gpus) / (resources.gpus or 1)))
    return max(1, available_cores() // resources.cores)


def visible_gpus() -> list[str]:
    """The GPUs that JAX could use here, found without starting JAX."""
    if os.environ.get("JAX_PLATFORMS", "cuda").split(",")[0] not in ("cuda", "gpu"):
        return []
    if not any(importlib.util.find_spec(f"jax_cuda{v}_plugin") for v in (12, 13)):
        return []
    given = os.environ.get("CUDA_VISIBLE_DEVICES")
    if given is not None:
        return [each for each in given.split(",") if each.strip() not in ("", "-1")]
    if shutil.which("nvidia-smi") is None:
        return []
    answer = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
    return [str(i) for i, line in enumerate(answer.stdout.splitlines()) if line.startswith("GPU")]


def surroundings(number: int, resources: Resources) -> dict[str, str]:
    """The variables of worker `number`: its cores or its GPU."""
    found = dict(os.environ) | {"HCDYNA_ENDS_WITH_PARENT": "1"}
    gpus = [] if resources.gpus == 0 else visible_gpus()
    if gpus:
        share = resources.gpus or 1
        found["CUDA_VISIBLE_DEVICES"] = gpus[int(number * share) % len(gpus)]
        if share < 1:
            found["XLA_PYTHON_CLIENT_MEM_FRACTION"] = f"{0.9 * share:.3f}"
            found.setdefault("HCDYNA_COMPILERS", "1")  # the others train meanwhile
    else:
        found.setdefault("JAX_NUM_CPU_DEVICES", str(resources.cores))
        if resources.gpus == 0:
            found["JAX_PLATFORMS"] = "cpu"
    return found


class Slot:
    """A place for one worker after the other."""

    def __init__(self, store: SweepStore, number: int, resources: Resources) -> None:
        self.store, self.environment = store, surroundings(number, resources)
        self.log = store.place.root / "logs" / f"{leases.who()['host']}-{number}.log"
        self.process: subprocess.Popen | None = None
        self.hasty, self.last, self.over = 0, "", False
        self.restarts = 0

    def look(self, stopping: bool) -> None:
        """Start a worker, or another one if it has gone."""
        if self.over:
            return
        if self.process is None:
            if stopping:
                self.over = True
            else:
                self.process, self.began = self.start(), time.monotonic()
            return
        code = self.process.poll()
        if code is None:
            return
        pid, self.process = self.process.pid, None
        if code < 0 and -code in FAULTS:
            self.blame(pid, signal.Signals(-code).name)
        if code in (0, 2):
            self.over, self.last = True, last_line(self.log) if code else ""
        elif code > 0 and code != Requeue.exit_code:
            self.hasty += 1
            self.over, self.last = self.hasty >= HASTY, last_line(self.log)
        self.restarts += 1

    def start(self) -> subprocess.Popen:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        words = [sys.executable, "-m", "hcdyna", "work", self.store.place.address]
        with open(self.log, "a", encoding="utf-8") as log:
            return started(words, log, self.environment)

    def blame(self, pid: int, name: str) -> None:
        """Note the failure of the task that a process held when it was killed by its own doing."""
        for each in status(self.store).where:
            if each.pid == pid and each.gone:
                self.store.fail(each.task, f"its worker was ended by {name}")


def started(words: list[str], log: IO[str], environment: dict[str, str]) -> subprocess.Popen:
    """A process that Ctrl-C does not reach: who started it decides when to stop it."""
    return subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment,
        start_new_session=True,
    )  # fmt: skip


def run(store: SweepStore, resources: Resources, follow: Callable[[Status], Any]) -> None:
    """Keep as many workers at it as there are slots, until nothing is left."""
    most = min(workers(resources), len(store.tasks()))
    slots = [Slot(store, number, resources) for number in range(most)]
    with interruptions() as stop:
        try:
            watch(slots, store, stop, follow)
        finally:
            end(slots)
    if stop.is_set():
        raise Requeue("interrupted; the same command goes on from there")
    lines = [slot.last for slot in slots if slot.last]
    if lines and not status(store).finished:
        raise RunError(f"{count(len(lines), 'worker')} gave up: {lines[0]}")


def watch(
    slots: list[Slot], store: SweepStore, stop: threading.Event, follow: Callable[[Status], Any]
) -> None:
    """Until all slots are over, or it is time to stop."""
    looked = 0.0
    while not all(slot.over for slot in slots) and not stop.is_set():
        for slot in slots:
            slot.look(stopping=False)
        if time.monotonic() - looked > LOOK:
            looked = time.monotonic()
            follow(status(store))
        stop.wait(0.1)
    follow(status(store))


def end(slots: list[Slot]) -> None:
    """Ask all workers to save and stop, and wait for them."""
    for slot in slots:
        if slot.process is not None and slot.process.poll() is None:
            slot.process.send_signal(signal.SIGTERM)
    for slot in slots:
        if slot.process is not None:
            with contextlib.suppress(KeyboardInterrupt):
                slot.process.wait()


def last_line(log: Path) -> str:
    """What a worker said last."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        return "without a word"
    return lines[-1].removeprefix("hcdyna: ") if lines else "without a word"
