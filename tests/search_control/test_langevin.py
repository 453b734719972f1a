"""The climb as Langevin's algorithm: in the long run its states have the density exp(V).

Distances are total variation between histograms, ½Σ|p − q|. That of the sampler is allowed 0.05: a
finite step leaves a bias (projecting onto a box leaves some states on its edge), and finite chains
leave noise.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna import HillClimbing, SettingsError, climb

TOLERANCE = 0.05
CHAINS, STEPS, BURN_IN = 300, 8_000, 3_000
BINS = 12
SIGMA = np.array([[1.0, 0.6], [0.6, 1.5]], np.float32)
PRECISION = np.linalg.inv(SIGMA).astype(np.float32)


def gaussian(obs):
    """A correlated Gaussian, with covariance SIGMA."""
    return -0.5 * obs @ PRECISION @ obs


def two_modes(obs):
    """Two Gaussians of width 0.4, one three times as heavy."""
    left = -jnp.sum((obs - jnp.array([-0.8, 0.0])) ** 2) / (2 * 0.4**2)
    right = -jnp.sum((obs - jnp.array([0.8, 0.0])) ** 2) / (2 * 0.4**2)
    return jnp.logaddexp(left + jnp.log(3.0), right)


def slope(obs):
    """A plane, which is a density only within its box."""
    return 3.0 * obs[0] - 2.0 * obs[1]


def round_hill(obs):
    """A standard Gaussian."""
    return -0.5 * jnp.sum(obs**2)


def anywhere(obs):
    return obs


def unit_box(obs):
    return jnp.clip(obs, 0.0, 1.0)


def histogram(states, low, high):
    """Shares [BINS²] of the box that states [n, 2] fall on, and of what lies outside."""
    counts, _, _ = np.histogram2d(*states.T, bins=BINS, range=[(low, high)] * 2)
    return np.append(counts.ravel(), len(states) - counts.sum()) / len(states)


def exact(log_density, low, high, fine=10):
    """The same of the density, by its values on a finer grid; nothing outside."""
    width = (high - low) / (BINS * fine)
    axis = low + width * (np.arange(BINS * fine) + 0.5)
    points = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).astype(np.float32)
    density = np.exp(np.asarray(jax.vmap(jax.vmap(log_density))(points), np.float64))
    cells = density.reshape(BINS, fine, BINS, fine).sum(axis=(1, 3)).ravel()
    return np.append(cells / cells.sum(), 0.0)


def distance(p, q):
    """Total variation."""
    return 0.5 * np.abs(p - q).sum()


def long_run(criterion, project=anywhere, **options):
    """States [n, 2] of many climbs from the middle of [0, 1]², the burn-in left out."""
    one = partial(climb, criterion=criterion, steps=STEPS, project=project, **options)
    keys = jax.random.split(jax.random.key(0), CHAINS)
    start = jnp.full((CHAINS, 2), 0.5)
    states, _ = jax.jit(jax.vmap(lambda key, s: one(key, s)))(keys, start)
    return np.asarray(states[:, BURN_IN:]).reshape(-1, 2)


LANGEVIN = {"noise": "langevin", "normalise": False}
CASES = {
    "Gaussian": (gaussian, anywhere, (-5.0, 5.0), {"step_size": 0.02, "covariance": SIGMA}),
    "two modes": (two_modes, anywhere, (-2.5, 2.5), {"step_size": 0.005}),
    "boxed": (slope, unit_box, (0.0, 1.0), {"step_size": 0.0002}),
}


@pytest.mark.parametrize("case", CASES)
def test_long_run_is_exp_v(case):
    criterion, project, box, options = CASES[case]
    states = long_run(criterion, project, **LANGEVIN, **options)
    off = distance(histogram(states, *box), exact(criterion, *box))
    assert off < TOLERANCE, f"total variation {off:.3f}"


@pytest.mark.parametrize("case", CASES)
def test_the_papers_normalised_step_has_another_limit(case):
    criterion, project, box, options = CASES[case]
    states = long_run(criterion, project, covariance=options.get("covariance"))
    off = distance(histogram(states, *box), exact(criterion, *box))
    assert off > 2 * TOLERANCE, f"total variation {off:.3f}"


@pytest.mark.parametrize("step_size", [0.1, 0.02])
def test_shorter_normalised_steps_do_not_help(step_size):
    """A drift of constant length is the gradient of −‖s‖: with noise to match, exp(−‖s‖)."""
    states = long_run(round_hill, step_size=step_size, eta=2 * step_size)
    found = histogram(states, -6.0, 6.0)
    assert distance(found, exact(round_hill, -6.0, 6.0)) > 4 * TOLERANCE
    assert distance(found, exact(lambda obs: -jnp.sqrt(jnp.sum(obs**2)), -6.0, 6.0)) < TOLERANCE


def test_its_noise_has_covariance_two_alpha_sigma():
    options = {"steps": 20_000, "step_size": 0.03, "covariance": jnp.asarray(SIGMA)}
    states, _ = climb(
        jax.random.key(0), jnp.zeros(2), lambda obs: 0.0 * obs[0], **options, **LANGEVIN
    )
    moves = np.diff(np.asarray(states), axis=0)
    np.testing.assert_allclose(np.cov(moves.T), 2 * 0.03 * SIGMA, atol=5 * 0.06 * 1.5 * 0.01)


def test_one_step_by_hand():
    """s + αΣ̂g + √(2α)Σ̂^½·z, with the same z that full noise of η = 1 would be made from."""
    options = {"steps": 1, "normalise": False, "step_size": 0.25, "covariance": jnp.asarray(SIGMA)}
    start, key = jnp.array([1.0, -1.0]), jax.random.key(3)
    z, _ = climb(key, start, lambda obs: 0.0 * obs[0], noise="full", eta=1.0, **options)
    found, _ = climb(key, start, gaussian, noise="langevin", eta=77.0, **options)
    expected = start + 0.25 * SIGMA @ (-PRECISION @ start) + np.sqrt(0.5) * (z[0] - start)
    np.testing.assert_allclose(found[0], expected, atol=1e-5)


def test_langevin_noise_needs_a_plain_step():
    with pytest.raises(SettingsError, match="normalise=False"):
        HillClimbing(noise="langevin")
    with pytest.raises(SettingsError, match="normalise=False"):
        climb(jax.random.key(0), jnp.zeros(2), round_hill, noise="langevin")
    HillClimbing(noise="langevin", normalise=False, step_size=1e-3)
