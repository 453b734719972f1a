"""Our dynamics against Gymnasium's, step by step, on random states from the whole box."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna.environments.acrobot import Acrobot
from hcdyna.environments.cart_pole import CartPole
from hcdyna.environments.mountain_car import MountainCar

PAIRS = 10_000
CLOSE = 1e-5
"""How near to a threshold a state may be for float32 rounding to decide on which side it falls."""


def random_actions(rng, env):
    return rng.integers(env.spec.num_actions, size=PAIRS)


def uniform_in_box(rng, env):
    return rng.uniform(env.spec.low, env.spec.high, size=(PAIRS, len(env.spec.low)))


def our_steps(env, obs, actions):
    """All outcomes as numpy arrays: next observations, rewards, terminated."""
    keys = jax.random.split(jax.random.key(0), len(obs))
    outcome = jax.jit(jax.vmap(env.dynamics))(keys, jnp.asarray(obs), jnp.asarray(actions))
    return tuple(np.asarray(part) for part in outcome)


def their_steps(name, states, actions):
    """The same from Gymnasium, which keeps its state in float64."""
    env = gymnasium.make(name).unwrapped
    env.reset(seed=0)
    steps = []
    for state, action in zip(states.astype(np.float64), actions, strict=True):
        env.state = state
        env.steps_beyond_terminated = None  # CartPole counts the steps after a fall
        steps.append(env.step(int(action))[:3])
    return tuple(np.array(part) for part in zip(*steps, strict=True))


def assert_observations_agree(ours, theirs, tolerance):
    error = np.abs(ours - theirs) / np.maximum(1, np.abs(theirs))
    assert error.max() < tolerance


def assert_few(excluded):
    """Too many exclusions would mean that the comparison no longer compares."""
    assert excluded.sum() <= PAIRS / 1_000


def test_mountain_car_steps_like_gymnasium_but_ends_at_any_velocity():
    env = MountainCar().build()
    rng = np.random.default_rng(1)
    obs = uniform_in_box(rng, env).astype(np.float32)
    actions = random_actions(rng, env)
    next_obs, reward, terminated = our_steps(env, obs, actions)
    their_obs, their_reward, their_terminated = their_steps("MountainCar-v0", obs, actions)

    assert_observations_agree(next_obs, their_obs, 1e-5)
    np.testing.assert_array_equal(reward, their_reward)
    position, velocity = their_obs.T
    near = (np.abs(position - 0.5) < CLOSE) | ((position >= 0.5) & (np.abs(velocity) < CLOSE))
    assert_few(near)
    rolls_back = (position >= 0.5) & (velocity < 0)
    assert rolls_back.sum() > 100
    assert their_terminated.sum() > 100
    np.testing.assert_array_equal(terminated[~near], (their_terminated | rolls_back)[~near])
    np.testing.assert_array_equal((terminated != their_terminated)[~near], rolls_back[~near])


def test_mountain_car_hits_the_left_wall_like_gymnasium():
    env = MountainCar().build()
    rng = np.random.default_rng(2)
    obs = rng.uniform([-1.2, -0.07], [-1.15, 0.07], size=(1_000, 2)).astype(np.float32)
    actions = rng.integers(3, size=1_000)
    next_obs, _, _ = our_steps(env, obs, actions)
    their_obs, _, _ = their_steps("MountainCar-v0", obs, actions)
    assert (their_obs == np.array([-1.2, 0], np.float32)).all(axis=1).sum() > 100
    assert_observations_agree(next_obs, their_obs, 1e-5)


def test_cart_pole_steps_like_gymnasium():
    env = CartPole().build()
    rng = np.random.default_rng(3)
    obs = uniform_in_box(rng, env).astype(np.float32)
    actions = random_actions(rng, env)
    next_obs, reward, terminated = our_steps(env, obs, actions)
    their_obs, their_reward, their_terminated = their_steps("CartPole-v1", obs, actions)

    assert_observations_agree(next_obs, their_obs, 1e-5)
    np.testing.assert_array_equal(reward, their_reward)
    limits = np.array([2.4, np.radians(12)])
    near = (np.abs(np.abs(their_obs[:, [0, 2]]) - limits) < CLOSE).any(axis=1)
    assert_few(near)
    assert 0.1 < their_terminated.mean() < 0.9
    np.testing.assert_array_equal(terminated[~near], their_terminated[~near])


def test_acrobot_steps_like_gymnasium():
    env = Acrobot().build()
    rng = np.random.default_rng(4)
    high = np.pi * np.array([1, 1, 4, 9])
    theta1, theta2, *speeds = rng.uniform(-high, high, size=(PAIRS, 4)).T
    pairs = [np.cos(theta1), np.sin(theta1), np.cos(theta2), np.sin(theta2)]
    obs = np.stack([*pairs, *speeds], axis=1).astype(np.float32)
    actions = random_actions(rng, env)
    cos1, sin1, cos2, sin2, *speeds = obs.T.astype(np.float64)
    states = np.stack([np.arctan2(sin1, cos1), np.arctan2(sin2, cos2), *speeds], axis=1)
    next_obs, reward, terminated = our_steps(env, obs, actions)
    their_obs, their_reward, their_terminated = their_steps("Acrobot-v1", states, actions)

    assert_observations_agree(next_obs, their_obs, 1e-5)
    cos1, sin1, cos2, sin2 = their_obs[:, :4].T.astype(np.float64)
    height = -cos1 - (cos1 * cos2 - sin1 * sin2)
    near = np.abs(height - 1) < CLOSE
    assert_few(near)
    assert 0.1 < their_terminated.mean() < 0.9
    np.testing.assert_array_equal(terminated[~near], their_terminated[~near])
    np.testing.assert_array_equal(reward[~near], their_reward[~near])


DOMAINS = [
    (MountainCar, "MountainCar-v0", 2_000),
    (CartPole, "CartPole-v1", 500),
    (Acrobot, "Acrobot-v1", 500),
]


@pytest.mark.parametrize(("settings", "name", "time_limit"), DOMAINS)
def test_number_of_actions_and_time_limit(settings, name, time_limit):
    spec = settings().build().spec
    theirs = gymnasium.make(name)
    assert spec.num_actions == theirs.action_space.n
    assert spec.time_limit == time_limit
    if name != "MountainCar-v0":  # Gymnasium stops the car after 200 steps
        assert spec.time_limit == theirs.spec.max_episode_steps


@pytest.mark.parametrize(("settings", "name", "time_limit"), DOMAINS)
def test_box_is_that_of_gymnasium_where_that_is_finite(settings, name, time_limit):
    spec = settings().build().spec
    theirs = gymnasium.make(name).observation_space
    for ours, bound in ((spec.low, theirs.low), (spec.high, theirs.high)):
        finite = np.isfinite(bound)
        np.testing.assert_array_equal(ours[finite], bound[finite])
        np.testing.assert_array_equal(np.abs(ours[~finite]), 10)


RESET_RANGES = [
    (MountainCar, "MountainCar-v0", [-0.6, 0], [-0.4, 0]),
    (CartPole, "CartPole-v1", [-0.05] * 4, [0.05] * 4),
    (
        Acrobot,
        "Acrobot-v1",
        [np.cos(0.1), -np.sin(0.1)] * 2 + [-0.1] * 2,
        [1, np.sin(0.1)] * 2 + [0.1] * 2,
    ),
]


@pytest.mark.parametrize(("settings", "name", "low", "high"), RESET_RANGES)
def test_start_states_fill_the_range_of_gymnasium(settings, name, low, high):
    env = settings().build()
    ours = np.asarray(jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(1), 2_000)))
    env = gymnasium.make(name).unwrapped
    env.reset(seed=1)
    theirs = np.stack([env.reset()[0] for _ in range(2_000)])
    width = np.array(high) - low
    for states in (ours, theirs):
        assert (states >= np.array(low) - 1e-6).all()
        assert (states <= np.array(high) + 1e-6).all()
        # The extremes of 2,000 draws fall short of the ends by far less than this.
        assert (states.min(axis=0) <= low + 0.02 * width).all()
        assert (states.max(axis=0) >= high - 0.02 * width).all()
    # Six standard errors of a difference of two means, for uniform variables.
    assert (np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) <= 0.06 * width).all()
