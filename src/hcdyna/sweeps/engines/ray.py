"""Workers as tasks of Ray Core: on a running cluster, or on one that is started here.

Ray decides where a worker runs, and starts another one for each that is lost with its process or
node. More workers are asked for than fit, so that nodes which join late get theirs.
"""

from __future__ import annotations

import os
import socket
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hcdyna.numerics.devices import available_cores
from hcdyna.runs.saving import interruptions
from hcdyna.settings.errors import Interrupted, RunError, SettingsError, words_of
from hcdyna.settings.words import count
from hcdyna.sweeps.extras import needed
from hcdyna.sweeps.status import Status, status
from hcdyna.sweeps.store import SweepStore
from hcdyna.sweeps.sweep import Resources
from hcdyna.sweeps.worker import Requeue, work

MOST_WORKERS = 1_000
"""That are asked for at a time, where the user does not say."""
LOOK = 1.0
ANSWER = 2.0
"""Seconds within which a cluster on record has to answer."""
LONGEST_ANSWER = 20.0
"""Seconds within which a cluster that the user names has to."""


def workers(resources: Resources) -> int:
    """How many workers run at the same time, as far as is known before there is a cluster."""
    needed("ray", "--on ray")
    for name in set(resources.options) - {"address"}:
        raise SettingsError(f"options {name}: the only option of ray is address")
    return resources.workers or max(1, available_cores() // resources.cores)


def run(store: SweepStore, resources: Resources, follow: Callable[[Status], Any]) -> None:
    """Ask Ray for workers, and wait until nothing is left."""
    ray = needed("ray", "--on ray")
    begun = connected(ray, resources)
    try:
        pending = asked_for(ray, store, resources)
        with interruptions() as stop:
            answers = followed(ray, pending, store, stop, follow)
        if stop.is_set():
            for each in pending:
                ray.cancel(each, force=True)
            raise Requeue("interrupted; the same command goes on from there")
    finally:
        if begun:
            ray.shutdown()
    lines = [line for line in answers if line]
    if lines and not status(store).finished:
        raise RunError(f"{count(len(lines), 'worker')} gave up: {lines[0]}")


def connected(ray: Any, resources: Resources) -> bool:
    """Whether a connection was made here: to the address given, that in RAY_ADDRESS, a cluster that
    runs on this machine, or a new one."""
    if ray.is_initialized():
        return False
    address = address_of(resources)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "os.fork")  # JAX has not been used here
            ray.init(address, log_to_driver=False, logging_level="ERROR")
    except Exception as error:  # Ray has many kinds, such as those of tokens
        raise SettingsError(f"--on ray: can't connect: {words_of(error)}") from None
    return True


def address_of(resources: Resources) -> str | None:
    """Where to connect, for `ray.init`.

    A cluster that was killed stays on record, and Ray would wait for it for a quarter of an hour:
    only one that answers counts."""
    given = resources.options.get("address") or os.environ.get("RAY_ADDRESS")
    if given:
        demand_answer(str(given))
        return str(given)
    folder = Path(os.environ.get("RAY_TMPDIR") or "/tmp") / "ray"
    try:
        host, port = (folder / "ray_current_cluster").read_text().strip().rsplit(":", 1)
        socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER).close()
    except (OSError, ValueError):
        return "local"
    return None


def demand_answer(address: str) -> None:
    """Raise SettingsError if nobody listens there: Ray itself would wait for many minutes."""
    host, mark, port = address.rpartition("://")[2].rpartition(":")
    if not mark or not port.isdecimal():  # auto, local, or what only Ray understands
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=LONGEST_ANSWER).close()
    except (OSError, OverflowError) as error:
        raise SettingsError(f"--on ray: {address}: can't connect: {words_of(error)}") from None


def asked_for(ray: Any, store: SweepStore, resources: Resources) -> list[Any]:
    """As many workers as there are tasks, or as the user wants."""
    there = ray.cluster_resources().get("GPU", 0)
    gpus = (1 if there else 0) if resources.gpus is None else resources.gpus
    variables = {"JAX_NUM_CPU_DEVICES": str(resources.cores)}
    if gpus == 0:
        variables["JAX_PLATFORMS"] = "cpu"
    elif gpus < 1:
        variables["XLA_PYTHON_CLIENT_MEM_FRACTION"] = f"{0.9 * gpus:.3f}"
    remote = ray.remote(one_worker).options(
        num_cpus=resources.cores,
        num_gpus=gpus,
        max_retries=-1,
        scheduling_strategy="SPREAD",
        runtime_env={"env_vars": variables},
    )
    wanted = resources.workers or min(len(store.tasks()), MOST_WORKERS)
    return [remote.remote(store.place.address) for _ in range(wanted)]


def one_worker(store: str) -> str:
    """A worker within a process of Ray; what was in its way, in a line, or nothing."""
    try:
        work(store, lambda line: None)
    except Interrupted:
        os._exit(Requeue.exit_code)  # a process that is lost is started again, somewhere else
    except (SettingsError, RunError) as error:
        return words_of(error)
    except Exception as error:  # Ray would make a page of it
        return f"{type(error).__name__}: {words_of(error)}"
    return ""


def followed(
    ray: Any,
    pending: list[Any],
    store: SweepStore,
    stop: threading.Event,
    follow: Callable[[Status], Any],
) -> list[str]:
    """What all workers answer. Those that still wait for a place are not waited for."""
    answers: list[str] = []
    while pending and not stop.is_set():
        ready, pending = ray.wait(pending, num_returns=len(pending), timeout=LOOK)
        answers += [answer(ray, each) for each in ready]
        now = status(store)
        follow(now)
        if now.finished:
            for each in pending:
                ray.cancel(each, force=True)
            break
    return answers


def answer(ray: Any, ready: Any) -> str:
    """What a worker answered, or what was in Ray's way."""
    try:
        return ray.get(ready)
    except ray.exceptions.RayError as error:
        return words_of(error)
