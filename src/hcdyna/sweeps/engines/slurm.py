"""Workers as the tasks of a Slurm array, through submitit.

Before a job is preempted or reaches its time limit, submitit gets a signal. The worker saves what
it is at first, and submitit queues the job again; what is lost without a signal is taken over by
other workers once its lease is silent.
"""

from __future__ import annotations

import shutil
import signal
import warnings
from collections.abc import Callable
from typing import Any

from hcdyna.runs.saving import interruptions
from hcdyna.settings.errors import Interrupted, RunError, SettingsError, words_of
from hcdyna.settings.words import count
from hcdyna.sweeps.extras import needed
from hcdyna.sweeps.places import Folder
from hcdyna.sweeps.status import Status, status
from hcdyna.sweeps.store import SweepStore
from hcdyna.sweeps.sweep import Resources
from hcdyna.sweeps.worker import Requeue, work

USUAL_WORKERS = 8
USUAL_MINUTES = 60
MOST_TIMES = 10_000
"""A job may reach its time limit and be queued again: a sweep has no end of its own."""
OURS = ("time", "mem_gb", "cluster")
"""Options that are not passed on to Slurm as they are."""
LOOK = 2.0


def workers(resources: Resources) -> int:
    """How many jobs there will be in the array."""
    needed("submitit", "--on slurm")
    if resources.gpus is not None and resources.gpus % 1:
        raise SettingsError(
            f"gpus = {resources.gpus:g}: must be a whole number under Slurm, which does not share "
            "a GPU between jobs"
        )
    for name in ("time", "mem_gb"):
        given = resources.options.get(name, "1")
        if type(as_number(given)) is not int or not as_number(given):
            raise SettingsError(f"options {name} = {given}: must be a whole number above 0")
    cluster = resources.options.get("cluster", "slurm")
    if cluster not in ("slurm", "local"):
        raise SettingsError(f"options cluster = {cluster}: must be slurm or local")
    return resources.workers or USUAL_WORKERS


class Work:
    """A worker, as submitit runs it."""

    def __init__(self, store: str) -> None:
        self.store = store

    def __call__(self) -> int:
        """How many tasks were trained here. Submitit's signal becomes a request to save and stop;
        after that it is raised again, and submitit does the rest."""
        submitit = needed("submitit", "--on slurm")
        number = submitit.JobEnvironment()._usr_sig()
        requeue, idle = signal.getsignal(number), signal.getsignal(signal.SIGTERM)
        told: list[int] = []

        def stop(number: int, frame: Any) -> None:
            told.append(number)
            if signal.getsignal(signal.SIGTERM) != idle:
                signal.raise_signal(signal.SIGTERM)
            elif callable(requeue):  # the worker has not begun
                requeue(number, frame)

        signal.signal(number, stop)
        try:
            return work(self.store)
        except Interrupted:
            signal.signal(number, requeue)
            if told:
                signal.raise_signal(number)
            raise RunError("stopped; the store has what was done") from None

    def checkpoint(self) -> Any:
        """The job to queue again: the same, since all that it needs is in the store."""
        return needed("submitit", "--on slurm").helpers.DelayedSubmission(Work(self.store))


def run(store: SweepStore, resources: Resources, follow: Callable[[Status], Any]) -> None:
    """Submit an array of workers, and follow them; they go on if this process ends."""
    jobs = submitted(store, resources)
    with interruptions() as stop:
        while not stop.wait(LOOK):
            now = status(store)
            follow(now)
            if now.finished:
                return
            if all(job.done(force_check=False) for job in jobs):
                break
    if stop.is_set():
        raise Requeue(
            f"the jobs of the array {jobs[0].job_id.partition('_')[0]} go on; "
            f"see hcdyna status {store.place} --watch"
        )
    if not status(store).finished:
        lines = [line for job in jobs for line in problem(job)]
        raise RunError(f"{count(len(jobs), 'job')} ended before the work was done: {lines[0]}")


def submitted(store: SweepStore, resources: Resources) -> list[Any]:
    """The jobs of the array."""
    submitit = needed("submitit", "--on slurm")
    if not isinstance(store.place, Folder):
        raise SettingsError(f"--on slurm: {store.place}: must be a folder that all nodes see")
    options = {name: as_number(value) for name, value in resources.options.items()}
    cluster = options.get("cluster")
    if cluster is None and shutil.which("sbatch") is None:
        warnings.warn("there is no Slurm on this machine: its jobs run here", stacklevel=2)
    try:
        executor = submitit.AutoExecutor(
            folder=store.place.root / "slurm" / "%j",
            cluster=cluster,
            slurm_max_num_timeout=MOST_TIMES,
        )
        executor.update_parameters(
            name=f"hcdyna-{store.place.root.name}",
            timeout_min=options.get("time", USUAL_MINUTES),
            cpus_per_task=resources.cores,
            slurm_array_parallelism=workers(resources),
            **({"gpus_per_node": int(resources.gpus)} if resources.gpus else {}),
            **({"mem_gb": options["mem_gb"]} if "mem_gb" in options else {}),
            **{f"slurm_{name}": value for name, value in options.items() if name not in OURS},
        )
        with executor.batch():
            return [executor.submit(Work(store.place.address)) for _ in range(workers(resources))]
    except Exception as error:  # submitit checks some options with assertions
        raise SettingsError(f"--on slurm: {words_of(error)}") from None


def as_number(given: Any) -> Any:
    """A whole number where it is one."""
    return int(str(given)) if str(given).isdecimal() else given


def problem(job: Any) -> list[str]:
    """Why a job ended, as far as submitit knows."""
    try:
        error = job.exception()
    except Exception as failure:  # no result at all
        error = failure
    return ["its log is in slurm/ of the store"] if error is None else [last_line(str(error))]


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "without a word"
