"""Runs in folders: interrupted, killed, damaged, and going on to exactly the same end."""

import dataclasses
import json
import os
import shutil
import signal

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna import (
    DQN,
    Evaluation,
    HillClimbing,
    Interrupted,
    RunError,
    Settings,
    SettingsError,
    Training,
    drawn,
    load,
    resume,
    train,
)
from hcdyna.runs import run_json, saving
from hcdyna.runs.store import Store
from hcdyna.types import Model

SMALL = Settings(
    environment="GridWorld",
    agent=DQN(learning_rate=1e-3, hidden=(8,)),
    model="learned",
    search_control=HillClimbing(steps=5, queue_size=300),
    training=Training(steps=400, warmup=60, planning_steps=1, replay_size=100),
    evaluation=Evaluation(every=40),
)

SEEDS = [3, 4, 5]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The run that was never interrupted."""
    return train(SMALL, seeds=SEEDS, out=tmp_path_factory.mktemp("runs") / "whole")


def assert_same_run(a, b):
    assert np.array_equal(a.steps, b.steps)
    assert np.array_equal(a.returns, b.returns)
    assert np.array_equal(a.lengths, b.lengths)
    for one, other in zip(a.info, b.info, strict=True):
        assert one.keys() == other.keys()
        assert all(np.array_equal(one[name], other[name]) for name in one)
    for seed in a.seeds:
        states = (jax.tree.leaves(run.state(seed)) for run in (a, b))
        for x, y in zip(*states, strict=True):
            np.testing.assert_array_equal(x, y)  # NaN, for what is not known yet, equals itself


def stop_at(step):
    def on_chunk(progress):
        if progress.steps[-1] >= step:
            raise OSError("the power failed")

    return on_chunk


def test_a_folder_changes_nothing(whole):
    assert_same_run(whole, train(SMALL, seeds=SEEDS))
    assert_same_run(whole, load(whole.folder))
    assert whole.finished


def test_the_record_names_versions_device_commit_and_command(whole):
    record = json.loads((whole.folder / "run.json").read_text())
    assert {"hcdyna", "jax", "device", "python"} <= record["versions"].keys()
    assert record["command"]
    assert record["seeds"] == [3, 4, 5]
    assert "commit" in record
    assert len(list((whole.folder / "checkpoints").iterdir())) <= 2


def test_a_run_that_failed_goes_on_bit_for_bit(whole, tmp_path):
    with pytest.raises(OSError, match="power"):
        train(SMALL, seeds=SEEDS, out=tmp_path, on_chunk=stop_at(200))
    assert load(tmp_path).steps[-1] == 200, "what was learned before the failure is saved"
    assert_same_run(whole, resume(tmp_path))


def test_a_run_that_is_finished_stays_as_it_is(whole):
    before = {path: path.stat().st_mtime_ns for path in whole.folder.rglob("*.npz")}
    assert_same_run(whole, resume(whole.folder))
    assert before == {path: path.stat().st_mtime_ns for path in whole.folder.rglob("*.npz")}


def test_a_damaged_checkpoint_is_noticed_and_the_one_before_used(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(saving, "SAVING_SHARE", 1e9)  # after every evaluation, however slow
    with pytest.raises(OSError, match="power"):
        train(SMALL, seeds=SEEDS, out=tmp_path, on_chunk=stop_at(390))
    newest, before = Store.open(tmp_path).checkpoints()
    content = bytearray(newest.read_bytes())
    content[len(content) // 2] ^= 0xFF
    newest.write_bytes(bytes(content))
    with pytest.warns(UserWarning, match="going on from the checkpoint before"):
        assert_same_run(whole, resume(tmp_path))
    newest, before = Store.open(tmp_path).checkpoints()
    newest.write_bytes(newest.read_bytes()[:1000])
    before.write_bytes(b"")
    with (
        pytest.warns(UserWarning, match="damaged"),
        pytest.raises(RunError, match=r"damaged|can't be read"),
    ):
        resume(tmp_path)


def test_other_settings_are_refused_with_the_difference(whole):
    other = dataclasses.replace(SMALL, agent=DQN(learning_rate=1e-2, hidden=(8,)))
    with pytest.raises(RunError, match=r"agent.learning_rate: 0.001 → 0.01"):
        train(other, seeds=SEEDS, out=whole.folder)
    with pytest.raises(RunError, match=r"seeds: \[3, 4, 5\] → \[3\]"):
        train(SMALL, seeds=[3], out=whole.folder)


def test_a_record_that_was_edited_is_refused(whole, tmp_path):
    folder = shutil.copytree(whole.folder, tmp_path / "copy")
    record = json.loads((folder / "run.json").read_text())
    record["settings"][0]["search_control"]["eta"] = 0.5
    (folder / "run.json").write_text(json.dumps(record))
    with pytest.raises(RunError, match="checksum is wrong"):
        resume(folder)
    record["checksum"] = run_json.checksum_of(record)
    (folder / "run.json").write_text(json.dumps(record))
    with pytest.warns(UserWarning, match="damaged"), pytest.raises(RunError, match="another run"):
        resume(folder)


def test_a_run_of_before_there_were_checksums_can_be_read_and_resumed(whole, tmp_path):
    """Format 1: no checksum in run.json nor in the arrays, checkpoints that count nothing, and less
    fields than there are now."""
    folder = shutil.copytree(whole.folder, tmp_path / "old")
    record = json.loads((folder / "run.json").read_text())
    del record["checksum"], record["settings"][0]["search_control"]["skip_terminal"]
    (folder / "run.json").write_text(json.dumps(record | {"format": 1}))
    newest, before = Store.open(folder).checkpoints()
    newest.unlink()
    for path in folder.rglob("*.npz"):
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files if name != "checksum"}
        if path == before:
            about = json.loads(arrays["record"].tobytes())
            text = json.dumps({key: about[key] for key in ("settings", "seeds")})
            arrays["record"] = np.frombuffer(text.encode(), np.uint8)
        np.savez(path, **arrays)
    assert len(load(folder).steps) == len(whole.steps)
    assert_same_run(whole, train(SMALL, seeds=SEEDS, out=folder))


def test_without_a_checkpoint_nothing_is_deleted(whole, tmp_path):
    folder = shutil.copytree(whole.folder, tmp_path / "copy")
    shutil.rmtree(folder / "checkpoints")
    before = {path: path.read_bytes() for path in (folder / "curves").iterdir()}
    with pytest.raises(RunError, match="no checkpoint to resume from; the curves are kept"):
        resume(folder)
    with pytest.raises(RunError, match="no checkpoint to resume from; the curves are kept"):
        train(SMALL, seeds=SEEDS, out=folder)
    assert before == {path: path.read_bytes() for path in (folder / "curves").iterdir()}
    assert len(load(folder).steps) == 10, "and they can still be looked at"


def test_a_second_process_is_refused(whole):
    with Store.open(whole.folder).lock(), pytest.raises(RunError, match="another process"):
        resume(whole.folder)


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="can't be written"):
        train(SMALL, seeds=SEEDS, out=tmp_path / "file")


def test_a_full_disk_is_one_line_and_loses_nothing(whole, tmp_path, monkeypatch):
    written = []

    def savez(file, **arrays):
        written.append(file)
        if len(written) > 12:
            raise OSError(28, "No space left on device")
        return real(file, **arrays)

    real = np.savez
    monkeypatch.setattr(np, "savez", savez)
    with pytest.raises(RunError, match="No space left on device; what was saved before"):
        train(SMALL, seeds=SEEDS, out=tmp_path)
    monkeypatch.undo()
    assert not list(tmp_path.rglob(".*")), "nothing half-written stays behind"
    assert_same_run(whole, resume(tmp_path))


@pytest.mark.usefixtures("usual_signals")
def test_ctrl_c_ends_the_chunk_and_saves(whole, tmp_path):
    def press(progress):
        if progress.steps[-1] == 200:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted, match="after step 200"):
        train(SMALL, seeds=SEEDS, out=tmp_path, on_chunk=press)
    assert load(tmp_path).steps[-1] == 200
    assert_same_run(whole, resume(tmp_path))


@pytest.mark.usefixtures("usual_signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_save_too(number, tmp_path):
    with pytest.raises(Interrupted, match="after step 120"):
        train(SMALL, seeds=SEEDS, out=tmp_path, on_chunk=when(120, lambda: kill(number)))
    assert load(tmp_path).steps[-1] == 120


@pytest.mark.usefixtures("usual_signals")
def test_a_second_ctrl_c_saves_and_the_third_stops_at_once(tmp_path, capfd):
    with pytest.raises(Interrupted, match="after step 120"):
        train(SMALL, seeds=SEEDS, out=tmp_path / "two", on_chunk=when(120, lambda: kill(times=2)))
    assert load(tmp_path / "two").steps[-1] == 120
    assert capfd.readouterr().err.count("a third Ctrl-C stops at once") == 2
    with pytest.raises(KeyboardInterrupt) as stop:
        train(
            SMALL,
            seeds=SEEDS,
            out=tmp_path / "three",
            on_chunk=when(120, lambda: kill(times=3)),
        )
    assert not isinstance(stop.value, Interrupted)


def test_nohup_keeps_a_run_going_when_the_terminal_is_gone(tmp_path):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        out = tmp_path / "run"
        run = train(SMALL, seeds=SEEDS, out=out, on_chunk=when(120, lambda: kill(signal.SIGHUP)))
    finally:
        signal.signal(signal.SIGHUP, before)
    assert run.finished


def when(step, act):
    """A callback that does something after so many steps."""

    def on_chunk(progress):
        if progress.steps[-1] == step:
            act()

    return on_chunk


def kill(number=signal.SIGINT, times=1):
    for _ in range(times):
        os.kill(os.getpid(), number)


@pytest.mark.parametrize("true", [True, np.bool_(True), jnp.bool_(True)])
def test_training_ends_early_if_the_callback_says_so(true, tmp_path, monkeypatch):
    monkeypatch.setattr(saving, "SAVING_SHARE", 0.0)  # no save is due before the end
    run = train(SMALL, seeds=SEEDS, out=tmp_path, on_chunk=lambda p: true & (p.steps[-1] >= 120))
    assert run.steps[-1] == 120
    assert not run.finished
    stored = load(tmp_path)
    assert_same_run(run, stored)


def test_functions_without_a_name_cannot_be_saved(tmp_path):
    settings = Settings(search_control=HillClimbing(criterion=lambda key, scene: scene.value))
    with pytest.raises(SettingsError, match=r"criterion.*can't be saved"):
        train(settings, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_an_agent_that_diverges_is_marked_and_disturbs_nobody(tmp_path):
    wild = dataclasses.replace(SMALL, agent=DQN(learning_rate=1e30, hidden=(8,)))
    run = train([SMALL, wild], seeds=[3, 4], out=tmp_path)
    assert not run.diverged[0].any()
    assert run.diverged[1, :, -1].all()
    assert not run.diverged[1, :, 0].any(), "in warm-up nothing is learned yet"
    curves = load(tmp_path).curves()
    assert set(curves["setting"][curves["diverged"]]) == {1}
    alone = train(SMALL, seeds=[3, 4])
    assert np.array_equal(alone.returns[0], run.returns[0])


@dataclasses.dataclass(frozen=True)
class NotANumber:
    """A strategy or model that comes from a mistake in somebody's arithmetic."""

    what: str

    def build(self, env):
        if self.what == "states":
            return drawn(lambda key, scene, n: jnp.full((n, 2), jnp.nan))

        def predict(key, state, obs, action):
            outcome = env.dynamics(key, obs, action)
            return outcome._replace(**{self.what: jnp.nan * getattr(outcome, self.what)})

        return Model(lambda key: (), predict, lambda key, state, replay: (state, {}))


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("what", ["states", "next_obs", "reward"])
def test_what_is_not_a_number_is_not_masked(what, activation):
    broken = NotANumber(what)
    parts = {"search_control": broken} if what == "states" else {"model": broken}
    agent = DQN(hidden=(8, 8), activation=activation)
    usual = {"search_control": "uniform", "training": Training(steps=60, warmup=30)}
    run = train(Settings(agent=agent, **usual | parts, evaluation=Evaluation(every=30)))
    assert run.diverged[0, 0].tolist() == [False, True]


def test_more_memory_than_there_is():
    huge = dataclasses.replace(SMALL, training=Training(replay_size=2_000_000_000))
    with pytest.raises(SettingsError, match=r"lower training.replay_size = 2000000000"):
        train(huge, seeds=30)


def test_a_trained_agent_acts_and_is_evaluated(whole):
    agent = load(whole.folder).agent(4)
    assert agent.predict([0.2, 0.3]) in range(4)
    many = np.random.default_rng(0).random((7, 2))
    assert agent.predict(many).shape == agent.value(many).shape == (7,)
    with pytest.raises(SettingsError, match="shape"):
        agent.predict([0.1, 0.2, 0.3])
    half = np.array([np.inf, 0.1], np.float16)
    for wrong in ([np.nan, 0.1], [1e300, 0.1], half, None, "x", [[1, 2], [3]]):
        with pytest.raises(SettingsError, match=r"obs = .*: must be finite numbers"):
            agent.predict(wrong)
    for episodes in ("x", 2.5, 10**12):
        with pytest.raises(SettingsError, match=r"episodes = .*: must be a whole number from 1"):
            whole.evaluate(episodes)
    with pytest.raises(SettingsError, match="seed = 9"):
        whole.agent(9)
    returns, lengths = whole.evaluate(episodes=2, epsilon=0.0)
    assert returns.shape == (1, 3, 2)
    assert np.array_equal(returns, -lengths)


@pytest.mark.parametrize("name", ["", "a\0b", 3, b"run"])
def test_what_no_folder_can_be_called_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for use in (lambda: train(SMALL, out=name), lambda: load(name), lambda: resume(name)):
        with pytest.raises(SettingsError, match="must be the name of a file or folder"):
            use()
    assert not list(tmp_path.iterdir())
