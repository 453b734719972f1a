"""Any compiled environment can be had as a Gymnasium one, a user's own included."""

import warnings
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import TimeLimit

from hcdyna import Acrobot, CartPole, GridWorldContinuous, SettingsError, TabularGridWorld
from hcdyna.gymnasium.ours.adapter import AsGymnasium
from hcdyna.types import Box, Environment, Outcome, Spec


@dataclass(frozen=True)
class Buoy:
    """It drifts by an action and by chance, and is lost beyond 0.9."""

    drift: float = 0.1

    def build(self):
        low, high = np.zeros(1, np.float32), np.ones(1, np.float32)
        box = Box(low, high)

        def dynamics(key, obs, action):
            there = box(obs + self.drift * (action + 0.1 * jax.random.normal(key, (1,))))
            return Outcome(there, -there[0], there[0] > 0.9)

        return Environment(
            Spec("Buoy", low, high, discount=0.9, time_limit=50, action_size=1),
            reset=lambda key: jax.random.uniform(key, (1,), maxval=0.5),
            dynamics=dynamics,
            project=box,
            terminal=lambda obs: obs[0] > 0.9,
        )


WRAPPED = [Buoy(), Acrobot(), CartPole(), GridWorldContinuous(), TabularGridWorld(size=3)]


@pytest.mark.parametrize("environment", WRAPPED, ids=lambda environment: type(environment).__name__)
def test_the_checker_of_gymnasium_has_nothing_to_say(environment):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(AsGymnasium(environment), skip_render_check=True)


def test_an_episode_of_ones_own_environment():
    env = TimeLimit(AsGymnasium(Buoy()), max_episode_steps=30)
    assert env.observation_space == spaces.Box(0, 1, (1,), np.float32)
    assert env.action_space == spaces.Box(-1, 1, (1,), np.float32)

    def episode(seed, action):
        rewards, over = [], False
        start = obs = env.reset(seed=seed)[0]
        while not over:
            obs, reward, terminated, truncated, _ = env.step(np.float32([action]))
            rewards.append(reward)
            over = terminated or truncated
        assert rewards[-1] == -obs[0]
        return start[0], sum(rewards), len(rewards), terminated

    assert episode(1, 1.0) == episode(1, 1.0) != episode(2, 1.0)
    assert 4 <= episode(1, 1.0)[2] <= 12
    assert episode(1, 1.0)[3]
    assert episode(1, 0.0)[2:] == (30, False)


def test_a_step_is_that_of_the_dynamics():
    env, built = (
        AsGymnasium(GridWorldContinuous(reward_noise=0.5)),
        GridWorldContinuous(reward_noise=0.5).build(),
    )
    env.reset(seed=3, options={"state": [0.2, 0.3]})
    seed = np.random.default_rng(3).integers(2**32, dtype=np.uint32)
    action = np.float32([0.5, -0.5])
    obs, reward, terminated, truncated, info = env.step(action)
    wanted = jax.jit(built.dynamics)(jax.random.key(seed), jnp.float32([0.2, 0.3]), action)
    np.testing.assert_array_equal(obs, wanted.next_obs)
    assert (reward, terminated, truncated, info) == (float(wanted.reward), False, False, {})


@pytest.mark.parametrize("action", [0.5, [0.1, 0.2], [np.nan]])
def test_wrong_actions_are_refused(action):
    env = AsGymnasium(Buoy())
    env.reset(seed=0)
    with pytest.raises(SettingsError, match="must be an array of 1 from -1 to 1"):
        env.step(action)
