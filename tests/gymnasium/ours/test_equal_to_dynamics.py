"""A step in NumPy gives the bits of the JAX dynamics, noise included.

XLA folds the deviation of noise into a constant of the normal distribution, which may change the
last bit; so deviations are powers of two here, by which every product is exact.
"""

from itertools import product

import jax
import numpy as np
import pytest

from hcdyna.environments import grid_world
from hcdyna.gymnasium.ours.grid_world import GridWorldContinuousEnv, GridWorldEnv
from hcdyna.gymnasium.ours.tabular_grid_world import TabularGridWorldEnv

STATES = 5_000


class Dealt:
    """Stands in for a generator, and deals the random numbers that JAX draws from a key."""

    def __init__(self, normals=(), bits=(0, 0)):
        self.normals = list(normals)
        self.bits = bits

    def standard_normal(self, dtype):
        assert dtype == np.float32
        return self.normals.pop(0)

    def random(self, dtype):
        assert dtype == np.float32
        return np.float32(self.bits[0] >> 8) * np.float32(2**-24)

    def integers(self, n):
        return self.bits[1] % n


def corners():
    """States from which, and onto which, the borders of wall, hole, goal and box are one move."""
    ends = [*grid_world.WALL, *grid_world.HOLE, grid_world.GOAL, 0.0, 1.0]
    near = np.float32([end + step for end in ends for step in (-0.05, 0.0, 0.05)])
    near = np.concatenate([near, np.nextafter(near, np.float32(2)), np.nextafter(near, -near)])
    # XLA takes the numbers next to 0 for 0, so they are left out.
    near = np.unique(near[(near == 0) | (near >= np.finfo(np.float32).tiny) & (near <= 1)])
    return np.array(list(product(near, near)), np.float32)


def continuous_states(rng):
    return np.concatenate([rng.random((STATES, 2), dtype=np.float32), corners()])


def expected(env, keys, states, actions):
    outcome = jax.jit(jax.vmap(env.settings.build().dynamics))(keys, states, actions)
    return [np.asarray(part) for part in outcome]


def stepped(env, dealers, states, actions):
    """What the Gymnasium environment answers, with these random numbers."""
    env.reset(seed=0)
    outcomes = []
    for dealer, state, action in zip(dealers, states, actions, strict=True):
        env.state = state
        env.np_random = dealer
        outcomes.append(env.step(action)[:3])
    return [np.array(part) for part in zip(*outcomes, strict=True)]


def assert_same_bits(ours, theirs):
    for part, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(part, other)
    assert 0 < ours[2].sum() < len(ours[2])


def normals_of(key, moves, rewards):
    """The standard normal numbers that the dynamics draw, in the order of use."""
    if not rewards:
        return jax.random.normal(key)[None][: int(moves)]
    move_key, noise_key = jax.random.split(key)
    drawn = [move_key] * moves + [noise_key]
    return jax.numpy.stack([jax.random.normal(each) for each in drawn])


def check_square(env, actions, states):
    noise = env.settings
    moves, rewards = getattr(noise, "move_noise", 0) > 0, noise.reward_noise > 0
    keys = jax.random.split(jax.random.key(5), len(states))
    normals = jax.jit(jax.vmap(lambda key: normals_of(key, moves, rewards)))(keys)
    dealers = [Dealt(row) for row in np.asarray(normals)]
    ours = expected(env, keys, states, actions)
    assert_same_bits(ours, stepped(env, dealers, states, actions))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"wall": False, "goal_reward": 0.3},
        {"move_noise": 1 / 64},
        {"reward_noise": 0.5},
        {"move_noise": 1 / 32, "reward_noise": 0.25},
    ],
)
def test_grid_world(settings):
    rng = np.random.default_rng(1)
    states = continuous_states(rng)
    check_square(GridWorldEnv(**settings), rng.integers(4, size=len(states)), states)


@pytest.mark.parametrize("settings", [{}, {"wall": False, "goal_reward": 0.0, "reward_noise": 0.5}])
def test_continuous_grid_world(settings):
    rng = np.random.default_rng(2)
    states = continuous_states(rng)
    actions = rng.uniform(-1.5, 1.5, states.shape).astype(np.float32)
    check_square(GridWorldContinuousEnv(**settings), actions, states)


@pytest.mark.parametrize("settings", [{}, {"size": 5, "success": 0.3}])
def test_tabular_grid_world(settings):
    env = TabularGridWorldEnv(**settings)
    rng = np.random.default_rng(3)
    states = rng.integers(env.settings.size**2, size=STATES, dtype=np.int32)
    actions = rng.integers(4, size=STATES)
    keys = jax.random.split(jax.random.key(6), STATES)
    bits = np.asarray(jax.vmap(lambda key: jax.random.bits(key, (2,)))(keys))
    dealers = [Dealt(bits=row) for row in bits]
    assert_same_bits(
        expected(env, keys, states, actions), stepped(env, dealers, states.tolist(), actions)
    )


def test_tabular_reward_noise_has_its_deviation():
    env = TabularGridWorldEnv(reward_noise=0.5)
    env.reset(seed=0)
    rewards = np.array([env.step(0)[1] for _ in range(4_000)])
    assert abs(rewards.mean() + 1) < 5 * 0.5 / np.sqrt(4_000)
    assert abs(rewards.std() - 0.5) < 5 * 0.5 / np.sqrt(8_000)
