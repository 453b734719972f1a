"""Running mean and covariance, the root of a covariance, and the mean move."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hcdyna.search_control import moments

root = jax.jit(moments.root)


@jax.jit
def seen(samples):
    """The statistics after a stream of samples [n, d]."""
    return jax.lax.scan(
        lambda m, obs: (moments.update(m, obs), None), moments.init(samples[0]), samples
    )[0]


def mean_and_covariance(samples):
    """Ours, in float64, so that comparing adds no rounding."""
    after = seen(jnp.asarray(samples, jnp.float32))
    assert int(after.seen) == len(samples)
    mean = np.asarray(after.origin, np.float64) + np.asarray(after.mean, np.float64)
    return mean, np.asarray(moments.covariance(after), np.float64)


def exact(samples):
    """The same from the rounded samples, in float64."""
    rounded = np.asarray(samples, np.float32).astype(np.float64)
    return rounded.mean(axis=0), np.cov(rounded.T, bias=True).reshape(2 * rounded.shape[1:])


def assert_semi_definite(covariance):
    assert np.isfinite(covariance).all()
    np.testing.assert_array_equal(covariance, covariance.T)
    assert np.linalg.eigvalsh(covariance).min() >= -1e-6 * np.trace(covariance)


def assert_matches(samples, tolerance):
    """Error relative to the deviations of the variables; and Σ̂ is semi-definite."""
    mean, covariance = mean_and_covariance(samples)
    expected_mean, expected = exact(samples)
    deviations = np.sqrt(np.diag(expected))
    assert (np.abs(mean - expected_mean) <= tolerance * deviations).all()
    assert (np.abs(covariance - expected) <= tolerance * np.outer(deviations, deviations)).all()
    assert_semi_definite(covariance)


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def correlated(n, d, seed=0):
    """Random samples [n, d] with correlated variables."""
    return normal(n, d, seed=seed) @ normal(d, d, seed=seed + 1) + normal(d, seed=seed + 2)


def test_matches_numpy_on_random_data():
    for n, d in ((2, 3), (10, 1), (3_000, 3)):
        assert_matches(correlated(n, d), 1e-4)


def test_two_samples_by_hand():
    mean, covariance = mean_and_covariance([[0.0, 1.0], [2.0, 5.0]])
    np.testing.assert_allclose(mean, [1, 3])
    np.testing.assert_allclose(covariance, [[1, 2], [2, 4]])


def test_covariance_is_the_identity_until_two_states_are_seen():
    start = moments.init(jnp.zeros(3))
    np.testing.assert_array_equal(moments.covariance(start), np.eye(3))
    one = moments.update(start, jnp.array([1e6, -3.0, 0.5]))
    np.testing.assert_array_equal(moments.covariance(one), np.eye(3))
    two = moments.update(one, jnp.array([1e6, -3.0, 0.5]))
    np.testing.assert_array_equal(moments.covariance(two), np.zeros((3, 3)))


def test_a_constant_variable_has_variance_exactly_zero():
    samples = correlated(3_000, 3)
    samples[:, 1] = 0.1  # Not a binary fraction.
    mean, covariance = mean_and_covariance(samples)
    assert mean[1] == np.float32(0.1)
    np.testing.assert_array_equal(covariance[1], 0)
    assert_matches(samples, 1e-4)


def test_perfectly_correlated_variables_stay_semi_definite():
    x = normal(3_000)
    assert_matches(np.stack([x, 2 * x, -0.3 * x + 5], axis=1), 1e-4)
    assert_matches(np.stack([x, x, x], axis=1), 1e-4)


def test_large_values_with_a_small_spread():
    """μ_ss − μ_s μ_sᵀ as printed has no right digit here: float32 has 0.06 between numbers."""
    spreads = np.array([0.1, 1.0, 10.0])
    assert_matches(1e6 + normal(3_000, 3) * spreads, 1e-3)
    assert_matches(-1e6 + correlated(3_000, 3), 1e-3)


def test_variables_of_different_scales():
    """Position and velocity of MountainCar, and a variable that hardly varies."""
    deviations = np.sqrt([0.1, 1e-4, 1e-12])
    assert_matches(normal(3_000, 3) * deviations, 1e-4)


def test_long_stream():
    assert_matches(correlated(20_000, 3), 1e-3)


def test_long_stream_whose_first_state_is_far_from_the_rest():
    samples = correlated(20_000, 3)
    samples[0] = 100.0
    assert_matches(samples, 1e-3)


def test_long_stream_that_drifts_like_a_random_walk():
    assert_matches(np.cumsum(normal(20_000, 3), axis=0), 1e-3)


def test_statistics_of_several_agents_are_kept_apart_by_vmap():
    streams = np.stack([correlated(3_000, 3, seed) for seed in range(3)]).astype(np.float32)
    together = jax.vmap(seen)(streams)
    for i, stream in enumerate(streams):
        np.testing.assert_allclose(together.covariance[i], seen(stream).covariance, atol=1e-5)


def assert_root(matrix, tolerance):
    """L is lower triangular and finite, and L Lᵀ gives the matrix, relative to its diagonal."""
    lower = np.asarray(root(jnp.asarray(matrix, jnp.float32)), np.float64)
    assert np.isfinite(lower).all()
    np.testing.assert_array_equal(lower, np.tril(lower))
    deviations = np.sqrt(np.diag(matrix))
    error = np.abs(lower @ lower.T - matrix)
    assert (error <= tolerance * np.outer(deviations, deviations)).all()


@st.composite
def factors(draw):
    """A [d, r] of small whole numbers, so that A Aᵀ is exact in float32; singular if r < d."""
    d, r = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    row = st.lists(st.integers(-9, 9), min_size=r, max_size=r)
    return np.array(draw(st.lists(row, min_size=d, max_size=d)), np.float64)


SINGULAR = 6e-3
"""A pivot below 1e-6 of its variance counts as zero. The column that is then left out is smaller
than √1e-6 of the deviations (Cauchy–Schwarz), and there are at most 6."""


@settings(max_examples=200, deadline=None, derandomize=True)
@given(factors())
def test_root_of_any_semi_definite_matrix(factor):
    assert_root(factor @ factor.T, SINGULAR)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(factors(), st.lists(st.integers(-20, 20), min_size=6, max_size=6))
def test_root_does_not_depend_on_the_units_of_the_variables(factor, exponents):
    scale = 2.0 ** np.array(exponents[: len(factor)])
    assert_root((scale[:, None] * factor) @ (scale[:, None] * factor).T, SINGULAR)


def test_root_equals_cholesky_of_a_definite_matrix():
    for d in range(1, 7):
        factor = normal(d, d)
        matrix = factor @ factor.T + np.eye(d)
        np.testing.assert_allclose(
            root(jnp.asarray(matrix, jnp.float32)), np.linalg.cholesky(matrix), atol=1e-5
        )


def test_root_of_zero_is_zero():
    for d in (1, 2, 6):
        np.testing.assert_array_equal(root(jnp.zeros((d, d))), np.zeros((d, d)))


def test_root_with_differing_scales():
    variances = np.array([0.1, 1e-4, 1e-12])
    assert_root(np.diag(variances), 1e-6)
    correlation = np.array([[1, 0.5, -0.8], [0.5, 1, 0.0], [-0.8, 0.0, 1]])
    deviations = np.sqrt(variances)
    assert_root(correlation * np.outer(deviations, deviations), 1e-5)


def test_root_with_a_constant_variable_in_any_place():
    factor = normal(3, 3)
    for constant in range(3):
        matrix = factor @ factor.T
        matrix[constant, :] = matrix[:, constant] = 0
        assert_root(matrix, 1e-5)
        np.testing.assert_array_equal(root(jnp.asarray(matrix, jnp.float32))[constant], 0)


def test_root_of_a_covariance_as_it_is_learned():
    """Singular up to float32 rounding: a constant, a copy and a sum of other variables."""
    x, y = normal(2, 3_000)
    samples = np.stack([x, np.full(3_000, 7.0), x, y, x + y], axis=1)
    for n in (2, 3, 3_000):
        _, covariance = mean_and_covariance(samples[:n])
        assert_root(covariance, SINGULAR)


def test_root_where_a_small_pivot_is_mostly_rounding():
    """Semi-definite and exact in float32, yet a variable is left with 1e-6 of its variance.

    Dividing by such a pivot must not give the variables below more variance than they have.
    """
    four = [[142, 124, 61, 55], [124, 125, 25, 55], [61, 25, 74, 12], [55, 55, 12, 86]]
    six = [
        [158, 24, 36, -18, -111, -76],
        [24, 143, 117, 110, 64, 72],
        [36, 117, 101, 102, 32, 50],
        [-18, 110, 102, 172, 60, 100],
        [-111, 64, 32, 60, 172, 146],
        [-76, 72, 50, 100, 146, 244],
    ]
    for matrix in (four, six):
        assert np.linalg.eigvalsh(matrix).min() > -1e-12
        assert_root(np.array(matrix, np.float64), SINGULAR)


def test_root_with_a_variable_that_nearly_depends_on_others():
    x, y = normal(2, 3_000)
    for share in (1e-3, 1.2e-3, 2e-3, 5e-3):
        _, covariance = mean_and_covariance(np.stack([x, x + share * y, y], axis=1))
        assert_root(covariance, SINGULAR)


def move_after(distances, beta):
    move = moments.init_move()
    for distance in distances:
        move = moments.update_move(move, jnp.float32(distance), beta)
    assert int(move.seen) == len(distances)
    return float(move.average)


def test_mean_move_as_a_moving_average_from_zero():
    assert move_after([], 0.001) == 0
    np.testing.assert_allclose(move_after([2.0], 0.001), 0.002, rtol=1e-6)
    # 0.999·0.002 + 0.001·1, then 0.999·0.002998 + 0.001·5.
    np.testing.assert_allclose(move_after([2.0, 1.0], 0.001), 0.002998, rtol=1e-6)
    np.testing.assert_allclose(move_after([2.0, 1.0, 5.0], 0.001), 0.007995002, rtol=1e-6)


def test_mean_move_as_a_plain_average():
    assert move_after([], None) == 0
    np.testing.assert_allclose(move_after([2.0], None), 2, rtol=1e-6)
    np.testing.assert_allclose(move_after([2.0, 1.0, 6.0, 1.0], None), 2.5, rtol=1e-6)


def test_distance_is_divided_by_the_root_of_the_dimension():
    a, b = jnp.array([1.0, 2.0, 3.0, 4.0]), jnp.array([1.0, 5.0, 3.0, 8.0])
    np.testing.assert_allclose(moments.distance(a, b), 5 / 2, rtol=1e-6)
    assert moments.distance(a, a) == 0
    assert moments.distance(a, jnp.full(4, jnp.inf)) == jnp.inf
