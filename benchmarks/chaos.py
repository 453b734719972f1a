"""Sweep many small cells while workers, and a node, are killed; compare with a quiet sweep.

    python benchmarks/chaos.py --on local --cells 200 --every 20
    python benchmarks/chaos.py --on ray --cells 200 --every 20 --kill-node

The quiet sweep is trained by one worker. Every file of cells/ must be equal byte for byte, no cell
missing or trained twice. Exits with 1 if not, or if a tenth of the work was repeated. Workers note
the steps that they take, at every look at an agent: what a killed one took after its last look is
counted as a whole look.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import tyro

from hcdyna.cli import main as hcdyna
from hcdyna.experiments.unfinished import Unfinished
from hcdyna.sweeps import leases
from hcdyna.sweeps import worker as workers
from hcdyna.sweeps.engines import local
from hcdyna.sweeps.engines import ray as ray_engine
from hcdyna.sweeps.store import SweepStore
from hcdyna.sweeps.study import Study
from hcdyna.sweeps.sweep import Resources, add, run

MOST_REPEATED = 0.1
LOOKS = 50
"""At each agent."""


@dataclass(frozen=True)
class Options:
    """How much to sweep, and how rough to be."""

    on: Literal["local", "ray"] = "local"
    cells: int = 200
    steps: int = 30_000
    """Of each agent; sets how long a cell takes."""
    every: float = 20.0
    """Seconds between two kills."""
    kill_node: bool = False
    """On ray: also kill one of the two nodes, which is not replaced."""
    workers: int = 2
    """Of a node on ray, in all on this machine."""
    patience: float = 12.0
    """Seconds after which a silent lease is taken over."""
    seed: int | None = None
    """Of the kills; another one every time if not given."""


def study(options: Options) -> Study:
    """Tabular agents, which compile in seconds; one cell a task."""
    return Study(
        "chaos",
        settings={
            "environment": "TabularGridWorld",
            "agent": "tabular",
            "search_control": "replay",
            "training.steps": options.steps,
            "training.warmup": 0,
            "training.planning_steps": 2,
            "training.batch_size": 1,
            "evaluation.every": every(options),
        },
        vary={"agent.learning_rate": {"from": 0.1, "to": 1.0, "count": options.cells}},
        seeds=2,
        together=1,
    )


def every(options: Options) -> int:
    """Steps from one look to the next."""
    return max(1, options.steps // LOOKS)


class Killer:
    """Kills a worker now and then, chosen among those that hold a lease."""

    def __init__(self, store: SweepStore, options: Options, seed: int) -> None:
        self.store, self.options, self.random = store, options, random.Random(seed)
        self.over, self.kills = threading.Event(), 0

    def __call__(self) -> None:
        while not self.over.wait(self.options.every):
            held = leases.latest(self.store.place.names("leases"))
            found = [leases.read(self.store.place, f"leases/{t}.{n}") for t, n in held.items()]
            busy = [x["pid"] for x in found if x and not leases.is_gone(x)]
            busy = [pid for pid in busy if pid != os.getpid()]
            if busy:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.random.choice(sorted(busy)), signal.SIGKILL)
                    self.kills += 1


def count_steps(folder: Path) -> None:
    """Let workers of this process note where each attempt at a task began, and every look."""
    train: Any = workers.live
    resumed = Unfinished.resumed
    folder.mkdir(exist_ok=True)
    (attempt := folder / f"{os.getpid()}-{secrets.token_hex(4)}").touch()

    def note(word: str, step: int) -> None:
        with open(attempt, "a") as file:
            file.write(f"{word} {step}\n")

    def noted(self: Unfinished, cells: int) -> Any:
        found = resumed(self, cells)
        note("begin", found[0])
        return found

    def live(*given: Any) -> Any:
        *rest, on_step = given

        def look(step: int) -> None:
            note("look", step)
            on_step(step)

        return train(*rest, look)

    mock.patch.object(workers, "live", live).start()
    mock.patch.object(Unfinished, "resumed", noted).start()


def local_worker(slot: local.Slot) -> subprocess.Popen:
    """A worker of the local engine that counts its steps."""
    slot.log.parent.mkdir(parents=True, exist_ok=True)
    words = [sys.executable, __file__, "--worker", slot.store.place.address]
    with open(slot.log, "a", encoding="utf-8") as log:
        return local.started(words, log, slot.environment)


def ray_worker(store: str) -> str:
    """A worker of Ray that counts its steps."""
    count_steps(Path(store) / "steps")
    return ray_engine.one_worker(store)


@contextlib.contextmanager
def cluster(options: Options) -> Iterator[Any]:
    """Two nodes of Ray on this machine; the second can be killed."""
    from ray.cluster_utils import Cluster

    # Only the object store of a node has to be told how small it may be.
    memory = 100_000_000
    found = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": options.workers, "object_store_memory": memory},
    )
    found.add_node(num_cpus=options.workers, object_store_memory=memory)
    try:
        yield found
    finally:
        found.shutdown()


def kill_node(found: Any, after: float, over: threading.Event) -> None:
    """Kill the second node without warning."""
    if not over.wait(after):
        node = next(x for x in found.list_all_nodes() if x is not found.head_node)
        found.remove_node(node, allow_graceful=False)
        print("one node killed", flush=True)


def disturbed(store: SweepStore, options: Options, seed: int) -> int:
    """The sweep with kills; how many there were."""
    killer = Killer(store, options, seed)
    threads = [threading.Thread(target=killer, daemon=True)]
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(local.Slot, "start", local_worker))
        stack.enter_context(mock.patch.object(ray_engine, "one_worker", ray_worker))
        resources = Resources(options.workers)
        if options.on == "ray":
            found = stack.enter_context(cluster(options))
            resources = Resources(options={"address": found.address})
            if options.kill_node:
                given = (found, 2.5 * options.every, killer.over)
                threads.append(threading.Thread(target=kill_node, args=given, daemon=True))
        for thread in threads:
            thread.start()
        try:
            run(store, options.on, resources)
        finally:
            killer.over.set()
            for thread in threads:
                thread.join()
    return killer.kills


def main(options: Options) -> None:
    seed = secrets.randbelow(2**32) if options.seed is None else options.seed
    print(f"seed of the kills: {seed} (--seed {seed} repeats them)", flush=True)
    with tempfile.TemporaryDirectory() as place:
        stores = []
        for name in ("quiet", "killed"):
            folder = Path(place) / name
            stores.append(add(study(options), folder, 1, False, options.patience)[0])
        quiet, killed = stores
        begin = time.monotonic()
        words = [sys.executable, "-m", "hcdyna", "work", str(quiet.place)]
        subprocess.run(
            words, check=True, env=os.environ | {"JAX_NUM_CPU_DEVICES": "1"},
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        middle = time.monotonic()
        kills = disturbed(killed, options, seed)
        end = time.monotonic()
        wrong = differences(quiet, killed)
        least, most = repeated(killed, options)
    print(f"quiet, one worker: {middle - begin:.1f} s; with {kills} kills: {end - middle:.1f} s")
    print(f"steps repeated: {least:.2%} to {most:.2%}")
    print(f"differences with seed {seed}: {', '.join(wrong) or 'none'}")
    sys.exit(bool(wrong) or most > MOST_REPEATED)


def differences(a: SweepStore, b: SweepStore) -> list[str]:
    """What two stores do not have in common, and what was done twice or set aside."""
    names = [set(store.place.names("cells")) for store in (a, b)]
    wrong = [f"{name} only once" for name in sorted(names[0] ^ names[1])]
    for name in sorted(names[0] & names[1]):
        if a.place.read(f"cells/{name}") != b.place.read(f"cells/{name}"):
            wrong.append(name)
    for store in (a, b):
        tasks = {key for task in store.tasks() for key in task.keys}
        wrong += [f"{key} missing" for key in tasks - store.scan().done]
        wrong += [f"{name} failed" for name in store.place.names("failed")]
        wrong += [f"{name} twice" for name, note in notes(store).items() if note["twice"]]
    return wrong


def repeated(store: SweepStore, options: Options) -> tuple[float, float]:
    """The share of steps that was taken again, at least and at most."""
    taken = cut = 0
    for path in (store.place.root / "steps").iterdir():
        begun = last = options.steps
        for word, step in map(
            str.split, [*path.read_text().splitlines(), f"begin {options.steps}"]
        ):
            if word == "begin":
                taken, cut = taken + last - begun, cut + (last < options.steps)
                begun = int(step)
            last = int(step)
    needed = len(store.tasks()) * options.steps
    return taken / needed - 1, (taken + cut * every(options)) / needed - 1


def notes(store: SweepStore) -> dict[str, Any]:
    return {x: json.loads(store.place.read(f"done/{x}") or b"") for x in store.place.names("done")}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        count_steps(Path(sys.argv[2]) / "steps")
        sys.exit(hcdyna(["work", sys.argv[2]]))
    main(tyro.cli(Options, description=__doc__))
