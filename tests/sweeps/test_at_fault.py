"""Failures, and whose fault they are: one cell's of several, or that of the machine."""

import os
import subprocess
import sys

import pytest
from small_studies import SETTINGS, cells_of, small

from hcdyna.sweeps import worker as workers
from hcdyna.sweeps.status import status
from hcdyna.sweeps.store import MOST_DEATHS, SweepStore

OWN = """
from hcdyna.search_control.replay import Replay

class Mine(Replay):
    pass
"""


def test_cells_that_were_trained_with_one_at_fault_are_not_lost(
    make_store, make_worker, monkeypatch
):
    quiet, store, real = make_store("quiet"), make_store(together=4), workers.live
    make_worker(quiet)[0].work()
    assert len(store.tasks()) == 1

    def fail(cells, *rest):
        if any(cell.settings.agent.learning_rate == 1.0 for cell in cells):
            raise ValueError("a fault")
        return real(cells, *rest)

    monkeypatch.setattr(workers, "live", fail)
    worker, lines = make_worker(store)
    assert worker.work() == 2
    now = status(store)
    assert (now.total, now.done, now.aside, now.finished) == (4, 2, 2, True)
    assert sum("each of its cells is tried alone" in line for line in lines) == 1
    assert all("learning_rate=1.0" in line for line in now.failed_lines())
    monkeypatch.setattr(workers, "live", real)
    assert store.retry() == 2
    make_worker(SweepStore.open(store.place.root))[0].work()
    assert cells_of(store) == cells_of(quiet)
    assert not store.place.names("leases")
    assert not store.place.names("unfinished")


def test_cells_that_need_too_much_memory_together_are_tried_alone(make_store, make_worker):
    store = make_store(together=4)
    (task,) = store.tasks()
    for _ in range(MOST_DEATHS + 2):
        lease = store.take(task, store.scan())
        if lease is not None:
            lease.content["pid"] = 2**22 + 1
            lease.renew()
    assert make_worker(store)[0].work() == 4
    assert status(store).done == 4


def test_a_module_that_a_worker_does_not_have_is_no_fault_of_the_cells(tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "here/own_replay.py").write_text(OWN)
    settings = SETTINGS | {"search_control": "own_replay:Mine"}
    study = small(settings=settings, vary={}, seeds=2).plain()
    (tmp_path / "here/study.yaml").write_text(str(study))

    def hcdyna(folder, *words):
        command = [sys.executable, "-m", "hcdyna", *words]
        about = os.environ | {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
        return subprocess.run(
            command, cwd=folder, env=about, capture_output=True, text=True, check=False
        )

    store = str(tmp_path / "store")
    made = ["--no-calibrate", "--workers", "1", "--store", store]
    begun = hcdyna(tmp_path / "here", "sweep", "study.yaml", *made, "--dry-run")
    assert begun.returncode == 0, begun.stderr
    (tmp_path / "here/add.py").write_text(
        "import sys\n"
        "from hcdyna.sweeps.study import Study\n"
        "from hcdyna.sweeps.sweep import add\n"
        "add(Study.read('study.yaml'), sys.argv[1], calibrate=False)\n"
    )
    subprocess.run([sys.executable, "add.py", store], cwd=tmp_path / "here", check=True)
    lost = hcdyna(tmp_path, "work", store)
    assert lost.returncode == 2
    assert "can't import 'own_replay:Mine'" in lost.stderr.splitlines()[-1]
    assert not status(SweepStore.open(store)).failures
    assert hcdyna(tmp_path / "here", "work", store).returncode == 0
    assert status(SweepStore.open(store)).done == 1


@pytest.mark.parametrize("name", ["leases", "unfinished"])
def test_nothing_is_left_of_a_task_that_was_parted(name, make_store):
    store = make_store(together=4)
    (task,) = store.tasks()
    lease = store.take(task, store.scan())
    (store.place.checkpoints(task.id, 1) / "x").mkdir(parents=True)
    store.fail(task, "ValueError: no", aside=True)
    lease.release()
    assert not store.place.names(name)
    assert [x.keys for x in store.tasks()] == [(key,) for key in task.keys]
    assert not store.scan().failed
