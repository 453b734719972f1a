"""How a sweep is doing: what is done, running and where, waiting, and failed with its line."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from hcdyna.settings.fields import is_real
from hcdyna.settings.words import count
from hcdyna.sweeps import leases
from hcdyna.sweeps.store import SweepStore
from hcdyna.sweeps.tasks import Task, in_words

SAMPLE = 500
"""Notes on finished tasks that are read. Their names are random: the first are as good as any."""
MOST_SHOWN = 12
"""Lines of running tasks, and of failures."""


@dataclass(frozen=True)
class Running:
    """A task on its way."""

    task: Task
    host: str
    pid: int
    step: int
    silent: float
    """Seconds since this process first saw the beat that it sees now."""
    gone: bool
    """Its worker was one of this machine, and is no more: the task will be taken over."""


@dataclass(frozen=True)
class Status:
    """A store at one moment; numbers are of cells."""

    total: int
    done: int
    running: int
    waiting: int
    aside: int
    agents_done: int
    where: list[Running]
    failures: list[tuple[Task, dict[str, Any]]]
    """Tasks that failed, and the note of it."""
    agents_per_second: float | None
    """Of all workers that are at it now; None if nothing is finished yet, or none is at it."""
    seconds_left: float | None

    @property
    def finished(self) -> bool:
        return self.done + self.aside == self.total

    def line(self) -> str:
        """All of it in a line."""
        words = [f"{self.done:,} of {count(self.total, 'cell')} done", f"{self.running:,} running"]
        words += [f"{self.waiting:,} waiting"] if self.waiting else []
        words += [f"{self.aside:,} set aside"] if self.aside else []
        if self.agents_per_second is not None:
            words.append(f"{self.agents_per_second:.3g} agents/s")
        if self.seconds_left is not None and not self.finished:
            words.append(f"{duration(self.seconds_left)} left")
        return ", ".join(words)

    def table(self) -> Table:
        """The line, who is busy with what, and what failed."""
        table = Table(title=self.line(), title_justify="left", expand=False)
        for heading in ("running on", "what", "step"):
            table.add_column(heading, justify="right" if heading == "step" else "left")
        for each in self.where[:MOST_SHOWN]:
            where = f"{each.host} {each.pid}" + (" (gone)" if each.gone else "")
            step = f"{each.step:,} of {each.task.steps:,}"
            table.add_row(Text(where), Text(each.task.title), step)
        if len(self.where) > MOST_SHOWN:
            table.add_row("…", f"{len(self.where) - MOST_SHOWN} more", "")
        return table

    def failed_lines(self) -> list[str]:
        """One line for each task that failed."""
        lines = [
            f"{'set aside' if note.get('aside') else 'failed'} "
            f"({note.get('failures')}×): {in_words(task.cases[0])}: {note.get('error')}"
            for task, note in self.failures[:MOST_SHOWN]
        ]
        more = len(self.failures) - len(lines)
        return [*lines, f"… and {more} more"] if more > 0 else lines


def status(store: SweepStore) -> Status:
    """How the sweep in a store is doing now."""
    tasks, scan = store.tasks(), store.scan()
    aside = store.aside(scan.failed)
    finished = [task for task in tasks if scan.done.issuperset(task.keys)]
    ready = {task.id for task in finished}
    where = [
        found
        for task in tasks
        if task.id in scan.held and task.id not in ready
        for found in (running(store, task, scan.held[task.id]),)
    ]
    put_aside = [task for task in tasks if task.id in aside and task.id not in ready]
    known = {task.id: task for task in tasks}
    notes = ((known[task], store.failure(task)) for task in sorted(scan.failed) if task in known)
    total = sum(len(task.keys) for task in tasks)
    done = sum(len(scan.done.intersection(task.keys)) for task in tasks)
    running_cells = sum(len(set(each.task.keys) - scan.done) for each in where)
    set_aside = sum(len(set(task.keys) - scan.done) for task in put_aside)
    steps = speed(store, known)
    active = sum(not each.gone for each in where)
    left = sum(task.agent_steps for task in tasks if task.id not in ready and task.id not in aside)
    left -= sum(each.step * each.task.agents for each in where)
    agent = sum(task.agent_steps for task in tasks) / max(1, sum(task.agents for task in tasks))
    going = steps is not None and active > 0
    return Status(
        total=total,
        done=done,
        running=running_cells,
        waiting=max(0, total - done - running_cells - set_aside),
        aside=set_aside,
        agents_done=sum(task.agents for task in finished),
        where=where,
        failures=[(task, note) for task, note in notes if note is not None],
        agents_per_second=steps * active / max(agent, 1) if going and steps else None,
        seconds_left=left / (steps * active) if going and steps else None,
    )


def running(store: SweepStore, task: Task, number: int) -> Running:
    """What the lease of a task says."""
    name = f"leases/{task.id}.{number}"
    content = leases.read(store.place, name) or {}
    silent = store.watch.silent(name, content)
    host, pid = str(content.get("host", "?")), int(content.get("pid", 0))
    gone = leases.is_gone(content) or silent > store.patience
    return Running(task, host, pid, int(content.get("step", 0)), silent, gone)


def speed(store: SweepStore, known: Container[str]) -> float | None:
    """Environment steps per second of one worker, all its agents together; None if none is done.
    Only durations are used, which need no clock in common."""
    steps = seconds = 0.0
    names = [x for x in store.place.names("done") if x.removesuffix(".json") in known]
    for name in names[:SAMPLE]:
        note = leases.read(store.place, f"done/{name}") or {}
        numbers: list[Any] = [note.get(name) for name in ("agents", "steps", "seconds")]
        if all(map(is_real, numbers)):  # a damaged note says nothing
            agents, taken, took = numbers
            steps += agents * taken
            seconds += took
    return steps / seconds if seconds > 0 else None


def duration(seconds: float) -> str:
    """In words of at most two units.

    >>> duration(42), duration(3_720), duration(200_000)
    ('42 s', '1 h 2 min', '2 d 7 h')
    """
    units = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
    rest = round(seconds)
    words: list[str] = []
    for name, size in units:
        if rest >= size or (name == "s" and not words):
            words.append(f"{rest // size} {name}")
            rest %= size
    return " ".join(words[:2])
