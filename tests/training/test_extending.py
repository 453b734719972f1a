"""A run that is extended is the run that was that long from the start."""

import dataclasses
import json
import shutil

import jax
import numpy as np
import pytest

from hcdyna import (
    DQN,
    Evaluation,
    LearnedModel,
    RunError,
    Settings,
    SettingsError,
    Training,
    load,
    resume,
    train,
)
from hcdyna.cli import main
from hcdyna.runs.store import Store

TABULAR = Settings(
    environment="TabularGridWorld",
    agent="tabular",
    search_control="replay",
    training=Training(steps=110, warmup=10, planning_steps=1, batch_size=4, replay_size=50),
    evaluation=Evaluation(every=20),
)
KINDS = {
    "tabular": TABULAR,
    "compiled": dataclasses.replace(TABULAR, environment="GridWorld", agent=DQN(hidden=(8,))),
    "hosted": dataclasses.replace(
        TABULAR,
        environment="CartPole-v1",
        agent=DQN(hidden=(8,)),
        model=LearnedModel(hidden=(4,), batch_size=4, normalise=False, trust="trust"),
    ),
}


def of(settings, steps):
    return dataclasses.replace(
        settings, training=dataclasses.replace(settings.training, steps=steps)
    )


def demand_same(a, b):
    assert a.settings == b.settings
    assert np.array_equal(a.steps, b.steps)
    assert np.array_equal(a.returns, b.returns)
    for one, other in zip(a.info, b.info, strict=True):
        assert one.keys() == other.keys()
        assert all(np.array_equal(one[name], other[name]) for name in one)
    for seed in a.seeds:
        states = (jax.tree.leaves(run.state(seed)) for run in (a, b))
        assert all(np.array_equal(x, y) for x, y in zip(*states, strict=True))


@pytest.mark.parametrize(
    "kind", ["tabular", "compiled", pytest.param("hosted", marks=pytest.mark.slow)]
)
def test_it_goes_on_bit_for_bit(kind, tmp_path):
    """From 40 to 70, which ends between two evaluations, and then to 110."""
    whole = train(KINDS[kind], seeds=2)
    if kind == "hosted":  # whose programs are compiled anew each time
        train(of(KINDS[kind], 70), seeds=2, out=tmp_path / "run")
    else:
        train(of(KINDS[kind], 40), seeds=2, out=tmp_path / "run")
        middle = resume(tmp_path / "run", steps=70)
        assert middle.steps.tolist() == [20, 40, 60, 70]
    last = train(KINDS[kind], seeds=2, out=tmp_path / "run")
    demand_same(whole, last)
    demand_same(whole, load(tmp_path / "run"))
    assert load(tmp_path / "run").finished
    record = json.loads((tmp_path / "run/run.json").read_text())
    assert [(x["from"], x["to"]) for x in record["extended"]][-1] == (70, 110)
    assert {"versions", "command", "at"} <= record["extended"][0].keys()


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "short"
    return train(of(TABULAR, 70), seeds=2, out=folder).folder


def test_fewer_steps_than_were_taken_are_refused(short, capsys):
    with pytest.raises(SettingsError, match="steps = 60: must be at least 70, which were taken"):
        resume(short, steps=60)
    with pytest.raises(SettingsError, match="steps = 60: must be at least 70, which were taken"):
        train(of(TABULAR, 60), seeds=2, out=short)
    with pytest.raises(SettingsError, match="must be at least 1"):
        resume(short, steps=0)
    assert main(["resume", str(short), "--steps", "60"]) == 2
    assert "must be at least 70" in capsys.readouterr().err
    assert load(short).finished


def test_from_the_shell(short, tmp_path, capsys):
    folder = shutil.copytree(short, tmp_path / "copy")
    assert main(["resume", str(folder), "--steps", "110"]) == 0
    assert "110 of 110 steps" in capsys.readouterr().out
    demand_same(train(TABULAR, seeds=2), load(folder))


def test_an_interrupted_run_gets_another_end(tmp_path):
    train(of(TABULAR, 200), seeds=2, out=tmp_path, on_evaluation=lambda progress: True)
    demand_same(train(TABULAR, seeds=2), resume(tmp_path, steps=110))


def test_what_can_not_be_extended_exactly_is_left_as_it_was(short, tmp_path):
    folder = shutil.copytree(short, tmp_path / "one")
    Store.open(folder).checkpoints()[-1].unlink()
    with pytest.raises(RunError, match="70 steps are no multiple of 20"):
        resume(folder, steps=110)
    assert load(folder).finished
    shutil.rmtree(folder / "checkpoints")
    with pytest.raises(RunError, match="there is no checkpoint to go on from"):
        resume(folder, steps=110)
    assert load(folder).finished
    folder = shutil.copytree(short, tmp_path / "damaged")
    Store.open(folder).checkpoints()[-1].write_bytes(b"")
    with pytest.raises(RunError, match=r"can't be read|damaged"):
        resume(folder, steps=110)
    assert load(folder).agent().predict(0) in range(4)
