"""The best policy of each agent is kept, whatever comes after it."""

import dataclasses

import jax
import numpy as np
import pytest

from hcdyna import (
    DQN,
    Evaluation,
    Hosted,
    RunError,
    Settings,
    SettingsError,
    Training,
    load,
    resume,
    train,
)
from hcdyna.cli import main
from hcdyna.runs.best import PREFIX, Best
from hcdyna.runs.progress import Progress
from hcdyna.runs.store import Store

SETTINGS = Settings(
    environment="TabularGridWorld",
    agent="tabular",
    search_control="replay",
    training=Training(steps=2_000, warmup=100, planning_steps=5, batch_size=4, replay_size=2_000),
    evaluation=Evaluation(every=200, episodes=2),
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Three agents."""
    return train(SETTINGS, seeds=[4, 5, 6], out=tmp_path_factory.mktemp("runs") / "whole")


def best_step(run, number):
    return run.steps[np.argmax(run.mean_returns()[number])]


def test_it_is_the_agent_of_the_evaluation_with_the_highest_return(whole):
    steps = [best_step(whole, number) for number in range(3)]
    assert whole.kept().steps.tolist() == steps
    assert len(set(steps)) > 1, "else this test shows little"
    for seed, step in zip(whole.seeds, steps, strict=True):
        until = train(
            SETTINGS, whole.seeds, on_evaluation=lambda now, end=step: now.steps[-1] == end
        )
        assert np.array_equal(until.agent(seed).state, whole.best(seed).state)
    highest = whole.seeds[int(np.argmax(whole.mean_returns().max(axis=1)))]
    assert np.array_equal(whole.best().state, whole.best(highest).state)
    assert f"seed {highest}, best return" in whole.best().about
    with pytest.raises(SettingsError, match="seed = 9"):
        whole.best(9)


def test_it_is_kept_in_the_folder_and_resumed(whole, tmp_path):
    def stop(progress):
        return progress.steps[-1] == 1_400

    train(SETTINGS, seeds=[4, 5, 6], out=tmp_path, on_evaluation=stop)
    for run in (resume(tmp_path), load(tmp_path), load(whole.folder)):
        for seed in whole.seeds:
            assert np.array_equal(run.best(seed).state, whole.best(seed).state)
    same = load(whole.best().save(tmp_path / "a.safetensors"))
    assert np.array_equal(same.state, whole.best().state)


def test_evaluation_and_films_of_the_best(whole, tmp_path, capsys):
    returns, _ = whole.evaluate(episodes=3, best=True)
    assert returns.shape == (1, 3, 3)
    assert main(["eval", str(whole.folder), "--best", "--episodes", "3"]) == 0
    out = capsys.readouterr().out
    assert "policies of the best evaluations" in " ".join(out.split())
    assert f"{returns.max():.1f}" in out
    file = whole.best().save(tmp_path / "agent.safetensors")
    assert main(["watch", str(file), "--best"]) == 2
    assert "needs a run folder" in capsys.readouterr().err


def test_a_network_is_kept_without_what_the_policy_does_not_read(run):
    store = Store.open(run.folder)
    names = [x for x in store.read_checkpoint(store.checkpoints()[0]) if x.startswith(PREFIX)]
    assert any("params" in name for name in names)
    assert not any("target" in name or "opt" in name or "moment" in name for name in names)
    obs = np.random.default_rng(0).uniform(0, 1, (50, 2))
    assert np.array_equal(load(run.folder).best(8).predict(obs), run.best(8).predict(obs))
    assert jax.tree.structure(run.best(8).state) == jax.tree.structure(run.agent(8).state)


def test_on_the_host_it_reads_observations_as_it_did(tmp_path):
    """Of warm-up alone, so that little has to be compiled."""
    settings = Settings(
        environment=Hosted("CartPole-v1", scaling=True),
        agent=DQN(hidden=(4,)),
        search_control="replay",
        training=Training(steps=40, warmup=40, batch_size=4, replay_size=50),
        evaluation=Evaluation(every=20),
    )
    run = train(settings, seeds=2, out=tmp_path)
    obs = np.random.default_rng(0).normal(size=(50, 4))
    for best in (run.best(1), load(tmp_path).best(1)):
        assert np.array_equal(best.scale, run.agent(1).scale)
        assert np.array_equal(best.value(obs), run.agent(1).value(obs)), "nothing was learned"
    returns, _ = run.evaluate(episodes=2, best=True)
    assert np.array_equal(returns, run.evaluate(episodes=2)[0])


def test_an_agent_that_never_had_a_finite_return_has_none(whole):
    best = Best(3)
    best.look(whole.final(), progress_of(whole, [np.nan, 5.0, -np.inf]))
    run = dataclasses.replace(whole, kept=lambda: best)
    assert "seed 5, best return 5.0 after 2,000 steps" in run.best().about
    with pytest.raises(RunError, match="seed 4: no evaluation had a finite return"):
        run.best(4)
    with pytest.raises(RunError, match="seed 4: no evaluation had a finite return"):
        run.evaluate(best=True)


def progress_of(run, returns):
    progress = Progress(run.settings, run.seeds)
    progress.record(2_000, np.array(returns)[:, None], np.ones((3, 1)), {})
    return progress


def test_a_run_of_before_says_that_it_has_none(made_up):
    with pytest.raises(RunError, match="no best policy was kept"):
        made_up.best()
