"""GridWorld by hand: moves, wall, hole, edges, goal, rewards, noise."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from hcdyna.environments.grid_world import GridWorld, GridWorldContinuous
from hcdyna.environments.maze import Maze

UP, DOWN, LEFT, RIGHT = range(4)
KEY = jax.random.key(0)


@functools.cache
def compiled(settings):
    """The dynamics for one key, and for many."""
    dynamics = settings.build().dynamics
    return jax.jit(dynamics), jax.jit(jax.vmap(dynamics, (0, None, None)))


def step(settings, obs, action):
    outcome = compiled(settings)[0](KEY, np.array(obs, np.float32), np.array(action))
    return jax.tree.map(np.asarray, outcome)


def assert_moves(settings, obs, action, expected):
    np.testing.assert_allclose(step(settings, obs, action).next_obs, expected, atol=1e-6)


def many_outcomes(settings, obs, action):
    """The outcomes of the same step with 20,000 keys, as numpy arrays."""
    keys = jax.random.split(jax.random.key(1), 20_000)
    outcome = compiled(settings)[1](keys, np.array(obs, np.float32), np.array(action))
    return jax.tree.map(np.asarray, outcome)


def test_spec_is_that_of_the_paper():
    for env in (GridWorld().build(), GridWorldContinuous().build()):
        assert env.spec.time_limit == 2_000
        assert env.spec.discount == 0.99
        np.testing.assert_array_equal(env.spec.low, [0, 0])
        np.testing.assert_array_equal(env.spec.high, [1, 1])
    assert GridWorld().build().spec.num_actions == 4
    assert GridWorldContinuous().build().spec.action_size == 2


def test_four_moves_of_a_twentieth():
    world = GridWorld()
    assert_moves(world, [0.2, 0.3], UP, [0.2, 0.35])
    assert_moves(world, [0.2, 0.3], DOWN, [0.2, 0.25])
    assert_moves(world, [0.2, 0.3], LEFT, [0.15, 0.3])
    assert_moves(world, [0.2, 0.3], RIGHT, [0.25, 0.3])


def test_wall_blocks_from_both_sides_below_and_above_the_hole():
    world = GridWorld()
    for y in (0.0, 0.2, 0.38, 0.52, 0.8, 1.0):
        assert_moves(world, [0.47, y], RIGHT, [0.47, y])
        assert_moves(world, [0.63, y], LEFT, [0.63, y])


def test_wall_ends_where_the_paper_says():
    world = GridWorld()
    assert_moves(world, [0.44, 0.2], RIGHT, [0.49, 0.2])
    assert_moves(world, [0.66, 0.2], LEFT, [0.61, 0.2])
    assert_moves(world, [0.46, 0.2], RIGHT, [0.46, 0.2])
    assert_moves(world, [0.64, 0.2], LEFT, [0.64, 0.2])


def test_hole_lets_through_both_ways():
    world = GridWorld()
    obs = [0.47, 0.45]
    for _ in range(4):
        obs = step(world, obs, RIGHT).next_obs
    np.testing.assert_allclose(obs, [0.67, 0.45], atol=1e-6)
    for _ in range(4):
        obs = step(world, obs, LEFT).next_obs
    np.testing.assert_allclose(obs, [0.47, 0.45], atol=1e-6)


def test_hole_ends_at_four_and_five_tenths():
    world = GridWorld()
    for y in (0.41, 0.49):
        assert_moves(world, [0.47, y], RIGHT, [0.52, y])
        assert_moves(world, [0.63, y], LEFT, [0.58, y])
    for y in (0.39, 0.51):
        assert_moves(world, [0.47, y], RIGHT, [0.47, y])
        assert_moves(world, [0.63, y], LEFT, [0.63, y])


def test_wall_blocks_moves_up_and_down_inside_the_hole():
    world = GridWorld()
    assert_moves(world, [0.55, 0.42], DOWN, [0.55, 0.42])
    assert_moves(world, [0.55, 0.48], UP, [0.55, 0.48])
    assert_moves(world, [0.55, 0.42], UP, [0.55, 0.47])


def test_a_state_inside_the_wall_can_only_leave_it():
    """Hill climbing asks for the outcomes of such states."""
    world = GridWorld()
    assert_moves(world, [0.55, 0.2], UP, [0.55, 0.2])
    assert_moves(world, [0.52, 0.2], LEFT, [0.47, 0.2])
    assert_moves(world, [0.58, 0.2], RIGHT, [0.63, 0.2])


def test_a_blocked_move_keeps_the_state_bit_for_bit():
    obs = jnp.array([0.47, 0.123])
    np.testing.assert_array_equal(step(GridWorld(), obs, RIGHT).next_obs, obs)


def test_without_the_wall_nothing_blocks():
    for wall, expected in ((True, [0.47, 0.2]), (False, [0.52, 0.2])):
        assert_moves(GridWorld(wall=wall), [0.47, 0.2], RIGHT, expected)
        assert_moves(GridWorldContinuous(wall=wall), [0.47, 0.2], [1.0, 0.0], expected)


def test_moves_are_clipped_at_the_edges_of_the_box():
    world = GridWorld()
    assert_moves(world, [0.02, 0.3], LEFT, [0.0, 0.3])
    assert_moves(world, [0.98, 0.3], RIGHT, [1.0, 0.3])
    assert_moves(world, [0.2, 0.02], DOWN, [0.2, 0.0])
    assert_moves(world, [0.2, 0.98], UP, [0.2, 1.0])


@pytest.mark.parametrize(("goal_reward", "expected"), [(-1.0, -1.0), (0.0, 0.0)])
def test_goal_terminates_with_the_goal_reward(goal_reward, expected):
    world = GridWorld(goal_reward=goal_reward)
    terminal = world.build().terminal
    for obs, action in (([0.97, 0.92], UP), ([0.92, 0.97], RIGHT), ([0.99, 0.99], RIGHT)):
        outcome = step(world, obs, action)
        assert outcome.terminated
        assert outcome.reward == expected
        assert terminal(outcome.next_obs)


@pytest.mark.parametrize("goal_reward", [-1.0, 0.0])
def test_other_steps_cost_one_and_do_not_terminate(goal_reward):
    world = GridWorld(goal_reward=goal_reward)
    terminal = world.build().terminal
    for obs, action in (
        ([0.2, 0.3], UP),
        ([0.47, 0.2], RIGHT),
        ([0.97, 0.87], UP),
        ([0.87, 0.97], RIGHT),
        ([0.97, 0.97], DOWN),
        ([0.02, 0.98], UP),
    ):
        outcome = step(world, obs, action)
        assert not outcome.terminated
        assert outcome.reward == -1
        assert not terminal(outcome.next_obs)


def test_goal_is_the_top_right_corner_only():
    terminal = GridWorld().build().terminal
    assert terminal(jnp.array([0.95, 0.95]))
    assert terminal(jnp.array([1.0, 1.0]))
    assert not terminal(jnp.array([0.949, 1.0]))
    assert not terminal(jnp.array([1.0, 0.949]))


def test_without_move_noise_the_key_does_not_matter():
    next_obs = many_outcomes(GridWorld(), [0.2, 0.3], UP).next_obs
    np.testing.assert_array_equal(next_obs, np.tile(next_obs[0], (20_000, 1)))


@pytest.mark.parametrize(("action", "axis", "sign"), [(UP, 1, 1), (LEFT, 0, -1)])
def test_move_noise_changes_the_length_of_the_move_and_not_its_direction(action, axis, sign):
    world = GridWorld(move_noise=0.01)
    start = np.array([0.3, 0.3], np.float32)
    moves = many_outcomes(world, start, action).next_obs - start
    length = sign * moves[:, axis]
    # 5 standard errors each: 0.01/√20,000 = 7e-5, and 0.01/√40,000 = 5e-5.
    assert abs(length.mean() - 0.05) < 3.5e-4
    assert abs(length.std() - 0.01) < 2.5e-4
    np.testing.assert_array_equal(moves[:, 1 - axis], 0)


def test_noisy_moves_respect_wall_and_box():
    world = GridWorld(move_noise=0.01)
    by_the_wall = many_outcomes(world, [0.455, 0.2], RIGHT).next_obs[:, 0]
    blocked = by_the_wall == np.float32(0.455)
    assert (by_the_wall[~blocked] < 0.5).all()
    # The end point is 0.505 ± 0.01, so it lies in the wall with probability Φ(0.5) = 0.6915.
    assert abs(blocked.mean() - 0.6915) < 5 * np.sqrt(0.6915 * 0.3085 / 20_000)
    at_the_edge = many_outcomes(world, [0.2, 0.95], UP).next_obs[:, 1]
    assert at_the_edge.max() == 1
    assert abs((at_the_edge == 1).mean() - 0.5) < 5 * 0.5 / np.sqrt(20_000)


def test_continuous_actions_move_by_a_twentieth_of_the_action():
    world = GridWorldContinuous()
    assert_moves(world, [0.2, 0.3], [0.5, -1.0], [0.225, 0.25])
    assert_moves(world, [0.2, 0.3], [-1.0, 0.2], [0.15, 0.31])
    assert_moves(world, [0.2, 0.3], [0.0, 0.0], [0.2, 0.3])


def test_continuous_actions_are_clipped():
    world = GridWorldContinuous()
    assert_moves(world, [0.2, 0.3], [7.0, -3.0], [0.25, 0.25])


def test_continuous_actions_meet_the_same_wall_edges_and_goal():
    world = GridWorldContinuous(goal_reward=0.0)
    assert_moves(world, [0.47, 0.2], [1.0, 1.0], [0.47, 0.2])
    assert_moves(world, [0.63, 0.6], [-0.8, 0.0], [0.63, 0.6])
    assert_moves(world, [0.47, 0.41], [1.0, 1.0], [0.52, 0.46])
    assert_moves(world, [0.47, 0.2], [0.5, 0.0], [0.495, 0.2])
    assert_moves(world, [0.01, 0.99], [-1.0, 1.0], [0.0, 1.0])
    before, after = step(world, [0.9, 0.92], [0.9, 1.0]), step(world, [0.92, 0.92], [0.9, 1.0])
    assert not before.terminated
    assert before.reward == -1
    assert after.terminated
    assert after.reward == 0


@pytest.mark.parametrize("settings", [GridWorld, GridWorldContinuous])
def test_episodes_start_uniformly_in_the_bottom_left_corner(settings):
    reset = jax.jit(jax.vmap(settings().build().reset))
    starts = np.asarray(reset(jax.random.split(jax.random.key(2), 5_000)))
    assert starts.min() >= 0
    assert starts.max() <= 0.05
    for coordinate in starts.T:
        assert stats.kstest(coordinate, stats.uniform(0, 0.05).cdf).pvalue > 1e-3
    assert abs(np.corrcoef(starts.T)[0, 1]) < 5 / np.sqrt(5_000)


def assert_noisy(reward):
    """Mean −1 and deviation 0.5, within 5 standard errors each."""
    assert abs(reward.mean() + 1) < 5 * 0.5 / np.sqrt(20_000)
    assert abs(reward.std() - 0.5) < 5 * 0.5 / np.sqrt(40_000)


def test_reward_noise_has_its_mean_and_deviation_and_leaves_the_state_alone():
    outcome = many_outcomes(GridWorldContinuous(reward_noise=0.5), [0.2, 0.3], [0.0, 1.0])
    assert_noisy(outcome.reward)
    np.testing.assert_allclose(outcome.next_obs, np.tile([0.2, 0.35], (20_000, 1)), atol=1e-6)
    assert not outcome.terminated.any()


@pytest.mark.parametrize("settings", [GridWorld, GridWorldContinuous])
def test_without_reward_noise_the_reward_does_not_depend_on_the_key(settings):
    world = settings(reward_noise=0.0)
    action = UP if settings is GridWorld else [0.0, 1.0]
    assert (many_outcomes(world, [0.2, 0.3], action).reward == -1).all()


def test_reward_noise_is_independent_of_move_noise():
    world = GridWorld(move_noise=0.01, reward_noise=0.5)
    outcome = many_outcomes(world, [0.2, 0.3], UP)
    assert_noisy(outcome.reward)
    assert abs(outcome.next_obs[:, 1].std() - 0.01) < 2.5e-4
    correlation = np.corrcoef(outcome.next_obs[:, 1], outcome.reward)[0, 1]
    assert abs(correlation) < 5 / np.sqrt(20_000)


@pytest.mark.parametrize(
    ("layout", "shortest", "around"),
    [
        ("three holes", 67, [([0.18, 0.45], [0.23, 0.45]), ([0.38, 0.95], [0.43, 0.95])]),
        ("zigzag", 63, [([0.23, 0.9], [0.28, 0.9]), ([0.63, 0.1], [0.68, 0.1])]),
    ],
)
def test_mazes_have_walls_with_holes_and_a_way_through(layout, shortest, around):
    world = Maze(layout=layout)
    for here, there in around:
        assert_moves(world, here, RIGHT, there)
        closed = [here[0], 0.65]
        assert_moves(world, closed, RIGHT, closed)
    assert fewest_moves(world) == shortest


def fewest_moves(world):
    """From the middle of the start to the goal, over all states that can be reached."""
    dynamics = jax.jit(jax.vmap(jax.vmap(world.build().dynamics, (None, None, 0)), (None, 0, None)))
    front = seen = np.array([[0.025, 0.025]], np.float32)
    for count in range(1, 200):
        padded = np.resize(front, (64, 2))  # the same shape every time: compiled once
        found = jax.tree.map(np.asarray, dynamics(KEY, padded, np.arange(4)))
        if found.terminated.any():
            return count
        places = np.unique(found.next_obs.reshape(-1, 2).round(3), axis=0)
        new = np.array([x for x in places if np.abs(seen - x).max(axis=1).min() > 0.01])
        front, seen = new, np.concatenate([seen, new])
        assert 0 < len(front) <= 64
    return None
