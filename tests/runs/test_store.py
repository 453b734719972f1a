"""A run folder checks itself: what is damaged, missing or of another run is noticed."""

import dataclasses
import json
import os
import shutil
import threading
import warnings

import numpy as np
import pytest

from hcdyna import DQN, Evaluation, RunError, Settings, Training, load, resume, train
from hcdyna.cli import main
from hcdyna.numerics.files import read_arrays, write, write_arrays
from hcdyna.runs import run_json, saving
from hcdyna.runs.beginning import begun
from hcdyna.runs.record import describe
from hcdyna.runs.store import Store
from hcdyna.settings.plain import settings_to_plain

SETTINGS = Settings(
    agent=DQN(hidden=(4,)),
    search_control="uniform",
    training=Training(steps=60, warmup=20, planning_steps=1, replay_size=50),
    evaluation=Evaluation(every=10),
)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A finished run with a file of curves for each evaluation."""
    patch = pytest.MonkeyPatch()
    patch.setattr(saving, "SAVING_SHARE", 1e9)
    run = train(SETTINGS, seeds=2, out=tmp_path_factory.mktemp("runs") / "kept")
    patch.undo()
    assert len(list((run.folder / "curves").iterdir())) == 6
    return run


@pytest.fixture
def copy(kept, tmp_path):
    return shutil.copytree(kept.folder, tmp_path / "copy")


def curves(folder):
    return sorted((folder / "curves").iterdir())


def lose(folder, number):
    curves(folder)[number].unlink()


def rename(folder, number):
    path = curves(folder)[number]
    path.rename(path.with_name("step-000000000099.npz"))


def double(folder, number):
    shutil.copy(curves(folder)[number], folder / "curves" / "step-000000000070.npz")


def exchange(folder, number):
    one, other = curves(folder)[number], curves(folder)[number - 1]
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)


@pytest.mark.parametrize("number", [0, 2, -1])
@pytest.mark.parametrize("harm", [lose, rename, double, exchange])
def test_curves_that_are_missing_renamed_or_there_twice_are_noticed(harm, number, copy, capsys):
    harm(copy, number)
    with pytest.raises(RunError, match=r"missing|renamed|no such"):
        load(copy)
    for command in (["export", str(copy), "--csv"], ["report", str(copy)]):
        assert main(command) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert str(copy) in printed.err
    with pytest.raises(RunError, match=r"missing|renamed|no such"):
        resume(copy)
    returns, _ = load(copy, curves=False).evaluate(episodes=1)
    assert returns.shape == (1, 2, 1), "the agents are whole"


@pytest.mark.parametrize("command", ["eval", "watch", "diagnose", "plot --what agent"])
def test_agents_can_be_used_where_curves_are_damaged(command, copy, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lose(copy, 0)
    assert main([*command.split(), str(copy)]) == 0
    assert "its agents can still be used" in capsys.readouterr().err


def test_curves_of_another_run_are_noticed(kept, copy, tmp_path):
    other = train(dataclasses.replace(SETTINGS, agent=DQN(1e-2, (4,))), 2, out=tmp_path / "other")
    shutil.rmtree(copy / "curves")
    shutil.copytree(other.folder / "curves", copy / "curves")
    with pytest.raises(RunError, match="another run"):
        load(copy)


@pytest.mark.parametrize("seed", range(4))
def test_a_flipped_bit_is_noticed_or_changes_nothing(seed, kept, tmp_path):
    """In every kind of file. All that is read back is compared with what was saved."""
    rng = np.random.default_rng(seed)
    before, states = kept.curves() | kept.diagnostics(), kept.state(0)
    files = [path for path in kept.folder.rglob("*") if path.suffix in (".json", ".npz")]
    for number in range(40):
        source = files[rng.integers(len(files))]
        folder = shutil.copytree(kept.folder, tmp_path / f"{number}")
        path = folder / source.relative_to(kept.folder)
        content = bytearray(path.read_bytes())
        where, bit = int(rng.integers(len(content))), int(rng.integers(8))
        content[where] ^= 1 << bit
        path.write_bytes(bytes(content))
        place = f"{source.name}, byte {where}, bit {bit}, seed {seed}"
        try:
            store = Store.open(folder)
            run = load(folder)
            for checkpoint in store.checkpoints():
                store.read_checkpoint(checkpoint)
        except RunError:
            continue
        if path.parent.name == "snapshots":
            whole = Store.open(kept.folder).snapshots()
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                found = store.snapshots()
            assert len(found) + len(told) == len(whole), place
            assert all(
                np.array_equal(whole[n][key], x) for n in found for key, x in found[n].items()
            )
            continue
        after = run.curves() | run.diagnostics()
        assert run.settings == kept.settings, place
        assert run.seeds == kept.seeds, place
        assert all(np.array_equal(before[name], after[name], equal_nan=True) for name in before)
        assert before.keys() == after.keys(), place
        np.testing.assert_array_equal(run.state(0).agent.params[0][0], states.agent.params[0][0])
        shutil.rmtree(folder)


def test_a_damaged_snapshot_does_not_block_the_report(copy, capsys):
    path = sorted((copy / "snapshots").iterdir())[1]
    path.write_bytes(path.read_bytes()[:-100])
    assert main(["report", str(copy)]) == 0
    printed = capsys.readouterr()
    assert f"{path.name}: damaged" in printed.err
    assert "it is left out" in printed.err
    assert (copy / "report.html").is_file()


@pytest.mark.parametrize(
    "change",
    [
        {"seeds": [-1]},
        {"seeds": [2**40]},
        {"seeds": [True]},
        {"seeds": []},
        {"versions": "none"},
        {"settings": [[]]},
        {"settings": {}},
        {"format": 3},
        {"format": "2"},
    ],
)
def test_a_record_that_was_tampered_with_is_refused_in_one_line(change, copy, capsys):
    record = json.loads((copy / "run.json").read_text()) | change
    record["checksum"] = run_json.checksum_of(record)
    (copy / "run.json").write_text(json.dumps(record))
    for command in ("export", "report", "resume", "eval", "diagnose"):
        assert main([command, str(copy), *(["--csv"] if command == "export" else [])]) == 2
        assert "not a run of ours" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "\x00", "[1, 2]", '"run"'])
def test_what_is_no_record_is_refused_in_one_line(text, copy):
    (copy / "run.json").write_text(text)
    with pytest.raises(RunError, match="not a run of ours"):
        load(copy)


def test_a_pipe_among_the_curves_does_not_hang(copy):
    lose(copy, 2)
    os.mkfifo(copy / "curves" / "step-000000000030.npz")
    with pytest.raises(RunError, match="not a file"):
        load(copy)


def test_checkpoints_that_lie_ahead_do_not_push_out_what_is_saved(copy):
    """Else a run that goes on from the one whole checkpoint would remove what it saves."""
    newest, older = Store.open(copy).checkpoints()
    newest.rename(newest.with_name("step-000000000098.npz"))
    shutil.copy(older, older.with_name("step-000000000099.npz"))
    with pytest.warns(UserWarning, match="under another name"):
        resume(copy)
    steps = [int(path.stem.removeprefix("step-")) for path in Store.open(copy).checkpoints()]
    assert steps == [99, 98, 60, 50]


@pytest.mark.parametrize("place", ["curves", "checkpoints", "snapshots"])
def test_an_empty_folder_that_got_lost_is_made_again(place, tmp_path):
    """Some ways to copy a run leave empty folders out."""
    record = describe([settings_to_plain(SETTINGS)], [0], "off")
    Store.create(tmp_path / "run", record)
    (tmp_path / "run" / place).rmdir()
    assert resume(tmp_path / "run").finished


def test_a_lock_that_is_a_pipe_or_a_link_does_no_harm(copy, tmp_path):
    (copy / "lock").unlink()
    os.mkfifo(copy / "lock")
    assert resume(copy).finished
    (copy / "lock").unlink()
    (copy / "lock").symlink_to(tmp_path / "planted")
    with pytest.raises(RunError, match="lock: can't be written"):
        resume(copy)
    assert not (tmp_path / "planted").exists()


def test_the_record_is_that_of_the_process_which_trains(tmp_path):
    """Many begin the same run at the same moment: one gets it, with its own record."""
    rates, gate = [1e-3 * (n + 1) for n in range(12)], threading.Barrier(12)
    won, lost = [], []

    def begin(rate):
        settings = [settings_to_plain(dataclasses.replace(SETTINGS, agent=DQN(rate)))]
        record = describe(settings, [0], "off")
        gate.wait()
        try:
            with begun(tmp_path / "run", record) as store:
                won.append((rate, store.settings[0].agent.learning_rate))
                done.wait(5)
        except RunError as error:
            lost.append(str(error))
            if len(lost) == 11:
                done.set()

    done = threading.Event()
    threads = [threading.Thread(target=begin, args=(rate,)) for rate in rates]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [(mine, recorded)] = won
    assert mine == recorded == Store.open(tmp_path / "run").settings[0].agent.learning_rate
    assert all("another process" in line for line in lost)


def test_a_planted_link_is_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    for name in (f".page.{os.getpid()}", ".page.part", "page"):
        (tmp_path / name).symlink_to(victim)
    write(tmp_path / "page", b"theirs")
    assert victim.read_text() == "mine"
    assert (tmp_path / "page").read_bytes() == b"theirs"
    assert not (tmp_path / "page").is_symlink()


def test_no_file_is_put_in_the_place_of_a_device(tmp_path, copy, capsys):
    """As root, `report --out /dev/full` made a file of it."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "nowhere").symlink_to(os.devnull)
    for name in ("pipe", "nowhere"):
        with pytest.raises(RunError, match=f"{name}: can't be written: it is a device or pipe"):
            write(tmp_path / name, b"page")
    assert main(["report", str(copy), "--out", str(tmp_path / "nowhere")]) == 2
    assert "nowhere: can't be written: it is a device or pipe" in capsys.readouterr().err
    assert (tmp_path / "nowhere").is_symlink()


def test_what_a_killed_process_left_is_removed(copy, tmp_path):
    gone = 2**22 + 1  # above the largest number that Linux gives to a process
    left = [
        copy / "curves" / f".step-1.npz.{gone}-0123abcd.part",
        tmp_path / f".a.{gone}-00000000.part",
    ]
    alive = tmp_path / f".a.{os.getpid()}-00000000.part"
    for path in (*left, alive):
        path.write_text("half")
    write(tmp_path / "a", b"whole")
    resume(copy)
    assert not any(path.exists() for path in left)
    assert alive.exists(), "another thread may be writing it"


def test_arrays_come_back_with_type_and_shape_and_belong_to_a_run(tmp_path):
    arrays = {"a": np.arange(6).reshape(2, 3), "b": np.float32(2.5), "empty": np.zeros((0, 4))}
    write_arrays(tmp_path / "x.npz", arrays, "run 1")
    found = read_arrays(tmp_path / "x.npz", "run 1")
    assert found.keys() == arrays.keys()
    for name, x in arrays.items():
        assert found[name].dtype == x.dtype
        np.testing.assert_array_equal(found[name], x)
    with pytest.raises(RunError, match="another run"):
        read_arrays(tmp_path / "x.npz", "run 2")
    assert read_arrays(tmp_path / "x.npz").keys() == arrays.keys()
