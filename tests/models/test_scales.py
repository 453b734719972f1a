"""Running scales against NumPy's mean and standard deviation of all rows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna.models import scales

after = jax.jit(
    lambda rows: jax.lax.scan(
        lambda now, row: (scales.update(now, row), None), scales.init(rows.shape[1]), rows
    )[0]
)


def some_rows(n=2_000):
    """Six numbers, of which two lie far from zero and two never change."""
    noise = np.random.default_rng(0).normal(size=(n, 6))
    size, offset = [1.0, 1e-4, 300.0, 5.0, 0.0, 0.0], [0.0, 1e-2, -7.0, 1e6, 1e6, 0.0]
    return (noise * size + offset).astype(np.float32)


@pytest.mark.parametrize("n", [2, 3, 2_000])
def test_mean_and_deviation_are_those_of_all_rows(n):
    rows = some_rows(n)
    found, exact = after(rows), rows.astype(np.float64)
    assert found.seen == n
    off = np.abs(found.mean - exact.mean(0))
    assert np.all(off <= 1e-5 * exact.std(0) + 1e-7 * np.abs(exact.mean(0)))
    np.testing.assert_allclose(found.deviation[:4], exact.std(0)[:4], rtol=2e-3)
    np.testing.assert_array_equal(found.deviation[4:], 1.0)


def test_rows_become_normal_and_come_back():
    rows = some_rows()
    found = after(rows)
    normal = found.normal(rows)
    np.testing.assert_allclose(np.mean(normal[:, :3], 0), 0, atol=1e-4)
    np.testing.assert_allclose(np.std(normal[:, :4], 0), 1, rtol=2e-3)
    np.testing.assert_allclose(normal[:, 4:], 0)
    np.testing.assert_allclose(found.original(normal), rows, rtol=1e-6, atol=1e-4)
    part = found.part(1, 3)
    np.testing.assert_array_equal(part.normal(rows[:, 1:3]), normal[:, 1:3])


def test_before_the_first_row_and_after_it_nothing_is_scaled():
    row = jnp.array([3.0, -2.0])
    np.testing.assert_array_equal(scales.init(2).normal(row), row)
    one = scales.update(scales.init(2), row)
    np.testing.assert_array_equal(one.mean, row)
    np.testing.assert_array_equal(one.deviation, 1.0)


def test_noise_of_rounding_is_no_deviation():
    """0.1 · 3 and 0.3 differ in the last bit: that must not be blown up to a deviation of 1."""
    rows = np.full((100, 1), 0.3, np.float32)
    rows[::2] = np.nextafter(np.float32(0.3), np.float32(1))
    assert after(rows).deviation[0] == 1.0
    assert abs(after(rows).normal(rows)).max() < 1e-6
