"""What a run on the host promises: episodes of (seed, step), one scale, and no endless episodes."""

import dataclasses
import json
import shutil

import numpy as np
import pytest
import worlds_of_ours
from safetensors import safe_open
from safetensors.numpy import save

import hcdyna
from hcdyna import (
    DQN,
    Evaluation,
    LearnedModel,
    RunError,
    Settings,
    Training,
    load,
    resume,
    train,
)
from hcdyna.cli import main
from hcdyna.gymnasium.theirs.environment import LONGEST, Hosted
from hcdyna.gymnasium.theirs.failure import HostFailed
from hcdyna.runs import checkpoint
from hcdyna.runs.policy_file import SCALE, checksum
from hcdyna.runs.store import read_arrays
from hcdyna.training.hosted import steps_of
from hcdyna.training.trainer import Trainer


def tiny(environment, steps=40, warmup=40, every=20, episodes=1):
    """Of warm-up alone, unless a shorter one is given, so that little has to be compiled."""
    return Settings(
        environment=environment,
        agent=DQN(hidden=(16,)),
        model=LearnedModel(hidden=(4,), batch_size=4, normalise=False, trust="trust"),
        search_control="replay",
        training=Training(
            steps=steps, warmup=warmup, planning_steps=1, batch_size=4, replay_size=99
        ),
        evaluation=Evaluation(every=every, episodes=episodes, epsilon=1.0),
    )


def stopped_halfway(settings, folder):
    return train(settings, seeds=2, on_chunk=lambda progress: True, out=folder)


def all_arrays(folder):
    """Of the newest checkpoint and of every file of curves."""
    newest = max((folder / "checkpoints").glob("step-*.npz"))
    paths = [newest, *sorted((folder / "curves").glob("step-*.npz"))]
    return {f"{path.name}/{k}": x for path in paths for k, x in read_arrays(path).items()}


def demand_equal(a, b):
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


def test_two_resumes_of_one_checkpoint_are_equal(tmp_path):
    stopped_halfway(tiny("Pays-v0", warmup=20), tmp_path / "one")
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    for name in ("one", "two"):
        assert list(resume(tmp_path / name).steps) == [20, 40]
    demand_equal(all_arrays(tmp_path / "one"), all_arrays(tmp_path / "two"))


def test_a_run_that_stopped_between_two_episodes_ends_as_if_it_had_not(tmp_path):
    settings = tiny("Short-v0")  # episodes of 5 steps
    stopped_halfway(settings, tmp_path / "resumed")
    resume(tmp_path / "resumed")
    train(settings, seeds=2, out=tmp_path / "whole")
    resumed, whole = (load(tmp_path / name) for name in ("resumed", "whole"))
    demand_equal(resumed.curves(), whole.curves())
    for seed in (0, 1):
        rows = [run.state(seed).replay.data for run in (resumed, whole)]
        np.testing.assert_array_equal(rows[0].obs, rows[1].obs)
        np.testing.assert_array_equal(rows[0].next_obs, rows[1].next_obs)


def test_why_an_episode_can_not_be_repeated_is_said(tmp_path):
    settings = tiny("Walk-v0")
    training = dataclasses.replace(settings.training, replay_size=10)
    stopped_halfway(dataclasses.replace(settings, training=training), tmp_path / "run")
    said = r"Walk-v0: can't be brought to where it was \(the replay buffer does not hold the whole"
    with pytest.warns(UserWarning, match=said):
        resume(tmp_path / "run")


def begun(settings, seeds=2):
    """The programs of a run, and a life after the first chunk."""
    trainer = Trainer([settings], list(range(seeds)))
    life = trainer.programs.init(trainer.seed_of_agent, trainer.numbers)
    life, _ = trainer.programs.warm_up(life, trainer.numbers, settings.evaluation.every)
    return trainer, life


def test_evaluations_do_not_depend_on_what_was_played_before():
    trainer, life = begun(tiny("Pays-v0", episodes=2))

    def returns(step):
        return np.asarray(
            trainer.programs.evaluate(life, trainer.numbers, trainer.seed_of_agent, step)[0]
        )

    first, other, again = returns(20), returns(21), returns(20)
    np.testing.assert_array_equal(first, again)
    assert len({*first.ravel(), *other.ravel()}) == 8, "each episode is its own"


def test_a_failure_in_an_evaluation_comes_with_what_was_learned():
    trainer, life = begun(tiny("SecondReset-v0", episodes=2))
    with pytest.raises(
        HostFailed, match="SecondReset-v0: reset raised OSError: once is enough"
    ) as e:
        trainer.programs.evaluate(life, trainer.numbers, trainer.seed_of_agent, 20)
    assert e.value.done == 0
    assert e.value.life is life
    assert steps_of(e.value.life) == 20


def test_a_failure_in_the_first_step_of_a_chunk_comes_with_what_was_learned():
    trainer, life = begun(tiny("At21-v0"))
    with pytest.raises(HostFailed, match="the motor is gone") as e:
        trainer.programs.warm_up(life, trainer.numbers, 20)
    assert e.value.done == 0
    assert steps_of(e.value.life) == 20
    assert checkpoint.to_arrays(e.value.life, 2), "it was not given away"


def test_an_environment_that_can_not_be_made_again_fails_as_any_other(monkeypatch):
    trainer, life = begun(tiny("Walk-v0"))
    monkeypatch.setattr(worlds_of_ours.Walk, "__init__", lambda self: 1 / 0)
    with pytest.raises(HostFailed, match="environment = Walk-v0: ") as e:
        trainer.programs.evaluate(life, trainer.numbers, trainer.seed_of_agent, 20)
    assert e.value.life is life


@pytest.fixture(scope="module")
def scaled(tmp_path_factory):
    """A run in a world whose observations are larger each time that it is made."""
    folder = tmp_path_factory.mktemp("scaled") / "run"
    return train(tiny(Hosted("Restless-v0", scaling=True), every=40), seeds=2, out=folder)


OBS = np.array([[0.3, 0.2, 1.0], [-0.5, 0.1, -5.0]], np.float32)


def test_the_scale_belongs_to_the_run_and_to_the_policy_file(scaled, tmp_path):
    values = scaled.agent().value(OBS)
    files = [run.agent().save(tmp_path / "a.safetensors") for run in (scaled, load(scaled.folder))]
    agents = [load(scaled.folder).agent(), *(hcdyna.load(path) for path in files), scaled.agent(1)]
    for agent in agents[:3]:
        np.testing.assert_array_equal(agent.value(OBS), values)
    assert np.ptp(values) > 0
    np.testing.assert_array_equal(np.stack(agents[3].scale), np.stack(agents[0].scale))
    assert np.array_equal(load(scaled.folder).evaluate(3)[0], scaled.evaluate(3)[0])


def test_a_policy_file_without_a_scale_still_loads(scaled, tmp_path):
    path = scaled.agent().save(tmp_path / "agent.safetensors")
    with safe_open(path, framework="np") as file:
        record = json.loads(file.metadata()["hcdyna"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    scale = tensors.pop(SCALE)
    record["checksum"] = checksum(record["settings"], tensors)
    path.write_bytes(save(tensors, {"hcdyna": json.dumps(record)}))
    assert np.isfinite(hcdyna.load(path).value(OBS)).all()
    for wrong in (scale[:1], np.full_like(scale, np.inf), scale.astype(np.float64)):
        both = tensors | {SCALE: wrong}
        record["checksum"] = checksum(record["settings"], both)
        path.write_bytes(save(both, {"hcdyna": json.dumps(record)}))
        with pytest.raises(RunError, match="observation_scale does not fit the settings"):
            hcdyna.load(path)


def test_a_checkpoint_without_a_scale_is_still_read(scaled):
    trainer = Trainer(scaled.settings, scaled.seeds)
    arrays = checkpoint.to_arrays(scaled.final(), 2)
    assert arrays.pop(checkpoint.SCALE).shape == (2, 2, 3)
    life = checkpoint.from_arrays(arrays, trainer.shapes)
    assert np.isnan(life.scale).all()
    arrays.pop(".obs")
    with pytest.raises(RunError, match=r"\.obs is missing"):
        checkpoint.from_arrays(arrays, trainer.shapes)


def test_an_evaluation_episode_without_a_limit_is_cut(capsys):
    run = train(tiny("Endless-v0", every=40), seeds=1)
    assert run.lengths.tolist() == [[[[LONGEST]]]]
    assert run.evaluate(1)[1].tolist() == [[[LONGEST]]]
    assert main(["check-env", "Endless-v0", "--steps", "20"]) == 0
    assert "none; evaluation episodes are cut after 5,000 steps" in capsys.readouterr().out
