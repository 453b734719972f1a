"""Our domains keep Gymnasium's rules: spaces, seeds, ends of episodes, settings."""

import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from hcdyna import SettingsError
from hcdyna.gymnasium.ours import TIME_LIMITS
from hcdyna.settings import registry

NAMES = [f"hcdyna/{name}-v0" for name in TIME_LIMITS]
UP, DOWN, LEFT, RIGHT = range(4)


def walk(env, seed, steps=200):
    """Observations and rewards of a random walk."""
    env.action_space.seed(seed)
    seen = [env.reset(seed=seed)[0]]
    for _ in range(steps):
        obs, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        seen += [obs, reward]
        if terminated or truncated:
            seen.append(env.reset()[0])
    return np.concatenate([np.ravel(part) for part in seen])


@pytest.mark.parametrize("name", NAMES)
def test_the_checker_of_gymnasium_has_nothing_to_say(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(name).unwrapped, skip_render_check=True)


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_repeats_a_walk(name):
    noise = {"reward_noise": 0.5}
    first, second = (gymnasium.make(name, **noise) for _ in range(2))
    np.testing.assert_array_equal(walk(first, 3), walk(second, 3))
    np.testing.assert_array_equal(walk(first, 3), walk(second, 3))
    assert not np.array_equal(walk(first, 3), walk(second, 4))


@pytest.mark.parametrize("name", NAMES)
def test_types_are_those_of_the_spaces(name):
    env = gymnasium.make(name)
    obs, info = env.reset(seed=0)
    next_obs, reward, terminated, truncated, next_info = env.step(env.action_space.sample())
    expected = int if "Tabular" in name else np.ndarray
    assert type(obs) is expected
    assert type(next_obs) is expected
    assert (type(reward), type(terminated), type(truncated)) == (float, bool, bool)
    assert info == next_info == {}
    assert env.observation_space.contains(next_obs)


def test_observations_are_the_callers_to_change():
    env = gymnasium.make("hcdyna/GridWorld-v0")
    for obs in (env.reset(seed=0)[0], env.step(UP)[0]):
        obs[:] = 0.7
    assert (env.unwrapped.state < 0.2).all()


@pytest.mark.parametrize("name", NAMES)
def test_episodes_are_truncated_after_the_time_limit_of_the_domain(name):
    short = name.removeprefix("hcdyna/").removesuffix("-v0")
    assert TIME_LIMITS[short] == registry.lookup("environments", short)().time_limit
    env = gymnasium.make(name)
    assert env.spec.max_episode_steps == TIME_LIMITS[short]
    env = gymnasium.make(name, max_episode_steps=3)
    env.reset(seed=0)
    ends = [env.step(env.action_space.sample())[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)]


def test_the_goal_terminates_and_does_not_truncate():
    env = gymnasium.make("hcdyna/GridWorld-v0", goal_reward=5.0)
    env.reset(options={"state": [0.97, 0.92]})
    assert env.step(UP)[1:4] == (5.0, True, False)
    env = gymnasium.make("hcdyna/GridWorldContinuous-v0")
    env.reset(options={"state": [0.92, 0.92]})
    assert env.step(np.float32([1, 1]))[1:4] == (-1.0, True, False)
    env = gymnasium.make("hcdyna/TabularGridWorld-v0", size=4, success=1.0)
    env.reset(options={"state": 14})
    assert env.step(UP) == (15, -1.0, True, False, {})


def test_starts_are_those_of_the_domains():
    for name in ("GridWorld", "GridWorldContinuous"):
        env = gymnasium.make(f"hcdyna/{name}-v0")
        env.reset(seed=1)
        starts = np.stack([env.reset()[0] for _ in range(2_000)])
        assert starts.min() >= 0
        assert starts.max() <= 0.05
        assert (np.abs(starts.mean(axis=0) - 0.025) < 5 * 0.05 / np.sqrt(12 * 2_000)).all()
    assert gymnasium.make("hcdyna/TabularGridWorld-v0").reset()[0] == 0


def test_settings_of_the_domain_are_keyword_arguments():
    env = gymnasium.make("hcdyna/GridWorld-v0", wall=False, move_noise=0.01)
    env.reset(seed=0, options={"state": [0.47, 0.2]})
    end = env.step(RIGHT)[0]
    assert end[0] > 0.48
    assert end[0] != np.float32(0.52)
    assert gymnasium.make("hcdyna/TabularGridWorld-v0", size=7).observation_space.n == 49


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"move_noise": -1.0}, SettingsError, "move_noise"),
        ({"time_limit": 10}, SettingsError, "max_episode_steps"),
        ({"discount": 0.9}, SettingsError, "of the algorithm"),
        ({"walls": True}, TypeError, "walls"),
    ],
)
def test_wrong_settings_are_refused(settings, error, message):
    with pytest.raises(error, match=message):
        gymnasium.make("hcdyna/GridWorld-v0", **settings)


@pytest.mark.parametrize(
    ("name", "action"),
    [
        ("GridWorld", -1),
        ("GridWorld", 4),
        ("GridWorld", 1.5),
        ("TabularGridWorld", -1),
        ("GridWorldContinuous", 0.5),
        ("GridWorldContinuous", [0.5, np.nan]),
    ],
)
def test_wrong_actions_are_refused(name, action):
    env = gymnasium.make(f"hcdyna/{name}-v0", disable_env_checker=True)
    env.reset(seed=0)
    with pytest.raises(SettingsError, match="action"):
        env.step(action)


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("GridWorld", [0.5, 1.1]),
        ("GridWorld", [0.5]),
        ("TabularGridWorld", 400),
        ("TabularGridWorld", 1.5),
    ],
)
def test_wrong_start_states_are_refused(name, state):
    with pytest.raises(SettingsError, match="must lie in"):
        gymnasium.make(f"hcdyna/{name}-v0").reset(options={"state": state})


REGISTER = """
import sys
import hcdyna
import gymnasium
assert "jax" not in sys.modules, "registration has become slow"
assert "hcdyna/GridWorld-v0" in gymnasium.registry
"""
STEP = """
import gymnasium
env = gymnasium.make("hcdyna.gymnasium.ours:hcdyna/GridWorld-v0")
env.reset(seed=0)
env.step(0)
from jax._src import xla_bridge
assert not xla_bridge.backends_are_initialized(), "processes that use these can't be forked"
"""


@pytest.mark.parametrize("program", [REGISTER, STEP])
def test_registration_and_steps_do_not_wake_jax(program):
    ended = subprocess.run([sys.executable, "-c", program], timeout=120, capture_output=True)
    assert ended.returncode == 0, ended.stderr.decode()


def test_many_at_once():
    envs = gymnasium.make_vec("hcdyna/GridWorld-v0", num_envs=3, vectorization_mode="sync")
    obs, _ = envs.reset(seed=0)
    assert obs.shape == (3, 2)
    assert len(np.unique(obs[:, 0])) == 3
    assert envs.step(np.array([UP, DOWN, RIGHT]))[1].shape == (3,)
