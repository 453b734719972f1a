"""Gymnasium environments on the host: learning, bounds, time limits, failures, going on."""

import dataclasses

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import worlds_of_ours  # noqa: F401  (registers the environments)

import hcdyna
from hcdyna import (
    DDPG,
    DQN,
    Evaluation,
    HillClimbing,
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
from hcdyna.gymnasium.theirs.checking import check_environment
from hcdyna.gymnasium.theirs.environment import Hosted, to_action
from hcdyna.models import from_function

SMALL = Settings(
    environment="Walk-v0",
    agent=DQN(learning_rate=1e-3, hidden=(8, 8)),
    model=LearnedModel(hidden=(8, 8), batch_size=8, normalise=False, trust="trust"),
    search_control=HillClimbing(steps=5, queue_size=200),
    training=Training(steps=200, warmup=60, planning_steps=2, replay_size=150, batch_size=8),
    evaluation=Evaluation(every=100, episodes=2),
)


def slow(*values):
    """A case that is left to CI."""
    return pytest.param(*values, marks=pytest.mark.slow)


def on(name, **changes):
    return dataclasses.replace(SMALL, environment=name, **changes)


@pytest.fixture(scope="module")
def walked():
    return train(SMALL, seeds=3)


def test_it_trains_and_records_as_any_run(walked):
    assert walked.returns.shape == walked.lengths.shape == (1, 3, 2, 2)
    assert np.array_equal(walked.returns, -walked.lengths), "each step costs 1"
    assert np.all(walked.lengths <= 30)
    assert {"loss", "model_loss", "accepted"} <= set(walked.info[-1])
    assert walked.state(0).replay.total == 200
    assert walked.agent().predict([[0.0, 0.0], [0.5, 0.4]]).shape == (2,)


def test_the_same_seed_gives_the_same_bits(walked):
    again = train(SMALL, seeds=[1, 2, 0])
    assert np.array_equal(again.returns[0, 2], walked.returns[0, 0])
    first, second = (run.state(2).agent.params[0].weights for run in (walked, again))
    assert np.array_equal(first, second)


def test_a_time_limit_is_no_termination_and_the_final_observation_is_the_true_one(walked):
    rows = walked.state(0).replay.data
    steps = np.asarray(rows.next_obs[:, 0] - rows.obs[:, 0])
    assert np.abs(steps).max() <= 0.1 + 1e-6, "no step leads to the start of the next episode"
    at_goal = np.asarray(rows.next_obs[:, 0]) >= 0.95
    assert np.array_equal(np.asarray(rows.discount) == 0, at_goal)


@pytest.mark.slow
def test_where_the_box_is_endless_the_climb_stays_where_the_agent_has_been():
    run = train(on("WalkEndless-v0"), seeds=1)
    queue = np.asarray(run.state(0).search_control.queue.data)[:200]
    seen = np.asarray(run.state(0).replay.data.obs)
    assert np.isfinite(queue).all()
    last = seen[-1:].min(axis=0) - 1  # generous: the replay has forgotten the first steps
    assert np.all(queue >= np.minimum(seen.min(axis=0), last))
    assert np.abs(queue).max() <= 1.0


@pytest.mark.slow
def test_scaled_observations_are_within_about_one():
    settings = on(Hosted("WalkEndless-v0", scaling=True))
    seen = np.asarray(train(settings, seeds=1).state(0).replay.data.obs)
    assert 0.3 < np.abs(seen).max() < 8


@pytest.mark.slow
def test_continuous_actions_go_to_ddpg_and_into_the_box():
    settings = Settings(
        environment="WalkContinuous-v0",
        training=Training(steps=120, warmup=60, planning_steps=1, batch_size=8, replay_size=100),
        evaluation=Evaluation(every=60),
    )
    assert type(settings.agent).__name__ == "DDPG"
    assert train(settings, seeds=1).returns.shape == (1, 1, 2, 1)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Raises-v0", r"Raises-v0: step raised OSError: the motor is gone \(step 150"),
        slow("NotFinite-v0", r"NotFinite-v0: step returned an observation that is not finite"),
        slow("Shape-v0", r"Shape-v0: step returned an observation of shape \(1,\); .* \(2,\)"),
        slow("Dtype-v0", r"Dtype-v0: step returned observations of float64; .* float32"),
        slow("Reward-v0", r"Reward-v0: step returned the reward nan; must be a finite number"),
    ],
)
def test_a_failing_environment_is_named_and_nothing_learned_is_lost(name, words, tmp_path):
    with pytest.raises(RunError, match=words):
        train(on(name), seeds=1, out=tmp_path / "run")
    run = load(tmp_path / "run")
    assert run.state(0).replay.total == 149, "all steps before the failure"
    assert run.agent().predict([0.0, 0.0]).shape == ()


def test_a_reset_that_hangs_is_given_up(tmp_path):
    with pytest.raises(RunError, match=r"Hangs-v0: reset did not return within 0.2 s \(step 1\d\d"):
        train(on(Hosted("Hangs-v0", reset_timeout=0.2)), seeds=1, out=tmp_path / "run")
    assert load(tmp_path / "run").state(0).replay.total >= 149


@pytest.mark.slow
def test_a_run_goes_on_in_a_new_process(tmp_path):
    stopped = train(SMALL, seeds=2, on_chunk=lambda progress: True, out=tmp_path / "run")
    assert list(stopped.steps) == [100]
    whole = resume(tmp_path / "run")
    assert list(whole.steps) == [100, 200]
    assert whole.state(0).replay.total == 200


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Pictures-v0", "observations are Box.*must be a Box of one dimension: images need"),
        ("ManyButtons-v0", "actions are MultiDiscrete.*must be Discrete"),
        ("Nothing-v0", "Nothing-v0: .*doesn't exist"),
        ("no_such_package:Mine-v0", "no_such_package:Mine-v0: No module named"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_would(name, words):
    with pytest.raises(SettingsError, match=words):
        Settings(environment=name)


def test_the_true_model_can_not_be_asked():
    with pytest.raises(SettingsError, match=r"Walk-v0: runs on the host.*model = learned"):
        train(on("Walk-v0", model="true"), seeds=1)


def walking(obs, action):
    """The dynamics of Walk-v0."""
    place = jnp.clip(obs[0] + 0.1 * (action - 1), -1, 1)
    return jnp.array([place, jnp.sin(place)]), -1.0, place >= 0.95


def test_dynamics_of_ones_own_are_the_model():
    model = from_function(walking).build(SMALL.environment.build())
    outcome = model.predict(None, (), jnp.array([0.9, 0.0]), jnp.int32(2))
    np.testing.assert_allclose(outcome.next_obs[0], 1.0, atol=1e-6)
    assert outcome.terminated
    run = train(on("Walk-v0", model=from_function(walking)), seeds=1)
    assert "model_loss" not in run.info[-1]
    with pytest.raises(SettingsError, match="must be a function"):
        from_function(None)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((0.5, -1.0, jnp.nan), "terminated is float32; must be bool"),
        ((0.5, -1.0, 1), "terminated is int32; must be bool"),
        ((0.5, 1j, False), "reward is complex64; must be real"),
        ((1j, -1.0, False), "next_obs is complex64; must be real"),
    ],
)
def test_what_dynamics_can_not_answer(answer, words):
    """Cast, NaN would be the end of an episode."""
    function = lambda obs, action: (jnp.full(2, answer[0]), *answer[1:])  # noqa: E731
    model = from_function(function).build(SMALL.environment.build())
    with pytest.raises(SettingsError, match=f"FromFunction: {words}"):
        model.predict(None, (), jnp.zeros(2), jnp.int32(0))


def test_dynamics_that_overflow_are_not_brought_into_the_box():
    model = from_function(lambda obs, action: (obs + jnp.inf, -1.0, False))
    outcome = model.build(SMALL.environment.build()).predict(None, (), jnp.zeros(2), jnp.int32(0))
    assert jnp.isnan(outcome.next_obs).all()


def costs_two(obs, action, next_obs):
    return -2.0


def ends_at_half(obs, action, next_obs):
    return next_obs[0] > 0.5


def test_known_rewards_and_ends_need_not_be_learned():
    env = SMALL.environment.build()
    model = LearnedModel(
        hidden=(4,), reward=costs_two, terminated=ends_at_half, trust="trust"
    ).build(env)
    key = jax.random.key(0)
    state = model.init(key)
    state = state._replace(params=jax.tree.map(jnp.zeros_like, state.params))  # so that s′ = s
    for place, end in ((0.9, True), (-0.9, False)):
        outcome = model.predict(key, state, jnp.array([place, 0.0]), jnp.int32(1))
        assert outcome.reward == -2
        assert bool(outcome.terminated) == end


@pytest.mark.slow
def test_one_line_from_python():
    run = hcdyna.train(
        "Walk-v0", search_control="uniform", steps=80, warmup=40, planning_steps=1, replay_size=99
    )
    assert run.steps.tolist() == [80]
    with pytest.raises(SettingsError, match="did you mean steps"):
        hcdyna.train("Walk-v0", step=80)


def test_checking_names_variables_without_bounds():
    found = check_environment(Hosted("CartPole-v1"), steps=20)
    assert found["observations"] == "4 variables: position, velocity, angle, angular velocity"
    assert "for velocity, angular velocity, which it does not bound" in found["bounds (Π)"]
    found = check_environment(Hosted("Walk-v0"), steps=20)
    assert found["observations"] == "2 variables"
    assert found["bounds (Π)"] == "the observation Box"


def test_the_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = "train --env worlds_of_ours:Walk-v0 --search-control uniform --steps 80 --warmup 40"
    assert main([*words.split(), "--replay-size", "99", "--out", "run", "--quiet"]) == 0
    assert main(["eval", "run"]) == 0
    assert main(["check-env", "worlds_of_ours:Walk-v0", "--steps", "50"]) == 0
    printed = capsys.readouterr().out
    assert "can be used" in printed
    assert "2 variables" in printed
    assert "Train with: hcdyna train --env worlds_of_ours:Walk-v0 " in printed
    assert main(["check-env", "Pictures-v0"]) == 2
    assert "images need an encoder" in capsys.readouterr().err


def test_an_agent_that_diverged_sends_no_nan_to_its_environment():
    wild = DDPG(actor_learning_rate=1e30, critic_learning_rate=1e30, hidden=(8,))
    options = {"steps": 90, "warmup": 40, "evaluation_every": 45, "search_control": "replay"}
    run = train("Pendulum-v1", agent=wild, **options, progress=False)
    assert run.diverged[0, :, -1].all()
    assert np.isfinite(run.returns).all()
    space = gymnasium.make("Pendulum-v1").action_space
    assert to_action(space, np.array([np.nan])) == pytest.approx(0.0)
