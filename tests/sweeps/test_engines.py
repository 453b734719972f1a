"""Workers under Ray and Slurm; skipped where these are not installed."""

import os
import signal
import socket
import sys
import threading
import time
import types

import pytest
from small_studies import SETTINGS, cells_of

from hcdyna.settings.errors import SettingsError
from hcdyna.sweeps import extras
from hcdyna.sweeps.engines import ray as ray_engine
from hcdyna.sweeps.engines import slurm
from hcdyna.sweeps.status import status
from hcdyna.sweeps.sweep import Resources, engine, run

LONG = SETTINGS | {"training.steps": 30_000, "evaluation.every": 500}


@pytest.mark.parametrize(
    ("package", "needs"),
    [("ray", ray_engine.workers), ("submitit", slurm.workers)],
)
def test_a_missing_package_is_named_with_the_command_that_installs_it(package, needs, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SettingsError, match=rf"needs {package}; pip install 'hcdyna\[\w+\]'"):
        needs(Resources())
    assert package in extras.EXTRAS


def test_an_unknown_engine_is_named():
    with pytest.raises(SettingsError, match="on = 'mars': must be one of local, ray, slurm"):
        engine("mars")


def test_what_an_engine_can_not_do_is_refused_before_anything_starts(monkeypatch):
    for package in ("ray", "submitit"):
        monkeypatch.setitem(sys.modules, package, types.ModuleType(package))
    with pytest.raises(SettingsError, match=r"gpus = 0\.5: must be a whole number under Slurm"):
        slurm.workers(Resources(gpus=0.5))
    for name, given in (("time", "1:00"), ("time", "0"), ("mem_gb", "-1"), ("cluster", "mars")):
        with pytest.raises(SettingsError, match=f"options {name} = {given}: must be "):
            slurm.workers(Resources(options={name: given}))
    assert slurm.workers(Resources(3, options={"cluster": "local", "time": 5})) == 3
    with pytest.raises(SettingsError, match="options adress: the only option of ray is address"):
        ray_engine.workers(Resources(options={"adress": "auto"}))


@pytest.mark.parametrize("before", ["", "ray://"])
def test_an_address_of_ray_at_which_nobody_listens_is_named_at_once(before):
    with socket.create_server(("127.0.0.1", 0)) as cluster:
        address = f"{before}127.0.0.1:{cluster.getsockname()[1]}"
        assert ray_engine.address_of(Resources(options={"address": address})) == address
    with pytest.raises(SettingsError, match=f"^--on ray: {address}: can't connect: "):
        ray_engine.connected(NoRay(), Resources(options={"address": address}))


class NoRay:
    """A Ray that must not be used."""

    def is_initialized(self):
        return False


@pytest.mark.slow
def test_a_job_of_slurm_saves_at_the_signal_for_preemption_and_is_queued_again(
    make_store, make_worker
):
    """With submitit's local executor, which runs and queues jobs as Slurm would."""
    pytest.importorskip("submitit")
    quiet, store, told = make_store("quiet", settings=LONG), make_store(settings=LONG), []
    make_worker(quiet)[0].work()
    over = threading.Event()

    def preempt():
        while not told and not over.is_set():
            busy = [x for x in status(store).where if store.place.names("done") and not x.gone]
            for each in busy[:1]:
                os.kill(each.pid, signal.SIGUSR2)
                told.append(each)
            time.sleep(0.05)

    thread = threading.Thread(target=preempt, daemon=True)
    thread.start()
    options = {"cluster": "local", "time": "10"}
    run(store, "slurm", Resources(workers=1, options=options))
    over.set()
    thread.join()
    assert cells_of(store) == cells_of(quiet)
    logs = "".join(path.read_text() for path in (store.place.root / "slurm").rglob("*_log.*"))
    assert "Requeued job" in logs
    assert told[0].task.id in {x.removesuffix(".json") for x in store.place.names("done")}


def test_a_cluster_on_record_that_is_gone_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    record = tmp_path / "ray" / "ray_current_cluster"
    record.parent.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as cluster:
        record.write_text(f"127.0.0.1:{cluster.getsockname()[1]}")
        assert ray_engine.address_of(Resources()) is None, "Ray finds it by itself"
    assert ray_engine.address_of(Resources()) == "local"
    assert ray_engine.address_of(Resources(options={"address": "ray://head"})) == "ray://head"


@pytest.mark.slow
def test_workers_of_ray_make_the_same_cells_though_one_is_killed(make_store, make_worker):
    ray = pytest.importorskip("ray")
    quiet, store = make_store("quiet", settings=LONG), make_store(settings=LONG)
    make_worker(quiet)[0].work()
    over, killed = threading.Event(), []

    def kill():
        while not killed and not over.wait(0.05):
            busy = [x for x in status(store).where if store.place.names("done") and not x.gone]
            for each in busy[:1]:
                os.kill(each.pid, signal.SIGKILL)
                killed.append(each.pid)

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    run(store, "ray", Resources(workers=1))
    over.set()
    thread.join()
    assert killed
    assert not ray.is_initialized()
    assert cells_of(store) == cells_of(quiet)


@pytest.mark.slow
def test_a_node_of_ray_that_joins_late_gets_work(make_store, make_worker):
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    quiet, store = make_store("quiet"), make_store()
    make_worker(quiet)[0].work()
    small = {"object_store_memory": 100_000_000}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **small})
    waited = []

    def join(status):
        if not waited:
            waited.append(status.waiting)
            cluster.add_node(num_cpus=1, **small)

    try:
        run(store, "ray", Resources(options={"address": cluster.address}), join)
    finally:
        cluster.shutdown()
    assert waited == [4], "nobody could have begun before"
    assert cells_of(store) == cells_of(quiet)
