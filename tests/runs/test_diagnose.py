"""Runs that are broken on purpose, each in one way, and sound ones: the diagnosis must name it."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna import (
    DDPG,
    DQN,
    Evaluation,
    GridWorld,
    HillClimbing,
    LearnedModel,
    RunError,
    Settings,
    SettingsError,
    TabularGridWorld,
    Training,
    TrueModel,
    load,
    train,
)
from hcdyna.cli import main
from hcdyna.runs.diagnosis import diagnose
from hcdyna.runs.diagnosis.causes import CAUSES
from hcdyna.runs.diagnosis.evidence import beyond
from hcdyna.runs.diagnosis.measuring import possible_returns, way_to_visited
from hcdyna.runs.diagnosis.table import WIDTH
from hcdyna.types import Outcome, Transition

LEARNED = LearnedModel(hidden=(16,), batch_size=32, trust="trust")
CLIMB = HillClimbing(steps=5, queue_size=500)
STAYS = HillClimbing(steps=0, queue_size=500)
REFUSES = HillClimbing(max_accepted=0, queue_size=500)
TRAINING = Training(steps=400, warmup=200, planning_steps=1, batch_size=16, replay_size=5_000)


RHO_AND_N = ((0.5, 1), (0.0, 1), (0.5, 0))


def settings_of(environment="GridWorld", model=None, search_control=CLIMB, agent=None, **training):
    agent = DQN(hidden=(8,)) if agent is None else agent
    training = dataclasses.replace(TRAINING, **training)
    evaluation = Evaluation(every=training.steps)
    return Settings(environment, agent, model, search_control, training, evaluation)


def diagnosis_of(*choices, seeds=1, **more):
    return train(settings_of(*choices, **more), seeds=seeds).diagnose()


@dataclass(frozen=True)
class Endless:
    """A learned model that never predicts an end."""

    member: Any = LEARNED

    def build(self, env):
        model = self.member.build(env)

        def predict(*given):
            return model.predict(*given)._replace(terminated=jnp.zeros((), bool))

        return model._replace(predict=predict)


@dataclass(frozen=True)
class WrongBeyond:
    """The true model, but nothing moves and nothing ends beyond some x."""

    x: float = 0.5

    def build(self, env):
        model = TrueModel().build(env)

        def predict(key, state, obs, action):
            outcome = model.predict(key, state, obs, action)
            next_obs = jnp.where(obs[0] >= self.x, obs, outcome.next_obs)
            return Outcome(next_obs, outcome.reward, env.terminal(next_obs))

        return model._replace(predict=predict)


def a_cost(obs, action, next_obs):
    """The reward of CartPole is 1."""
    return -1.0


@pytest.mark.slow
def test_a_model_that_never_ends():
    found = diagnosis_of("CartPole", Endless())
    seen = int(found.measured.visited.ends.sum())
    assert seen > 10
    assert found.cause == "ends"
    assert found.verdict.startswith(
        f"The model never predicts an end, though {seen} of 400 real steps ended an episode:"
    )
    assert found.measured.planned.taken_for_ends.tolist() == [0.0]


@pytest.mark.slow
def test_inputs_without_a_scale():
    raw = LearnedModel(batch_size=32, normalise=False, learning_rate=1e-3, trust="trust")
    found = diagnosis_of("MountainCar", raw, steps=1_500, seeds=4)
    assert found.cause == "next state"
    assert "the error of variable 1 (velocity) is " in found.verdict
    assert "(model.normalise = False)" in found.verdict
    assert found.measured.visited.next_state[:, 1].mean() > 0.5


@pytest.mark.slow
def test_inputs_with_a_scale():
    model = LearnedModel(trust="trust")
    found = diagnosis_of("MountainCar", model, steps=3_000, warmup=2_900)
    assert found.cause not in ("ends", "next state", "reward")
    assert found.measured.visited.next_state.max() < 0.2, "1: no better than that nothing moves"


@pytest.mark.slow
def test_ends_that_are_missed_for_wrong_next_states_are_not_the_cause():
    found = diagnosis_of("CartPole", WrongBeyond(-math.inf))
    assert found.measured.visited.missed.sum() == found.measured.visited.ends.sum() > 0
    assert found.cause == "next state"


def test_a_wrong_reward():
    found = diagnosis_of("CartPole", dataclasses.replace(LEARNED, reward=a_cost))
    assert found.cause == "reward"
    assert "it is off by 2, and the real one is constant" in found.verdict


@pytest.mark.slow
def test_a_model_that_is_wrong_only_where_planning_asks_it():
    found = diagnosis_of(GridWorld(time_limit=10), WrongBeyond(), "uniform")
    assert found.cause == "planned states"
    assert "real steps from the nearest visited state)" in found.verdict


def slow(*values):
    return pytest.param(*values, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"search_control": "replay"}, "search_control = replay only replays"),
        ({"warmup": 400}, "all of the 400 steps so far were warm-up (training.warmup = 400)"),
        slow({"search_control": STAYS}, "entered the queue (search_control.steps = 0)"),
        slow({"search_control": REFUSES}, "(search_control.max_accepted = 0)"),
        slow({"search_control": "prioritised_replay"}, "prioritised_replay replays real steps"),
        slow({"mixing_rate": 0.0}, "comes from search-control (training.mixing_rate = 0)"),
        slow({"planning_steps": 0}, "there are no updates (training.planning_steps = 0)"),
    ],
)
def test_nothing_is_planned(choices, said):
    found = diagnosis_of(**choices)
    assert found.cause == "nothing planned"
    assert said in found.verdict
    assert found.verdict.count(". ") == 0, "nothing else matters then"


@pytest.mark.slow
def test_a_model_that_knows_nothing():
    unsure = dataclasses.replace(
        LEARNED, members=2, trust="replay", doubt="spread", spread_limit=1e-6
    )
    found = diagnosis_of("CartPole", unsure)
    assert found.cause == "nothing planned"
    assert "replayed steps took the place of all of them" in found.verdict
    assert found.measured.doubtful.tolist() == [1.0]
    hopeful = dataclasses.replace(unsure, trust="optimistic", until_told=10_000)
    found = diagnosis_of("GridWorld", hopeful)
    assert found.cause == "doubt"
    assert "% of the planned outcomes: they were taken for ends as good as any" in found.verdict
    assert ("  what planning takes instead", "–", "the best reward so far") in found.rows


SOUND = {
    "noisy": (GridWorld(move_noise=0.05, reward_noise=1.0), "true"),
    "tabular": (TabularGridWorld(size=5), "true", "tabular_hill_climbing", "tabular"),
    "pairs": (TabularGridWorld(size=5), "counted", "visited_pairs", "tabular"),
    "continuous": ("GridWorldContinuous", "true", CLIMB, DDPG(hidden=(8,))),
    "rollouts": ("CartPole", "true", "rollouts"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SOUND)
def test_a_sound_model_is_not_accused(name):
    found = diagnosis_of(*SOUND[name], seeds=2)
    assert found.cause == "sound"
    assert found.verdict.startswith("The model is sound at visited and at planned states")


@pytest.mark.slow
def test_a_world_on_the_host():
    found = diagnosis_of("CartPole-v1", LEARNED, warmup=350)
    assert found.cause in ("sound", "next state", "reward")
    assert math.isnan(found.measured.planned.reward[0]), "nobody knows"
    assert not np.isnan(found.measured.visited.next_state).any()
    assert not np.isnan(found.measured.planned.value).any()


@pytest.mark.slow
def test_continuous_actions_on_the_host():
    unsure = dataclasses.replace(LEARNED, members=2, trust="replay", doubt="spread")
    found = diagnosis_of("Pendulum-v1", unsure, agent=DDPG(hidden=(8,)))
    assert 0 <= found.measured.doubtful[0] <= 1
    assert found.measured.share[0] <= 0.5
    assert not np.isnan(found.measured.visited.spread).any()


@pytest.fixture(scope="module")
def sound():
    return train(settings_of(), seeds=2)


def changed(run, change):
    """The diagnosis of the same agents with other parameters."""
    lives = run.final()._replace(key=())
    each = [jax.tree.map(lambda x, i=i: np.array(x[i]), lives) for i in range(2)]
    for life in each:
        jax.tree.map(change, life.dyna.agent.params)
    return diagnose(run.settings[0], run.seeds, each)


def test_values_that_no_return_can_reach(sound):
    found = changed(sound, lambda x: np.add(x, 30.0, out=x))
    assert found.cause == "values"
    assert found.verdict.startswith("Values are overestimated: ")
    assert found.verdict.endswith("where the rewards allow returns from -100 to 0.")


def test_agents_that_diverged(sound):
    found = changed(sound, lambda x: np.add(x, math.nan, out=x))
    assert found.cause == "diverged"
    assert "in 2 of 2 agents" in found.verdict


def test_the_table_fits(sound):
    found = sound.diagnose()
    lines = str(found).splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert ("share of a mini-batch", "50%", "50%") in found.rows
    assert ("states in the queue", "–", "500") in found.rows
    assert sound.diagnose().rows == found.rows, "one seed, one answer"
    with pytest.raises(SettingsError, match="setting = 1: must be from 0 to 0"):
        sound.diagnose(1)


def test_settings_of_a_sweep_have_a_diagnosis_each():
    sweep = [settings_of(mixing_rate=rho, planning_steps=n) for rho, n in RHO_AND_N]
    run = train(sweep)
    said = ["model is sound", "(training.mixing_rate = 0)", "(training.planning_steps = 0)"]
    for setting, words in enumerate(said):
        assert words in run.diagnose(setting).verdict


def test_from_the_shell(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    train(settings_of(), seeds=2, out="a")
    train(settings_of(search_control=STAYS), seeds=2, out="b")
    assert main(["diagnose", "a", "b"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    first, second = printed.out.split("\nb: ")
    assert first.startswith("a: dqn, true, hill_climbing on GridWorld; 2 agents after 400 steps\n")
    assert "The model is sound" in first
    assert "no state ever entered the queue" in second
    assert max(map(len, printed.out.splitlines())) <= WIDTH

    for path in (tmp_path / "a" / "checkpoints").iterdir():
        path.unlink()
    assert main(["diagnose", "a"]) == 2
    said = capsys.readouterr().err
    assert said == "hcdyna: a: no checkpoint, which holds the agents of a run\n"
    with pytest.raises(RunError, match="no checkpoint"):
        load("a").diagnose()
    for words in ([], ["nowhere"], ["b", "--setting", "1"], ["b", "--setting", "-1"]):
        assert main(["diagnose", *words]) == 2
        printed = capsys.readouterr()
        assert printed.err.count("\n") == 1


def test_what_returns_are_possible():
    last = np.array([False, False, True])
    cost, prize = np.array([-1.0, -1.0, -1.0]), np.array([0.0, 0.0, 1.0])
    assert possible_returns(cost, last, 0.99) == pytest.approx((-100, -1))
    assert possible_returns(prize, last, 0.99) == (0, 1)
    assert possible_returns(prize, last, 1.0) == (0, 1)
    assert possible_returns(-cost, last, 0.9) == pytest.approx((1, 10))
    assert possible_returns(cost[:2], last[:2], 0.9) == pytest.approx((-10, 0)), "no end seen"
    assert possible_returns(cost, last, 1.0) == (-math.inf, -1)


def test_noise_of_the_world_is_not_an_error_of_the_model():
    assert beyond(np.array([0.5, 0.3]), np.array([0.3, 0.5])) == pytest.approx([0.4, 0.0])
    assert beyond(np.array([0.5]), np.array([math.nan])) == 0.5


def test_distance_is_in_real_steps():
    obs = np.array([[0.0, 0.0], [10.0, 1.0]], np.float32)
    visited = Transition(obs, *[np.zeros(2)] * 3, obs + np.array([1.0, 0.0]))
    assert way_to_visited(np.array([[13.0, 1.0]]), visited) == pytest.approx(3.0)
    cells = Transition(np.array([1, 2]), *[np.zeros(2)] * 4)
    assert way_to_visited(np.array([1, 2, 3, 4]), cells) == 0.5


def test_every_cause_explains_itself():
    assert all(cause.__doc__ for cause in CAUSES.values())


def test_rewards_that_can_not_be_predicted_leave_everything_to_replay():
    unsure = LearnedModel(hidden=(16,), batch_size=32)
    found = diagnosis_of(GridWorld(reward_noise=1.0), unsure)
    assert found.cause == "nothing planned"
    assert "model.reward_limit = 0.3" in found.verdict


def test_there_is_nothing_to_plan_for_where_all_is_worth_the_same():
    """GridWorld as a walk that neither costs nor ends within so few steps."""

    @dataclass(frozen=True)
    class Free:
        def build(self):
            env = GridWorld().build()

            def dynamics(key, obs, action):
                return env.dynamics(key, obs, action)._replace(reward=jnp.zeros(()))

            return env._replace(dynamics=dynamics)

    found = diagnosis_of(Free(), LearnedModel(hidden=(16,), batch_size=32))
    assert found.cause == "nothing planned"
    assert "nothing to plan for" in found.verdict
