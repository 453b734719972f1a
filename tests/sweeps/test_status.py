import dataclasses
import json
import time

import pytest

from hcdyna.settings.errors import RunError
from hcdyna.sweeps.status import duration, status
from hcdyna.sweeps.store import SweepStore
from hcdyna.sweeps.tasks import named


def test_what_is_done_running_waiting_and_failed(make_store):
    store = make_store()
    one, two, three, _ = store.tasks()
    for ending in ("json", "npz"):
        store.place.write(f"cells/{one.keys[0]}.{ending}", b"")
    store.done(one, {"seconds": 4.0, "agents": 2, "steps": 60})
    lease = store.take(two, store.scan())
    lease.content["step"] = 20
    lease.renew()
    store.fail(three, "ValueError: no")
    now = status(store)
    assert (now.done, now.running, now.waiting, now.aside) == (1, 1, 2, 0)
    assert now.agents_per_second == 0.5
    assert now.seconds_left == (3 * 120 - 40) / 30
    assert "1 of 4 cells done, 1 running, 2 waiting" in now.line()
    (busy,) = now.where
    assert (busy.step, busy.gone) == (20, False)
    assert "failed (1×)" in now.failed_lines()[0]
    store.fail(three, "ValueError: no", aside=True)
    assert status(store).aside == 1
    lease.content["pid"] = 2**22 + 1
    lease.renew()
    assert status(store).where[0].gone
    assert status(store).agents_per_second is None
    assert now.table().row_count == 1


def test_ten_thousand_cells_are_looked_at_within_two_seconds(make_store):
    store = make_store(vary={}, seeds=1)
    (task,) = store.tasks()
    folder = store.place.root
    many = [
        dataclasses.replace(task, id=named([f"{i}"]), keys=(named(["key", f"{i}"]),))
        for i in range(10_000)
    ]
    lines = "".join(f"{x.line()}\n" for x in many)
    (folder / f"work/many-{named([lines])[:8]}.jsonl").write_text(lines)
    for name in ("cells", "done"):
        (folder / name).mkdir(exist_ok=True)
    for each in many[:5_000]:
        (folder / f"cells/{each.keys[0]}.json").touch()
        (folder / f"cells/{each.keys[0]}.npz").touch()
        (folder / f"done/{each.id}.json").write_text(json.dumps({"seconds": 1, "agents": 1}))
    begin = time.process_time()  # other tests may keep the cores busy
    now = status(SweepStore.open(folder))
    assert time.process_time() - begin < 2.0
    assert (now.done, now.total) == (5_000, 10_001)


def test_damaged_notes_do_not_hide_the_others(make_store):
    store = make_store()
    one, two, three, four = store.tasks()
    for task in (one, two, three, four):
        store.done(task, {"seconds": 4.0, "agents": 2, "steps": 60})
    before = status(store)
    for task, text in ((one, b'{"seconds" 4.0}'), (two, b"\xff"), (three, b'{"seconds": "x"}')):
        store.place.write(f"done/{task.id}.json", text)
    assert status(store) == before
    store.place.write(f"failed/{one.id}.json", b'{"failurfs": 1}')
    assert status(store).failures
    assert store.fail(one, "ValueError: no")["failures"] == 1


def test_a_file_of_tasks_that_was_changed_is_noticed(make_store):
    """Each bit of it decides what is trained."""
    store = make_store()
    (name,) = store.place.names("work")
    content = store.place.read(f"work/{name}")
    for place in range(0, len(content), 97):
        changed = bytearray(content)
        changed[place] ^= 1 << (place % 8)
        store.place.write(f"work/{name}", bytes(changed))
        with pytest.raises(RunError, match=f"work/{name}: damaged: "):
            SweepStore.open(store.place.root).tasks()


def test_durations():
    assert duration(0.4) == "0 s"
    assert duration(86_400 * 3) == "3 d"
