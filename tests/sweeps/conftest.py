"""Stores with a small study in them, and workers of this process."""

import threading

import pytest
from small_studies import small

from hcdyna.numerics.devices import keep_compiled_programs
from hcdyna.sweeps import worker as workers
from hcdyna.sweeps.store import SweepStore
from hcdyna.sweeps.sweep import add
from hcdyna.sweeps.worker import Worker


@pytest.fixture
def make_store(tmp_path):
    """A store with the tasks of a study."""
    keep_compiled_programs()  # where tests keep them, not in a store that will be gone

    def make(name="store", patience=60.0, **given) -> SweepStore:
        return add(small(**given), tmp_path / name, calibrate=False, patience=patience)[0]

    return make


@pytest.fixture
def make_worker():
    """A worker of this process, and the lines that it says."""

    def make(store, stop=None) -> tuple[Worker, list[str]]:
        lines: list[str] = []
        return Worker(store, lines.append, stop or threading.Event()), lines

    return make


@pytest.fixture
def stop_after_two_steps(monkeypatch):
    """A function: workers are told to stop after two more chunks; the steps at which these end."""

    def begin() -> list[int]:
        real, steps = workers.live, []

        def live(cells, trainer, kept, say, stop, on_step):
            def stopping(step):
                steps.append(step)
                on_step(step)
                if len(steps) == 2:
                    stop.set()

            return real(cells, trainer, kept, say, stop, stopping)

        monkeypatch.setattr(workers, "live", live)
        return steps

    return begin
