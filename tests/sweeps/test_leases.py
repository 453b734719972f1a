import os
import threading
import time

import pytest

from hcdyna.sweeps import leases
from hcdyna.sweeps.leases import LostLease, Watch, latest, take
from hcdyna.sweeps.places import Folder


@pytest.fixture
def place(tmp_path):
    return Folder(tmp_path)


def taken(place, watch=None, patience=60.0):
    return take(place, "task", watch or Watch(), patience, latest(place.names("leases")))


def elsewhere(lease):
    """As if its holder were on another machine."""
    lease.content["machine"] = "another one"
    lease.renew()


def test_one_of_many_gets_the_lease(place):
    found, start = [], threading.Barrier(8)

    def run():
        start.wait()
        if taken(place) is not None:
            found.append(1)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 1
    assert place.names("leases") == ["task.1"]


def test_who_looked_long_ago_does_not_get_a_lower_number(place):
    before = latest(place.names("leases"))
    first = taken(place)
    first.content["pid"] = 2**22 + 1
    first.renew()
    second = taken(place)
    assert second.number == 2
    assert take(place, "task", Watch(), 60.0, before) is None, "the first has gone since"
    assert place.names("leases") == ["task.2"]
    second.renew()


def test_a_lease_that_is_renewed_is_kept_and_a_silent_one_taken_over(place):
    first, watch = taken(place), Watch()
    elsewhere(first)
    assert taken(place, watch, patience=0.2) is None
    for _ in range(3):
        time.sleep(0.1)
        first.renew()
        assert taken(place, watch, patience=0.2) is None
    time.sleep(0.25)
    second = taken(place, watch, patience=0.2)
    assert (second.number, second.content["deaths"]) == (2, 1)
    with pytest.raises(LostLease):
        first.renew()
    first.release()
    assert place.names("leases") == ["task.2"], "who lost a lease does not remove the new one"
    second.renew()


def test_clocks_do_not_matter(place):
    """A lease is judged by its beats alone: neither the times of files nor those of machines."""
    first, watch = taken(place), Watch()
    elsewhere(first)
    for hours in (-2, 2):
        moment = time.time() + 3600 * hours
        os.utime(place.root / first.name, (moment, moment))
        assert taken(place, watch, patience=5.0) is None


def test_a_process_of_this_machine_that_is_gone_is_not_waited_for(place):
    first = taken(place)
    assert taken(place) is None
    first.content["pid"] = 2**22 + 1  # more than Linux gives
    first.renew()
    assert taken(place).number == 2


def test_another_process_with_the_same_number_is_not_the_holder(place):
    first = taken(place)
    first.content["born"] = "1"
    first.renew()
    assert taken(place).number == 2


def test_it_is_renewed_in_a_thread_and_released(place):
    lease = taken(place)
    with lease.renewed(patience=0.12):
        time.sleep(0.2)
    beats = leases.read(place, lease.name)["beat"]
    assert beats >= 3
    lease.release()
    assert not place.names("leases")
    assert taken(place).number == 1


def test_what_was_lost_is_counted(place):
    first = taken(place)
    first.content |= {"step": 50, "saved": 30, "machine": "x"}
    first.renew()
    second = taken(place, patience=0.0)
    assert (second.content["repeated"], second.content["deaths"]) == (20, 1)
    second.content |= {"step": 60}
    second.renew()
    third = taken(place, patience=0.0)
    assert (third.content["repeated"], third.content["deaths"]) == (50, 2)
    third.content |= {"step": 80, "saved": 60}
    third.renew()
    assert taken(place, patience=0.0).content["deaths"] == 1, "something new was saved"


def test_a_damaged_lease_is_taken_over(place):
    place.write("leases/task.3", b"{half a le")
    watch = Watch()
    assert taken(place, watch, patience=0.1) is None
    time.sleep(0.15)
    assert taken(place, watch, patience=0.1).number == 4
