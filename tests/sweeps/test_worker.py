import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from small_studies import cells_of, small

from hcdyna.experiments import unfinished
from hcdyna.runs import record
from hcdyna.settings.errors import NotWritten, RunError, SettingsError
from hcdyna.sweeps import planning
from hcdyna.sweeps import worker as workers
from hcdyna.sweeps.leases import LostLease, latest
from hcdyna.sweeps.status import status
from hcdyna.sweeps.store import MOST_DEATHS, SweepStore
from hcdyna.sweeps.sweep import add, plan
from hcdyna.sweeps.worker import Requeue
from hcdyna.training import compiled


def test_a_worker_trains_everything_and_compiles_once(make_store, make_worker):
    store = make_store()
    worker, lines = make_worker(store)
    compiled.compile_programs.cache_clear()
    assert worker.work() == 4
    assert compiled.compile_programs.cache_info().misses == 1
    ends = [line for line in lines if line.endswith(" s")]
    assert [line[:5] for line in ends] == ["[1/4]", "[2/4]", "[3/4]", "[4/4]"]
    now = status(store)
    assert (now.done, now.total, now.finished) == (4, 4, True)
    assert not store.place.names("leases")
    study = small()
    found = [store.cells.load(each.cell) for each in study.cells()]
    assert all(each.returns.shape == (2, 3) for each in found)
    assert worker.work() == 4, "nothing is left"
    assert plan(study, store, calibrate=False).listed == 4


def test_cells_are_the_same_bytes_however_they_are_packed(make_store, make_worker):
    alone, packed = make_store("alone"), make_store("packed", together=2)
    for store in (alone, packed):
        make_worker(store)[0].work()
    assert len(packed.tasks()) == 2
    assert cells_of(alone) == cells_of(packed) != {}


def test_cells_are_the_same_bytes_where_there_is_no_git(make_store, make_worker, monkeypatch):
    monkeypatch.setattr(planning, "commit", lambda: "abc")
    here, elsewhere = make_store("here", vary={}), make_store("elsewhere", vary={})
    for store, found in ((here, "abc"), (elsewhere, None)):
        monkeypatch.setattr(record, "commit", lambda found=found: found)
        make_worker(store)[0].work()
    assert cells_of(here) == cells_of(elsewhere) != {}


def test_seeds_in_blocks_are_the_seeds_of_one_block(make_store, make_worker):
    blocks, whole = make_store("blocks"), make_store("whole", block=4)
    for store in (blocks, whole):
        make_worker(store)[0].work()
    parts = [blocks.cells.load(x.cell).returns for x in small().cells()[:2]]
    (one, _) = (whole.cells.load(x.cell).returns for x in small(block=4).cells())
    np.testing.assert_array_equal(np.concatenate(parts), one)


def test_two_sweeps_on_one_store_share_their_cells(make_store, tmp_path, make_worker):
    store = make_store()
    other, planned = add(
        small(name="more", vary={"agent.learning_rate": [1.0, 0.1]}), tmp_path / "store",
        calibrate=False,
    )  # fmt: skip
    assert planned.listed == 2
    assert make_worker(other)[0].work() == 6
    assert status(store).total == status(store).done == 6
    again, planned = add(small(), tmp_path / "store", calibrate=False)
    assert (planned.tasks, planned.listed) == ([], 4)
    assert len(again.place.names("work")) == 2
    rates = {"of": "agent.learning_rate", "a": 0.5, "b": 1.0}
    add(small(compare=[rates]), tmp_path / "store", calibrate=False)
    assert len(again.studies()) == 2, "a study that asks another question replaces the one before"


def test_cells_that_came_from_elsewhere_are_not_trained(make_store, make_worker, tmp_path):
    store = make_store()
    make_worker(store)[0].work()
    shutil.copytree(tmp_path / "store/cells", tmp_path / "new/cells")
    new, planned = add(small(), tmp_path / "new", calibrate=False)
    assert not planned.tasks
    assert status(new).finished


def test_three_failures_set_a_task_aside_and_the_others_go_on(make_store, make_worker, monkeypatch):
    store, real = make_store(), workers.live

    def fail(cells, *rest):
        if cells[0].settings.agent.learning_rate == 1.0 and cells[0].first_seed:
            raise ValueError("a fault\nof two lines")
        return real(cells, *rest)

    monkeypatch.setattr(workers, "live", fail)
    worker, lines = make_worker(store)
    assert worker.work() == 3
    said = [line for line in lines if "fault" in line]
    assert [line.rpartition("; ")[2] for line in said] == [
        *("it will be tried again", "it will be tried again", "set aside")
    ]
    now = status(store)
    assert (now.done, now.aside, now.finished) == (3, 1, True)
    assert "ValueError: a fault of two lines" in now.failed_lines()[0]
    assert not store.place.names("leases")
    monkeypatch.setattr(workers, "live", real)
    assert worker.work() == 3, "what was set aside stays aside"
    assert store.retry() == 1
    assert worker.work() == 4
    assert not store.place.names("failed")


def test_a_mistake_in_the_settings_is_never_tried_again(make_store, make_worker, monkeypatch):
    store, tries = make_store(), []

    def refuse(cells, *rest):
        tries.append(1)
        raise SettingsError("agent = x: must be y")

    monkeypatch.setattr(workers, "live", refuse)
    make_worker(store)[0].work()
    assert len(tries) == 4
    assert status(store).aside == 4


def test_a_disk_that_is_full_ends_the_worker_and_blames_no_task(
    make_store, make_worker, monkeypatch
):
    store = make_store()

    def full(self, cell, result):
        raise NotWritten("cells: can't be written: No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("hcdyna.experiments.cells.CellStore.save", full)
        with pytest.raises(RunError, match="No space left"):
            make_worker(store)[0].work()
    assert not store.place.names("failed")
    assert not store.place.names("leases")
    assert make_worker(store)[0].work() == 4


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_a_store_that_can_not_be_written_is_named(make_store):
    store = make_store()
    store.place.root.chmod(0o500)
    try:
        with pytest.raises(RunError, match="can't be written"):
            workers.work(store.place.root)
    finally:
        store.place.root.chmod(0o700)


def test_no_store_is_named(tmp_path):
    with pytest.raises(RunError, match=r"not the store of a sweep \(it has no store.json\)"):
        workers.work(tmp_path)


def test_a_worker_that_is_stopped_saves_and_another_goes_on_bit_for_bit(
    make_store, make_worker, stop_after_two_steps
):
    whole, store, stop = make_store("whole"), make_store("parts"), threading.Event()
    make_worker(whole)[0].work()
    steps = stop_after_two_steps()
    with pytest.raises(Requeue):
        make_worker(store, stop)[0].work()
    assert not store.place.names("leases")
    assert len(list((store.place.root / "unfinished").iterdir())) == 1
    assert make_worker(store)[0].work() == 4
    assert steps.count(20) == 4, "the first steps were not taken again"
    assert cells_of(store) == cells_of(whole)
    assert not list((store.place.root / "unfinished").iterdir())


def test_a_worker_that_lost_its_lease_while_asleep_publishes_nothing(
    make_store, make_worker, monkeypatch
):
    monkeypatch.setattr(unfinished, "SECONDS", 0.0)
    store, real, taken = make_store(patience=30.0, vary={}, seeds=2), workers.live, []

    def live(cells, trainer, kept, say, stop, on_step):
        def asleep(step):
            if step == 40 and not taken:
                held = latest(store.place.names("leases"))
                (task,) = store.tasks()
                name = f"leases/{task.id}.{held[task.id]}"
                content = store.place.read(name).replace(b'"pid": ', b'"pid": 9999')
                store.place.write(name, content)
                taken.append(store.take(task, store.scan()))
                store.place.checkpoints(task.id, taken[0].number)
            on_step(step)

        return real(cells, trainer, kept, say, stop, asleep)

    monkeypatch.setattr(workers, "live", live)
    worker, lines = make_worker(store)
    thread = threading.Timer(1.0, worker.stop.set)
    thread.start()
    with pytest.raises(Requeue):
        worker.work()
    thread.join()
    assert "another worker has taken it over" in lines[0]
    assert not store.place.names("cells")
    assert not store.place.names("failed")
    taken[0].release()
    assert make_worker(store)[0].work() == 1


def test_a_task_that_kills_its_workers_is_set_aside_in_the_end(make_store, make_worker):
    store = make_store(vary={}, seeds=2)
    (task,) = store.tasks()
    for _ in range(MOST_DEATHS + 2):
        lease = store.take(task, store.scan())
        if lease is not None:
            lease.content["pid"] = 2**22 + 1
            lease.renew()
    assert status(store).finished
    assert "times without a word" in status(store).failed_lines()[0]


def test_a_damaged_checkpoint_is_started_over(make_store, make_worker):
    store = make_store(vary={}, seeds=2)
    (task,) = store.tasks()
    folder = store.place.checkpoints(task.id, 1)
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "run.json").write_text("{")
    with pytest.warns(UserWarning, match="starts over"):
        assert make_worker(store)[0].work() == 1


def test_a_worker_killed_in_the_middle_loses_nothing(make_store, make_worker):
    """A short version of benchmarks/chaos.py."""
    long = {"settings": small().settings | {"training.steps": 6_000, "evaluation.every": 1_000}}
    quiet, killed = make_store("quiet", **long), make_store("killed", **long)
    make_worker(quiet)[0].work()
    words = [sys.executable, "-m", "hcdyna", "work", str(killed.place)]
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 300
    while not killed.scan().done and time.monotonic() < deadline:
        time.sleep(0.02)
    while not killed.place.names("leases") and process.poll() is None:
        time.sleep(0.002)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert 0 < status(killed).done < 4
    make_worker(SweepStore.open(killed.place.root))[0].work()
    assert cells_of(killed) == cells_of(quiet)
    assert not killed.place.names("leases")


def test_a_worker_killed_within_a_cell_of_seconds_leaves_a_checkpoint(
    make_store, make_worker, monkeypatch
):
    steps = {"training.steps": 400_000, "evaluation.every": 1_000}
    store = make_store(settings=small().settings | steps, vary={}, seeds=2)
    words = [sys.executable, "-m", "hcdyna", "work", str(store.place)]
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    while not list(store.place.root.glob("unfinished/*/checkpoints/step-*")):
        assert process.poll() is None, "it was not saved before it was done"
        time.sleep(0.01)
    process.kill()
    process.wait()
    begun, resumed = [], unfinished.Unfinished.resumed

    def noted(self, cells):
        found = resumed(self, cells)
        begun.append(found[0])
        raise LostLease("seen enough")

    monkeypatch.setattr(unfinished.Unfinished, "resumed", noted)
    worker, _ = make_worker(store)
    (task,) = store.tasks()
    worker.attempt(task, store.take(task, store.scan()))
    assert begun[0] >= 1_000
