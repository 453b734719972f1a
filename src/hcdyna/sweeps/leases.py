"""Leases: who trains a task, as files that are renewed. No clock of another machine is trusted.

The lease of a task is leases/TASK.N. Its holder rewrites it again and again with a higher beat. Who
has watched it for long enough, by a clock of its own, without a new beat makes TASK.N+1, which only
one of all who try can do, and holds the task from then on. A holder that was only asleep sees the
higher number and lets go.
"""

import contextlib
import json
import os
import platform
import secrets
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hcdyna.numerics.files import is_alive
from hcdyna.settings.errors import RunError
from hcdyna.sweeps.buckets import Place

BEATS = 6
"""Within the time after which a silent lease is taken over."""
NEWS = 5
"""Within a beat, at most."""


class LostLease(Exception):
    """Another worker has taken the task over."""


class Lease:
    """A task that this process holds."""

    def __init__(self, place: Place, task: str, number: int, content: dict[str, Any]) -> None:
        self.place, self.task, self.number, self.content = place, task, number, content
        self.lost, self.last = threading.Event(), time.monotonic()
        self._one_at_a_time = threading.Lock()

    @property
    def name(self) -> str:
        return f"leases/{self.task}.{self.number}"

    def renew(self) -> None:
        """One more beat; LostLease if somebody else holds the task by now."""
        with self._one_at_a_time:
            there = read(self.place, self.name)
            newer = latest(self.place.names("leases")).get(self.task, 0) > self.number
            if newer or there is None or there.get("token") != self.content["token"]:
                self.lost.set()
            if self.lost.is_set():
                raise LostLease(f"task {self.task}: another worker has taken it over")
            self.content["beat"] += 1
            self.last = time.monotonic()
            self.place.write(self.name, packed(self.content))

    def tell(self, patience: float, **news: int) -> None:
        """Let others know how far it is, but not more often than is worth it."""
        self.content |= news
        if time.monotonic() - self.last > patience / BEATS / NEWS and not self.is_mine():
            raise LostLease(f"task {self.task}: another worker has taken it over")

    def is_mine(self) -> bool:
        """Whether no other worker has taken the task over."""
        try:
            self.renew()
        except LostLease:
            return False
        except (RunError, OSError):  # a full disk says nothing about who holds it
            return True
        return True

    @contextlib.contextmanager
    def renewed(self, patience: float) -> Iterator[None]:
        """Renew it, in a thread, as long as this lasts."""
        over = threading.Event()

        def beat() -> None:
            while not over.wait(patience / BEATS):
                try:
                    self.renew()
                except LostLease:
                    return
                except (RunError, OSError):  # a full disk, say: who publishes will be told
                    continue

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def release(self) -> None:
        """Let go of the task, finished or not."""
        if not self.lost.is_set():
            with contextlib.suppress(RunError):  # if it can't be removed, it falls silent
                forget(self.place, self.task, self.number)


class Watch:
    """What this process has seen of leases, and since when, by its own clock."""

    def __init__(self) -> None:
        self.seen: dict[str, tuple[Any, float]] = {}

    def silent(self, name: str, content: dict[str, Any]) -> float:
        """For how many seconds a lease has been watched without a new beat."""
        now, beat = time.monotonic(), (content.get("token"), content.get("beat"))
        known, since = self.seen.get(name, (None, now))
        if known != beat:
            since = now
        self.seen[name] = (beat, since)
        return now - since


def take(
    place: Place, task: str, watch: Watch, patience: float, there: dict[str, int]
) -> Lease | None:
    """The lease of a task, if it is free or its holder has gone; None if it is held. `there` has
    the highest number of each task that is held."""
    number, before = there.get(task, 0), {}
    if number:
        name = f"leases/{task}.{number}"
        before = read(place, name) or {}
        if watch.silent(name, before) < patience and not is_gone(before):
            return None
    content = {**who(), "beat": 0, "step": 0, "saved": 0, **inherited(before)}
    lease = Lease(place, task, number + 1, content)
    if not place.create(lease.name, packed(content)):
        return None
    if latest(place.names("leases")).get(task) != lease.number:
        place.remove(lease.name)  # `there` was old: others have held it and lost it meanwhile
        return None
    if number:
        forget(place, task, number)
    return lease


def inherited(before: dict[str, Any]) -> dict[str, Any]:
    """What a lease knows of those before it: how many holders went without saving anything new, and
    how many steps will have to be taken again."""
    if not before:
        return {"deaths": 0, "from": 0, "repeated": 0}
    saved = int(before.get("saved", 0))
    deaths = 0 if saved > before.get("from", 0) else before.get("deaths", 0)
    lost = max(0, int(before.get("step", 0)) - saved)
    repeated = before.get("repeated", 0) + lost
    return {"deaths": deaths + 1, "from": saved, "saved": saved, "repeated": repeated}


def forget(place: Place, task: str, most: int) -> None:
    """Remove the leases of a task up to a number."""
    for name in place.names("leases"):
        of, _, number = name.rpartition(".")
        if of == task and int(number) <= most:
            place.remove(f"leases/{name}")


def latest(names: list[str]) -> dict[str, int]:
    """Task → its highest number, from the names of leases.

    >>> latest(["a.1", "b.9", "b.10", "note.txt"])
    {'a': 1, 'b': 10}
    """
    found: dict[str, int] = {}
    for name in names:
        task, _, number = name.rpartition(".")
        if task and number.isdecimal():
            found[task] = max(int(number), found.get(task, 0))
    return found


def read(place: Place, name: str) -> dict[str, Any] | None:
    """The content of a lease; None if it is not there."""
    raw = place.read(name)
    try:
        content = None if raw is None else json.loads(raw)
    except ValueError:
        content = {}
    return content if isinstance(content, dict) else None


def packed(content: dict[str, Any]) -> bytes:
    return json.dumps(content).encode()


def who() -> dict[str, Any]:
    """This process, as a lease tells of it."""
    return {
        "token": secrets.token_hex(8),
        "host": platform.node(),
        "pid": os.getpid(),
        "machine": machine(),
        "born": born(os.getpid()),
    }


def machine() -> str:
    """What tells whether two processes can see each other: this boot and this container."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def born(process: int) -> str:
    """When a process was started, in ticks since boot; "" if it is not there."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def is_gone(content: dict[str, Any]) -> bool:
    """Whether the holder of a lease was a process of this machine that is no more."""
    if not machine() or content.get("machine") != machine():
        return False
    process = content.get("pid")
    if not isinstance(process, int) or process <= 0:
        return False
    return not is_alive(process) or born(process) != content.get("born")
