"""The climb alone: drift, noise, projection, acceptance."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hcdyna.search_control import climbing


def compiled(function, *static):
    """`function` compiled once for the same static arguments, with numpy arrays as results."""
    run = jax.jit(function, static_argnames=static)
    return lambda *args, **options: jax.tree.map(np.asarray, run(*args, **options))


ALONG = ("criterion", "normalise", "project", "skip", "max_accepted")
AUTHORS = (*ALONG, "accept_first")
climb = compiled(climbing.climb, *ALONG, "steps", "noise")
climb_along = compiled(climbing.climb_along, *AUTHORS)
draw_noise = compiled(climbing.draw_noise, "steps", "noise")

KEY = jax.random.key(0)
ORIGIN = np.zeros(2, np.float32)
SLOPE = np.array([3.0, -4.0], np.float32)
SIGMA = np.array([[2.0, 0.6], [0.6, 0.5]], np.float32)
TOP = np.array([0.3, 0.6], np.float32)
SOME_NOISE = 0.15 * np.random.default_rng(0).normal(size=(200, 2)).astype(np.float32)


def linear(obs):
    return SLOPE @ obs


def flat(obs):
    return 0.0 * jnp.sum(obs)


def hill(obs):
    """A quadratic with its top at TOP."""
    return -jnp.sum((obs - TOP) ** 2)


def unit_box(obs):
    return jnp.clip(obs, 0.0, 1.0)


def anywhere(obs):
    return obs


DEFAULTS = {
    "covariance": np.eye(2, dtype=np.float32),
    "step_size": 0.1,
    "normalise": True,
    "project": anywhere,
    "threshold": 0.0,
    "skip": None,
    "max_accepted": None,
}


def along(noise, start, criterion, **options):
    """`climb_along` with the defaults of `climb`."""
    return climb_along(noise, start, criterion, **(DEFAULTS | options))


def first_state(criterion, **options):
    """One step without noise, from the origin."""
    states, _ = climb(KEY, ORIGIN, criterion, steps=1, noise="none", **options)
    return states[0]


def moves_of(states, start):
    """Differences between successive states."""
    return np.diff(np.concatenate([start[None], states]), axis=0)


def test_normalised_step_has_length_one_tenth_along_the_gradient():
    np.testing.assert_allclose(first_state(linear), [0.06, -0.08], rtol=1e-6)


def test_normalised_step_goes_along_the_natural_gradient():
    direction = np.array([2 * 3 - 0.6 * 4, 0.6 * 3 - 0.5 * 4])  # Σg = (3.6, −0.2)
    step = first_state(linear, covariance=SIGMA)
    np.testing.assert_allclose(np.linalg.norm(step), 0.1, rtol=1e-6)
    np.testing.assert_allclose(step, 0.1 * direction / np.linalg.norm(direction), rtol=1e-5)


def test_normalised_step_has_the_length_asked_for():
    np.testing.assert_allclose(first_state(linear, step_size=2.0), [1.2, -1.6], rtol=1e-6)


def test_plain_step_is_step_size_times_the_natural_gradient():
    plain = {"normalise": False, "step_size": 0.01}
    np.testing.assert_allclose(first_state(linear, **plain), [0.03, -0.04], rtol=1e-6)
    step = first_state(linear, covariance=SIGMA, **plain)
    np.testing.assert_allclose(step, [0.036, -0.002], rtol=1e-5)


def test_each_step_takes_the_gradient_where_it_is():
    """On a quadratic with a plain step of 0.1, the distance to the top shrinks by 0.8 a step."""
    states, _ = along(np.zeros((3, 2), np.float32), ORIGIN, hill, normalise=False)
    shares = (1 - np.array([0.8, 0.64, 0.512]))[:, None]
    np.testing.assert_allclose(states, shares * TOP, rtol=1e-5)


def test_noise_is_added_to_the_drift():
    noise = np.array([[0.5, 0.0], [0.0, 1.0]], np.float32)
    states, _ = along(noise, ORIGIN, linear)
    np.testing.assert_allclose(states, [[0.56, -0.08], [0.62, 0.84]], rtol=1e-5)


def test_no_drift_below_the_smallest_gradient_and_full_drift_above_it():
    np.testing.assert_array_equal(first_state(lambda obs: 0.9e-8 * obs[0]), [0, 0])
    np.testing.assert_allclose(first_state(lambda obs: 1.1e-8 * obs[0]), [0.1, 0], rtol=1e-5)


@pytest.mark.parametrize("normalise", [True, False])
def test_without_a_finite_gradient_there_is_noise_but_no_drift(normalise):
    start = np.array([0.2, 0.7], np.float32)

    @jax.jit
    def run(noise, slope):
        options = DEFAULTS | {"covariance": SIGMA, "normalise": normalise}
        return climbing.climb_along(noise, start, lambda obs: slope * obs[0], **options)[0]

    no_noise, noise = np.zeros((8, 2), np.float32), SOME_NOISE[:8]
    for slope in (0.0, np.nan, np.inf, -np.inf):
        np.testing.assert_array_equal(run(no_noise, slope), np.tile(start, (8, 1)))
        moved = np.asarray(run(noise, slope))
        np.testing.assert_allclose(moves_of(moved, start), noise, atol=1e-6)
    assert (np.asarray(run(no_noise, 1.0)) != start).all()


def test_drift_sets_in_again_where_the_gradient_is_finite_again():
    """√x has the gradient NaN on the left half; the noise carries the state over."""
    noise = np.array([[-0.5, 0.0], [1.5, 0.0], [0.0, 0.0]], np.float32)
    states, _ = along(noise, np.array([-0.2, 0.0], np.float32), lambda obs: jnp.sqrt(obs[0]))
    np.testing.assert_allclose(states[:, 0], [-0.7, 0.8, 0.9], rtol=1e-6)


STEPS = 20_000


def flat_moves(noise):
    """Moves of a long climb that is nothing but noise."""
    options = {"covariance": SIGMA, "eta": 0.3, "noise_scale": 0.2}
    states, _ = climb(KEY, ORIGIN, flat, steps=STEPS, noise=noise, **options)
    return moves_of(states, ORIGIN)


def test_full_noise_has_covariance_eta_sigma():
    moves = flat_moves("full")
    expected = 0.3 * SIGMA
    deviations = np.sqrt(np.diag(expected))
    # 5 standard errors: 1/√n of a deviation for the mean, at most √(2/n) for the covariance.
    assert (np.abs(moves.mean(axis=0)) < 5 * deviations / np.sqrt(STEPS)).all()
    error = np.abs(np.cov(moves.T) - expected) / np.outer(deviations, deviations)
    assert (error < 5 * np.sqrt(2 / STEPS)).all()


def test_diagonal_noise_has_relative_deviations_and_no_correlation():
    moves = flat_moves("diagonal")
    expected = 0.2 * np.sqrt(np.diag(SIGMA))
    assert (np.abs(moves.mean(axis=0)) < 5 * expected / np.sqrt(STEPS)).all()
    assert (np.abs(moves.std(axis=0) / expected - 1) < 5 / np.sqrt(2 * STEPS)).all()
    assert abs(np.corrcoef(moves.T)[0, 1]) < 5 / np.sqrt(STEPS)


@pytest.mark.parametrize("noise", ["full", "diagonal"])
def test_noise_of_successive_steps_is_independent(noise):
    moves = flat_moves(noise)
    for variable in moves.T:
        assert abs(np.corrcoef(variable[1:], variable[:-1])[0, 1]) < 5 / np.sqrt(STEPS)


def test_without_noise_the_key_does_not_matter():
    runs = [climb(jax.random.key(k), ORIGIN, hill, steps=20, noise="none")[0] for k in (0, 1)]
    np.testing.assert_array_equal(*runs)
    np.testing.assert_array_equal(draw_noise(KEY, SIGMA, 20, "none", 0.1, 0.05), 0)


@pytest.mark.parametrize("noise", ["full", "diagonal"])
def test_with_noise_two_keys_differ_and_one_key_repeats(noise):
    first, again, other = (
        draw_noise(jax.random.key(k), SIGMA, 20, noise, 0.1, 0.05) for k in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).all()


def left_of_the_top(obs):
    return obs[0] < TOP[0]


@pytest.mark.parametrize("noise", ["full", "diagonal", "none"])
def test_climb_along_drawn_noise_equals_climb(noise):
    options = {
        "covariance": SIGMA,
        "step_size": 0.05,
        "project": unit_box,
        "threshold": 0.1,
        "skip": left_of_the_top,
        "max_accepted": 3,
    }
    drawn = draw_noise(KEY, SIGMA, 20, noise, 0.1, 0.05)
    states, accepted = climb(KEY, ORIGIN, hill, steps=20, noise=noise, **options)
    states_along, accepted_along = along(drawn, ORIGIN, hill, **options)
    np.testing.assert_allclose(states, states_along, atol=1e-6)
    np.testing.assert_array_equal(accepted, accepted_along)
    assert accepted.any()


def test_every_state_is_projected_and_the_climb_goes_on_from_there():
    states, _ = along(SOME_NOISE, TOP, linear, project=unit_box)
    state, expected = TOP, []
    for noise in SOME_NOISE:
        state = np.clip(state + 0.1 * SLOPE / 5 + noise, 0, 1)
        expected.append(state)
    np.testing.assert_allclose(states, expected, atol=1e-5)
    assert (states >= 0).all()
    assert (states <= 1).all()
    assert (states == 1).any()


def accepted_by_hand(states, threshold, skip=lambda obs: False, max_accepted=None):
    """Algorithm 3's rule as a plain loop."""
    accepted, last = [], None
    for state in states.astype(np.float64):
        far = last is None or np.linalg.norm(state - last) / np.sqrt(len(state)) >= threshold
        room = max_accepted is None or sum(accepted) < max_accepted
        accepted.append(bool(far and room and not skip(state)))
        if accepted[-1]:
            last = state
    return accepted


def noisy_climb(**options):
    """200 steps towards the top and around it."""
    return along(SOME_NOISE, ORIGIN, hill, project=unit_box, **options)


def test_the_first_state_is_accepted_whatever_the_threshold():
    for threshold in (0.0, 1.0, 1e6, np.inf):
        _, accepted = noisy_climb(threshold=threshold)
        assert accepted[0]


def test_every_state_is_accepted_if_the_threshold_is_zero():
    _, accepted = noisy_climb(threshold=0.0)
    assert accepted.all()


def test_acceptance_measures_the_distance_to_the_last_accepted_state():
    for threshold in (0.05, 0.15, 0.4):
        states, accepted = noisy_climb(threshold=threshold)
        assert 1 < accepted.sum() < 200
        np.testing.assert_array_equal(accepted, accepted_by_hand(states, threshold))


def test_acceptance_by_hand_on_a_line():
    """Steps of 0.1 in two dimensions are 0.0707 by Algorithm 3's distance, three are 0.212."""
    _, accepted = along(np.zeros((7, 2), np.float32), ORIGIN, linear, threshold=0.2)
    assert accepted.tolist() == [True, False, False, True, False, False, True]


@pytest.mark.parametrize("most", [0, 5])
def test_no_more_than_max_accepted_are_accepted(most):
    states, accepted = noisy_climb(threshold=0.15, max_accepted=most)
    assert accepted.sum() == most
    np.testing.assert_array_equal(accepted, accepted_by_hand(states, 0.15, max_accepted=most))


def test_skipped_states_are_not_accepted_and_do_not_count_as_last():
    states, accepted = noisy_climb(threshold=0.15, skip=left_of_the_top)
    assert not accepted[0]
    assert accepted.sum() > 3
    np.testing.assert_array_equal(accepted, accepted_by_hand(states, 0.15, left_of_the_top))


def test_skipped_states_do_not_count_towards_max_accepted():
    states, accepted = noisy_climb(threshold=0.15, skip=left_of_the_top, max_accepted=3)
    assert accepted.sum() == 3
    np.testing.assert_array_equal(accepted, accepted_by_hand(states, 0.15, left_of_the_top, 3))
    all_states, _ = noisy_climb()
    np.testing.assert_array_equal(states, all_states)  # Acceptance does not change the path.


@pytest.mark.parametrize("constant", [0, 1])
def test_a_constant_variable_is_not_moved(constant):
    covariance = np.diag([0.5, 0.5]).astype(np.float32)
    covariance[constant, constant] = 0
    states, _ = climb(KEY, ORIGIN, hill, covariance=covariance)
    assert np.isfinite(states).all()
    np.testing.assert_array_equal(states[:, constant], np.zeros(100))
    assert (moves_of(states, ORIGIN)[:, 1 - constant] != 0).all()
    diagonal = draw_noise(KEY, covariance, 20, "diagonal", 0.1, 0.05)
    np.testing.assert_array_equal(diagonal[:, constant], np.zeros(20))
    assert (diagonal[:, 1 - constant] != 0).all()


def test_singular_covariances_stay_finite_and_in_their_range():
    line = np.array([[1.0, 2.0], [2.0, 4.0]], np.float32)
    states, _ = climb(KEY, ORIGIN, hill, covariance=line)
    assert np.isfinite(states).all()
    assert np.abs(states).max() > 0.5
    np.testing.assert_allclose(states[:, 1], 2 * states[:, 0], atol=1e-4)
    states, _ = climb(KEY, ORIGIN, hill, covariance=0 * line)
    np.testing.assert_array_equal(states, np.zeros((100, 2)))


def test_climbs_a_quadratic_to_near_its_top():
    start = np.array([2.0, -1.0], np.float32)
    states, _ = climb(KEY, start, hill, eta=0.0, covariance=np.eye(2, dtype=np.float32))
    # A step of length 0.1 that can't be shortened ends within 0.1 of the top.
    assert np.linalg.norm(states[-1] - TOP) <= 0.1 + 1e-6
    noisy, _ = climb(KEY, start, hill, eta=1e-4, covariance=np.eye(2, dtype=np.float32))
    assert np.linalg.norm(noisy[-1] - TOP) < 0.2
    assert (states != noisy).all()


def test_climbs_another_smooth_function_with_and_without_natural_gradient():
    def bump(obs):
        return jnp.sin(3 * obs[0]) - jnp.log(jnp.cosh(obs[1] - 1))

    highest = bump(np.array([np.pi / 6, 1]))
    start = np.array([0.1, -0.5], np.float32)
    for covariance in (np.eye(2, dtype=np.float32), SIGMA):
        states, _ = along(np.zeros((60, 2), np.float32), start, bump, covariance=covariance)
        assert bump(states[-1]) > highest - 0.1


@jax.jit
def last_of_a_climb(start, top):
    def hill_at_top(obs):
        return -jnp.sum((obs - top) ** 2)

    options = {"steps": 20, "noise": "none", "project": unit_box}
    return climbing.climb(KEY, start, hill_at_top, **options)[0][-1]


in_box = st.lists(st.floats(0, 1, width=32), min_size=2, max_size=2)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(start=in_box, top=in_box)
def test_the_end_is_higher_than_the_start(start, top):
    start, top = np.array(start, np.float32), np.array(top, np.float32)
    last = last_of_a_climb(start, top)
    before, after = np.linalg.norm(start - top), np.linalg.norm(last - top)
    assert after <= 0.1 + 1e-5  # 20 steps of 0.1 cross the box.
    if before > 0.2:
        assert after < before


def test_jit_equals_no_jit():
    noise = draw_noise(KEY, SIGMA, 20, "full", 0.1, 0.05)
    np.testing.assert_allclose(
        noise, climbing.draw_noise(KEY, jnp.array(SIGMA), 20, "full", 0.1, 0.05), atol=1e-6
    )

    def run():
        return along(noise[:3], ORIGIN, hill, project=unit_box, threshold=0.1)

    states, accepted = run()
    with jax.disable_jit():
        plain_states, plain_accepted = run()
    np.testing.assert_allclose(states, plain_states, atol=1e-5)
    np.testing.assert_array_equal(accepted, plain_accepted)


def test_vmap_equals_one_by_one():
    def run(key, start, threshold, eta):
        options = {"covariance": jnp.array(SIGMA), "threshold": threshold, "eta": eta}
        return climbing.climb(key, start, hill, **options)

    keys = jax.random.split(KEY, 4)
    starts = np.random.default_rng(1).uniform(size=(4, 2)).astype(np.float32)
    thresholds, etas = np.float32([0.0, 0.05, 0.1, 0.2]), np.float32([0.0, 0.01, 0.1, 0.5])
    states, accepted = jax.jit(jax.vmap(run))(keys, starts, thresholds, etas)
    states, accepted = np.asarray(states), np.asarray(accepted)
    one = jax.jit(run)
    for i in range(4):
        alone_states, alone_accepted = one(keys[i], starts[i], thresholds[i], etas[i])
        np.testing.assert_allclose(states[i], alone_states, atol=1e-5)
        np.testing.assert_array_equal(accepted[i], alone_accepted)


@pytest.mark.parametrize("noise", ["full", "diagonal", "none"])
def test_no_steps_give_empty_arrays(noise):
    states, accepted = climb(KEY, ORIGIN, hill, steps=0, noise=noise)
    assert (states.shape, states.dtype) == ((0, 2), jnp.float32)
    assert (accepted.shape, accepted.dtype) == ((0,), jnp.bool_)


@pytest.mark.parametrize("steps", [3, 6])
def test_the_number_of_steps_need_not_fit_the_unrolled_loop(steps):
    states, accepted = along(np.zeros((steps, 2), np.float32), ORIGIN, linear)
    assert accepted.shape == (steps,)
    expected = np.arange(1, steps + 1)[:, None] * np.array([0.06, -0.08])
    np.testing.assert_allclose(states, expected, rtol=1e-5)


def beyond(obs):
    """Steps of `linear` get here after the third."""
    return obs[0] > 0.17


def test_a_climb_that_meets_a_state_to_skip_starts_again_where_it_is_told():
    restarts = np.arange(12, dtype=np.float32).reshape(6, 2) / -10
    states, accepted = along(
        np.zeros((6, 2), np.float32), ORIGIN, linear, skip=beyond, restarts=restarts
    )
    step = np.array([0.06, -0.08])
    expected = [step, 2 * step, 3 * step, *(restarts[2] + n * step for n in (1, 2, 3))]
    np.testing.assert_allclose(states, expected, atol=1e-6)
    assert accepted.tolist() == [True, True, False, True, True, True]


def test_without_a_state_to_skip_nothing_restarts():
    noise, far = SOME_NOISE[:20], np.full((20, 2), 9, np.float32)
    one = along(noise, ORIGIN, hill, skip=lambda obs: obs[0] > 5)
    other = along(noise, ORIGIN, hill, skip=lambda obs: obs[0] > 5, restarts=far)
    for x, y in zip(one, other, strict=True):
        np.testing.assert_array_equal(x, y)


def test_the_first_state_may_be_too_near_the_start():
    """Steps of length 0.1 are 0.0707 apart by the distance of Algorithm 3."""
    still = np.zeros((4, 2), np.float32)
    _, accepted = along(still, ORIGIN, linear, threshold=0.1, accept_first=False)
    assert accepted.tolist() == [False, True, False, True]
    _, accepted = along(still, ORIGIN, linear, threshold=0.1)
    assert accepted.tolist() == [True, False, True, False]


def test_after_a_restart_the_distance_is_that_to_the_new_start():
    restarts = np.zeros((6, 2), np.float32)
    options = {"skip": beyond, "restarts": restarts, "threshold": 0.1}
    still = np.zeros((6, 2), np.float32)
    _, accepted = along(still, ORIGIN, linear, accept_first=False, **options)
    assert accepted.tolist() == [False, True, False, False, True, False]
    _, accepted = along(still, ORIGIN, linear, **options)
    assert accepted.tolist() == [True, False, False, True, False, False]
