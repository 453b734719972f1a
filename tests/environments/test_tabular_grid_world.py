"""TabularGridWorld by hand: numbering, edges, slips, the goal."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.environments.tabular_grid_world import TabularGridWorld

UP, DOWN, LEFT, RIGHT = range(4)
BOTTOM_LEFT, TOP_LEFT, BOTTOM_RIGHT, TOP_RIGHT = 0, 19, 380, 399
KEYS = 20_000


@functools.cache
def compiled(settings):
    """The dynamics for one key, and for many."""
    dynamics = settings.build().dynamics
    return jax.jit(dynamics), jax.jit(jax.vmap(dynamics, (0, None, None)))


def sure_step(state, action, size=20):
    """The outcome where no move slips."""
    step, _ = compiled(TabularGridWorld(size=size, success=1.0))
    return step(jax.random.key(0), jnp.int32(state), jnp.int32(action))


def frequencies(state, action, success=0.8):
    """Share of each next state over many keys."""
    _, steps = compiled(TabularGridWorld(success=success))
    keys = jax.random.split(jax.random.key(3), KEYS)
    states = np.asarray(steps(keys, jnp.int32(state), jnp.int32(action)).next_obs)
    return {int(s): float(np.mean(states == s)) for s in np.unique(states)}


def assert_frequencies(found, expected):
    """Equal states, and shares within 4 standard errors."""
    assert found.keys() == expected.keys()
    for state, p in expected.items():
        assert abs(found[state] - p) <= 4 * np.sqrt(p * (1 - p) / KEYS), state


def test_spec_is_that_of_the_paper():
    spec = TabularGridWorld().build().spec
    assert (spec.num_states, spec.num_actions) == (400, 4)
    assert (spec.time_limit, spec.discount) == (1_000, 1.0)
    assert (spec.low, spec.high) == (0, 399)


def test_states_are_numbered_bottom_to_top_then_left_to_right():
    state = 5 * 20 + 7
    assert sure_step(state, UP).next_obs == state + 1
    assert sure_step(state, DOWN).next_obs == state - 1
    assert sure_step(state, LEFT).next_obs == state - 20
    assert sure_step(state, RIGHT).next_obs == state + 20


def test_edges_hold_the_agent():
    for state, blocked in (
        (BOTTOM_LEFT, (DOWN, LEFT)),
        (TOP_LEFT, (UP, LEFT)),
        (BOTTOM_RIGHT, (DOWN, RIGHT)),
        (TOP_RIGHT, (UP, RIGHT)),
        (5 * 20 + 19, (UP,)),
        (5 * 20, (DOWN,)),
        (7, (LEFT,)),
        (380 + 7, (RIGHT,)),
    ):
        for action in range(4):
            assert (sure_step(state, action).next_obs == state) == (action in blocked)


def test_size_sets_the_number_of_cells():
    assert TabularGridWorld(size=3).build().spec.num_states == 9
    state = 0
    path = []
    for action in (UP, UP, UP, RIGHT, RIGHT):
        outcome = sure_step(state, action, size=3)
        state = outcome.next_obs
        path.append(int(state))
    assert path == [1, 2, 2, 5, 8]
    assert outcome.terminated


def test_the_intended_move_succeeds_85_times_in_100():
    """0.8, and a quarter of the 0.2 where a random move replaces it."""
    state = 5 * 20 + 7
    moves = {UP: state + 1, DOWN: state - 1, LEFT: state - 20, RIGHT: state + 20}
    for intended in moves:
        expected = {s: 0.85 if action == intended else 0.05 for action, s in moves.items()}
        assert_frequencies(frequencies(state, intended), expected)


def test_without_success_all_moves_are_equally_likely():
    state = 5 * 20 + 7
    quarter = {state + 1: 0.25, state - 1: 0.25, state - 20: 0.25, state + 20: 0.25}
    assert_frequencies(frequencies(state, UP, success=0.0), quarter)


def test_corners_reach_their_two_neighbours_and_themselves():
    assert_frequencies(frequencies(BOTTOM_LEFT, UP), {0: 0.1, 1: 0.85, 20: 0.05})
    assert_frequencies(frequencies(BOTTOM_LEFT, DOWN), {0: 0.9, 1: 0.05, 20: 0.05})
    assert_frequencies(frequencies(TOP_LEFT, RIGHT), {19: 0.1, 18: 0.05, 39: 0.85})
    assert_frequencies(frequencies(BOTTOM_RIGHT, LEFT), {380: 0.1, 381: 0.05, 360: 0.85})
    assert_frequencies(frequencies(TOP_RIGHT, DOWN), {399: 0.1, 398: 0.85, 379: 0.05})


def test_only_the_top_right_corner_terminates():
    assert sure_step(TOP_RIGHT - 1, UP).terminated
    assert sure_step(TOP_RIGHT - 20, RIGHT).terminated
    assert not sure_step(TOP_RIGHT - 2, UP).terminated
    assert not sure_step(TOP_LEFT, UP).terminated
    assert not sure_step(BOTTOM_RIGHT, RIGHT).terminated
    terminal = jax.vmap(TabularGridWorld().build().terminal)(jnp.arange(400))
    np.testing.assert_array_equal(np.flatnonzero(terminal), [TOP_RIGHT])


def test_every_step_costs_one_the_last_included():
    assert sure_step(0, UP).reward == -1
    assert sure_step(0, DOWN).reward == -1
    assert sure_step(TOP_RIGHT - 1, UP).reward == -1


def test_episodes_start_at_the_bottom_left():
    env = TabularGridWorld().build()
    starts = jax.vmap(env.reset)(jax.random.split(jax.random.key(0), 10))
    assert starts.dtype == jnp.int32
    np.testing.assert_array_equal(starts, np.zeros(10))
