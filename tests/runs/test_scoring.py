"""Evaluation of any policy in any Gymnasium environment."""

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import TimeLimit

import hcdyna
from hcdyna import SettingsError


class Left:
    """A policy as those of Stable-Baselines3: it answers with an action and a state."""

    def predict(self, obs, deterministic=True):
        assert obs.shape == (4,)
        return np.int64(0 if deterministic else 1), None


def test_another_librarys_policy_in_all_kinds_of_environments():
    mean, deviation = hcdyna.evaluate(Left(), "CartPole-v1", episodes=5)
    returns, lengths = hcdyna.evaluate(Left(), "CartPole-v1", 5, return_episodes=True)
    assert (mean, deviation) == (returns.mean(), returns.std())
    assert np.array_equal(returns, lengths)
    assert 8 <= mean <= 11
    env = TimeLimit(gymnasium.make("CartPole-v1"), 4)
    assert hcdyna.evaluate(Left(), env, episodes=2) == (4.0, 0.0)
    assert hcdyna.evaluate(Left(), env, episodes=2, deterministic=False) == (4.0, 0.0)
    assert hcdyna.evaluate(Left(), lambda: env, episodes=2) == (4.0, 0.0)


def test_the_same_seed_is_the_same_episodes():
    one, other, third = (
        hcdyna.evaluate(Left(), "CartPole-v1", 20, seed=seed, return_episodes=True)[0]
        for seed in (0, 0, 1)
    )
    assert np.array_equal(one, other)
    assert np.array_equal(one[1:], third[:-1])


def test_an_agent_of_ours(run):
    agent = run.agent(8)
    _, lengths = hcdyna.evaluate(agent, "GridWorld", episodes=2, return_episodes=True)
    assert lengths.shape == (2,)
    returns, _ = hcdyna.evaluate(agent, episodes=2, return_episodes=True)
    assert returns.shape == (2,)


class Endless(gymnasium.Env):
    """Nothing ever happens."""

    def reset(self, seed=None, options=None):
        return np.zeros(4), {}

    def step(self, action):
        return np.zeros(4), 0.0, False, False, {}


class Anything:
    """A policy for every world with discrete actions."""

    def predict(self, obs, deterministic=True):
        return 0


def test_our_domains_by_name_and_a_world_that_never_ends():
    _, lengths = hcdyna.evaluate(Anything(), "CartPole", episodes=2, return_episodes=True)
    assert lengths.max() < 20

    _, lengths = hcdyna.evaluate(Anything(), Endless(), episodes=1, return_episodes=True)
    assert lengths == 5_000


class Wild:
    """A policy for another world."""

    def predict(self, obs, deterministic=True):
        return 7


class Faulty(gymnasium.Wrapper):
    def step(self, action):
        raise OSError("the motor is gone")


def test_only_an_action_that_there_is_not_is_the_fault_of_the_policy():
    with pytest.raises(OSError, match="the motor is gone"):
        hcdyna.evaluate(Left(), Faulty(gymnasium.make("CartPole-v1")))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((3, "CartPole-v1"), "agent = 3: must have a method predict"),
        ((Left(), "CartPole-v1", 0), "episodes = 0: must be a whole number from 1 to 100000"),
        ((Left(), "CartPole-v1", 2.5), r"episodes = 2\.5: must be a whole number"),
        ((Left(), "CartPole-v1", 10**9), "episodes = 1000000000: must be"),
        ((Left(), "GridWorldd"), "did you mean GridWorld.*any Gymnasium id"),
        ((Left(),), "env = None: only agents of hcdyna know"),
        ((Left(), 7), "env = 7: must be a Gymnasium environment"),
        ((Left(), lambda: 7), "must be a Gymnasium environment"),
        ((Left(), "CartPoll-v1"), "CartPoll-v1"),
        ((Wild(), "CartPole-v1"), r"predict answers 7, .*; must be an action of Discrete\(2\)"),
    ],
)
def test_bad_input_is_refused_in_a_line(arguments, problem):
    with pytest.raises(SettingsError, match=problem) as refusal:
        hcdyna.evaluate(*arguments)
    assert "\n" not in str(refusal.value)
