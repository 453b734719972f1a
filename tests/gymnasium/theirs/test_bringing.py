"""Any environment: objects, factories, keywords and wrappers, from Python and from the shell."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from gymnasium.wrappers import FlattenObservation, RescaleObservation, TimeLimit

import hcdyna
from hcdyna import Hosted, SettingsError
from hcdyna.cli import main
from hcdyna.gymnasium.theirs.bringing import environment_of
from hcdyna.gymnasium.theirs.making import make, spec_of
from hcdyna.gymnasium.theirs.worlds import Worlds
from hcdyna.runs import saving
from hcdyna.settings import presets, registry
from hcdyna.settings.plain import to_act
from hcdyna.settings.shorthand import settings_named
from test_every_combination import power_fails_after, same_files

SMALL = {"steps": 60, "warmup": 20, "planning_steps": 1, "batch_size": 4, "replay_size": 50}
QUICK = SMALL | {"search_control": "replay"}
"""What compiles soon."""


class Pieces(gymnasium.Env):
    """A walk on a line, seen in two pieces."""

    observation_space = spaces.Dict(
        {"place": spaces.Box(-1, 1, (1,), np.float32), "distance": spaces.Box(0, 3, (1,))}
    )
    action_space = spaces.Discrete(2)

    def __init__(self, goal=1.0):
        self.goal, self.x = goal, 0.0

    def seen(self):
        place, distance = np.float32([self.x]), np.float32([self.goal - self.x])
        return {"place": place, "distance": distance}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = float(self.np_random.uniform(-0.5, 0.5))
        return self.seen(), {}

    def step(self, action):
        self.x = float(np.clip(self.x + 0.2 * action - 0.1, -1, 1))
        return self.seen(), -1.0, self.x >= 0.9 * self.goal, False, {}


def flat_pieces(goal=1.0):
    return TimeLimit(FlattenObservation(Pieces(goal)), 25)


class Nameless(gymnasium.ObservationWrapper):
    """Does not say what it was given."""

    def __init__(self, env, by):
        super().__init__(env)
        self.by = by

    def observation(self, observation):
        return observation + self.by


class Moved(gymnasium.ObservationWrapper, RecordConstructorArgs):
    """Says it."""

    def __init__(self, env, by):
        RecordConstructorArgs.__init__(self, by=by)
        super().__init__(env)
        self.by = by

    def observation(self, observation):
        return (observation + self.by).astype(np.float32)


def test_an_environment_object_is_known_by_its_id_and_keywords():
    assert environment_of(gymnasium.make("CartPole-v1")) == Hosted("CartPole-v1")
    drawn = gymnasium.make("CartPole-v1", render_mode="rgb_array")
    assert environment_of(drawn) == Hosted("CartPole-v1")
    short = environment_of(gymnasium.make("CartPole-v1", max_episode_steps=30))
    assert short == Hosted("CartPole-v1", kwargs={"max_episode_steps": 30})
    assert short.build().spec.time_limit == 30
    assert short.build().terminal is not None, "a time limit changes nothing else"
    square = environment_of(gymnasium.make("hcdyna/GridWorld-v0"))
    assert square == Hosted("hcdyna/GridWorld-v0")
    assert square.build().terminal is not None, "as for its id"
    light = environment_of(gymnasium.make("Pendulum-v1", g=5.0))
    assert light.kwargs == ("g=5.0",)
    assert light.make().unwrapped.g == 5.0
    assert light.build().project.pairs == 1, "its angle is still one"


def test_wrappers_come_with_the_object():
    env = TimeLimit(Moved(RescaleObservation(gymnasium.make("MountainCar-v0"), -2, 2), 0.5), 40)
    hosted = environment_of(env)
    again = hosted.make()
    obs, _ = again.reset(seed=3)
    np.testing.assert_array_equal(obs, env.reset(seed=3)[0])
    spec = hosted.build().spec
    assert spec.time_limit == 40
    assert hosted.build().terminal is None, "the known one is for what is not wrapped"


@pytest.mark.parametrize(
    ("thing", "reason"),
    [
        (lambda: Nameless(gymnasium.make("CartPole-v1"), 1), "wrapper Nameless does not record"),
        (flat_pieces, r"not made by gymnasium.make; give a function that makes it"),
    ],
    ids=["wrapper", "no spec"],
)
def test_an_object_that_cannot_be_copied_is_refused(thing, reason):
    with pytest.raises(SettingsError, match=reason) as refusal:
        hcdyna.train(thing(), steps=10)
    assert "\n" not in str(refusal.value)


def test_what_is_no_environment_is_refused():
    with pytest.raises(SettingsError, match="environment = 3: must be a name such as"):
        hcdyna.train(3)
    with pytest.raises(SettingsError, match=r"made 3; must be a gymnasium.Env"):
        hcdyna.train(lambda: 3)
    with pytest.raises(SettingsError, match=r"Hosted.factory = 'x': must be"):
        Hosted(factory="x")


@pytest.mark.parametrize(
    "kwargs",
    [("goal",), ("2=3",), "goal=1", (3,), ("a=[",), ("a=1", "a=2"), ("id=x",), {"a": object()}],
)
def test_keywords_that_cannot_be_read_are_refused(kwargs):
    with pytest.raises(SettingsError, match=r"Hosted\.kwargs"):
        Hosted("CartPole-v1", kwargs=kwargs)


def test_keywords_reach_the_factory_and_only_it_says_what_is_wrong():
    hosted = Hosted(factory=flat_pieces, kwargs={"goal": 0.5})
    assert hosted.make().unwrapped.goal == 0.5
    assert hosted.id == "test_bringing:flat_pieces"
    with pytest.raises(SettingsError, match=r"environment = .*unexpected keyword argument 'speed'"):
        Hosted(factory=flat_pieces, kwargs=("speed=2",)).build()


def test_time_limits_are_seen_through_wrappers():
    assert spec_of(Hosted(factory=flat_pieces).recipe).time_limit == 25
    twice = Hosted(factory=lambda: TimeLimit(gymnasium.make("CartPole-v1"), 9))
    assert twice.build().spec.time_limit == 9


def test_a_drawing_mode_is_for_those_that_take_one():
    assert make(Hosted(factory=flat_pieces).recipe, render_mode="rgb_array").render_mode is None
    cart = Hosted(factory=gymnasium.envs.classic_control.CartPoleEnv)
    assert make(cart.recipe, render_mode="rgb_array").render_mode == "rgb_array"


def test_a_function_without_a_name_trains_but_is_not_kept(tmp_path):
    run = hcdyna.train(lambda: Nameless(gymnasium.make("CartPole-v1"), 0), **QUICK)
    assert run.agent().predict(np.zeros(4, np.float32)) in (0, 1)
    with pytest.raises(SettingsError, match=r"can't be saved with the run; give a function"):
        hcdyna.train(lambda: flat_pieces(), out=tmp_path / "run", **QUICK)
    assert not (tmp_path / "run").exists()


def test_in_processes_of_their_own():
    hosted = Hosted(factory=flat_pieces, kwargs={"goal": 0.5}, processes="on")
    apart, here = Worlds(hosted, 1), Worlds(Hosted(factory=flat_pieces, kwargs={"goal": 0.5}), 1)
    np.testing.assert_array_equal(apart.reset(0, seed=1), here.reset(0, seed=1))
    np.testing.assert_array_equal(apart.step(np.array([1])).obs, here.step(np.array([1])).obs)
    apart.close()


ENVIRONMENTS = {
    "factory with keywords": Hosted(factory=flat_pieces, kwargs={"goal": 0.5}),
    "wrapped object": Moved(gymnasium.make("CartPole-v1"), 0.5),
    "keywords": gymnasium.make("Pendulum-v1", g=5.0),
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_it_is_cut_resumed_and_evaluated(name, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(saving, "SAVING_SHARE", 1e9)  # after every evaluation
    settings = settings_named(environment_of(ENVIRONMENTS[name]), **QUICK)
    evaluation = hcdyna.Evaluation(every=20)
    settings = hcdyna.Settings(**vars(settings) | {"evaluation": evaluation})
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    hcdyna.train(settings, out=whole)
    with pytest.raises(OSError, match="power"):
        hcdyna.train(settings, out=cut, on_chunk=power_fails_after(20))
    assert main(["resume", str(cut), "--quiet"]) == 0
    assert same_files(whole, cut)
    assert main(["eval", str(cut), "--episodes", "2"]) == 0
    assert main(["report", str(cut), "--out", str(tmp_path / "report.html")]) == 0
    assert to_act(hcdyna.load(cut).settings[0]) == settings
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_from_the_shell_in_the_current_folder(tmp_path):
    """In processes of their own, which know nothing of this one."""
    (tmp_path / "mine.py").write_text(
        "import gymnasium\n"
        "def make_env(steps, shift=0.0):\n"
        "    env = gymnasium.make('MountainCar-v0', max_episode_steps=steps)\n"
        "    return gymnasium.wrappers.TransformObservation(\n"
        "        env, lambda obs: (obs + shift).astype('float32'), None)\n"
    )
    options = [f"--{name.replace('_', '-')}={value}" for name, value in QUICK.items()]
    kwargs = ["--env.kwargs", "steps=11", "shift=0.5"]

    def hcdyna_in_shell(*words):
        command = [sys.executable, "-m", "hcdyna", *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    checked = hcdyna_in_shell("check-env", "mine:make_env", *kwargs, "--steps", "50")
    assert checked.returncode == 0, checked.stderr
    assert "11 steps" in checked.stdout
    train = ["train", "--env", "mine:make_env", *kwargs, *options, "--out", "run"]
    trained = hcdyna_in_shell(*train)
    assert trained.returncode == 0, trained.stderr
    assert "mine:make_env: dqn, replay" in trained.stdout
    assert hcdyna_in_shell("resume", "run", "--quiet").returncode == 0
    played = hcdyna_in_shell("eval", "run", "--episodes", "2")
    assert played.returncode == 0, played.stderr
    wrong = hcdyna_in_shell(*train[:3], "--env.kwargs", "speed=3", "--steps", "10")
    assert wrong.returncode == 2
    assert "speed" in wrong.stderr.splitlines()[-1]
    assert "Traceback" not in wrong.stderr
    missing = hcdyna_in_shell("train", "--env", "mine:nothing")
    assert missing.returncode == 2
    assert "mine:nothing" in missing.stderr


def test_keywords_decide_the_agent():
    """Not the kind of actions that the environment has without them."""
    kwargs = ("steps=5", "continuous=true")
    found = presets.settings("gym", "test_bringing:either", kwargs=kwargs)
    assert registry.name_of("agents", found.agent) == "ddpg"
    assert found.environment.kwargs == kwargs
    assert found.agent.twin_critics
    same = settings_named(
        "test_bringing:either", steps=300, kwargs={"steps": 5, "continuous": True}
    )
    assert same.agent == found.agent
    assert same.environment == found.environment
    assert same.training.steps == 300


def test_an_argument_of_the_environment_is_told_where_it_goes():
    with pytest.raises(SettingsError, match=r"continuous = True: .* give kwargs={'continuous': …}"):
        settings_named("CartPole-v1", continuous=True)
    with pytest.raises(SettingsError, match=r"continuous = True: known: "):
        settings_named("GridWorld", continuous=True)


def either(steps, continuous=False):
    name = "MountainCarContinuous-v0" if continuous else "MountainCar-v0"
    return gymnasium.make(name, max_episode_steps=steps)
