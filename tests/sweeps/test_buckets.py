"""A store in object storage; fsspec's own, in memory."""

import sys
import threading
import uuid

import pytest
from small_studies import cells_of, small

from hcdyna.cli import main
from hcdyna.experiments import unfinished
from hcdyna.settings.errors import SettingsError
from hcdyna.sweeps import leases
from hcdyna.sweeps.buckets import place_of
from hcdyna.sweeps.outcomes import everything
from hcdyna.sweeps.places import Folder
from hcdyna.sweeps.status import status
from hcdyna.sweeps.store import SweepStore
from hcdyna.sweeps.sweep import add
from hcdyna.sweeps.worker import Requeue


@pytest.fixture
def address():
    fsspec = pytest.importorskip("fsspec")
    name = f"memory://{uuid.uuid4().hex}"
    yield name
    fsspec.filesystem("memory").store.clear()


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(SettingsError, match=r"needs fsspec; pip install 'hcdyna\[bucket\]'"):
        place_of("memory://x")


def test_files_are_made_once_and_leases_work(address):
    place = place_of(address)
    assert place.read("leases/a.1") is None
    assert place.create("leases/a.1", b"1")
    assert not place_of(address).create("leases/a.1", b"2")
    assert place.read("leases/a.1") == b"1"
    assert place.names("leases") == ["a.1"]
    place.remove("leases/a.1")
    place.remove("leases/a.1")
    assert place.names("leases") == []
    first = leases.take(place, "t", leases.Watch(), 60.0, {})
    first.renew()
    assert leases.take(place, "t", leases.Watch(), 60.0, {"t": 1}) is None
    first.release()
    assert place.names("leases") == []


def test_workers_without_a_disk_in_common_go_on_with_each_others_work(
    address, make_store, make_worker, monkeypatch, stop_after_two_steps
):
    monkeypatch.setattr(unfinished, "SECONDS", 0.0)
    quiet = make_store()
    make_worker(quiet)[0].work()
    add(small(), address, calibrate=False)
    stop, steps = threading.Event(), stop_after_two_steps()
    with pytest.raises(Requeue):
        make_worker(SweepStore.open(address), stop)[0].work()
    assert make_worker(SweepStore.open(address))[0].work() == 4
    assert steps.count(20) == 4, "the first steps were not taken again"
    store = SweepStore.open(address)
    assert status(store).finished
    assert cells_of(store) == cells_of(quiet)
    assert not store.place.names("unfinished")
    assert len(everything(store, store.studies())) == 2


def test_an_address_of_a_file_is_that_folder(tmp_path):
    place = place_of(f"file://{tmp_path}/store")
    assert isinstance(place, Folder)
    assert place.root == tmp_path / "store"


def test_a_store_in_object_storage_is_reported_and_exported(
    address, make_worker, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    add(small(vary={}, seeds=2), address, calibrate=False)
    make_worker(SweepStore.open(address))[0].work()
    assert main(["export", address, "--csv"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + 2 * 3
    assert main(["report", address]) == 0
    assert (tmp_path / "report.html").is_file()
