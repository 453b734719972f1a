"""Stable-Baselines3 trains on our domains."""

import importlib
import warnings

import gymnasium
import pytest

import hcdyna.gymnasium.ours  # noqa: F401

pytestmark = pytest.mark.slow


@pytest.fixture
def baselines():
    return pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed")


@pytest.mark.parametrize(
    ("algorithm", "name"),
    [
        ("DQN", "hcdyna/GridWorld-v0"),
        ("DDPG", "hcdyna/GridWorldContinuous-v0"),
        ("DQN", "hcdyna/TabularGridWorld-v0"),
    ],
)
def test_an_algorithm_trains(baselines, algorithm, name):
    env = gymnasium.make(name, max_episode_steps=100)
    policy = {"net_arch": [16, 16]}
    agent = getattr(baselines, algorithm)(
        "MlpPolicy", env, learning_starts=50, seed=0, policy_kwargs=policy, device="cpu"
    )
    agent.learn(300)
    action, _ = agent.predict(env.reset(seed=1)[0], deterministic=True)
    assert env.action_space.contains(action)
    assert agent.num_timesteps >= 300


@pytest.mark.parametrize("name", ["GridWorld", "GridWorldContinuous", "TabularGridWorld"])
def test_the_checker_of_stable_baselines_has_nothing_to_say(baselines, name):
    checker = importlib.import_module("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checker.check_env(gymnasium.make(f"hcdyna/{name}-v0").unwrapped)
