"""The climb on the TD error: its criterion by hand, its direction, and its restarts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna import HillClimbing, SettingsError, TabularGridWorld, TDError
from hcdyna.search_control.td_error import LogTDError
from one_state import ENV, PLAIN_STEP, scene_at

KEY = jax.random.key(0)
START = np.array([0.5, 0.25], np.float32)


def bowl(obs):
    """V(0.5, 0.25) = −0.3125, and its gradient there is (−1, −0.5)."""
    return -jnp.sum(jnp.square(obs))


def target(obs):
    """V′(0.6, 0.25) = 1.8."""
    return 3.0 * obs[0]


def queued_after_one_update(strategy, scene):
    built = strategy.build(ENV)
    state, info = built.update(KEY, built.init(scene.transition.obs), scene)
    return np.asarray(state.queue.data[: int(state.queue.size)]), info


@pytest.mark.parametrize(("terminated", "goal"), [(False, -1 + 0.99 * 1.8), (True, -1.0)])
def test_its_value_and_its_slope(terminated, goal):
    """ŷ depends on s through s′ = s + (0.1, 0), and that must not show in the slope."""
    scene = scene_at(START, bowl, terminated, target)
    error = goal + 0.3125
    value, slope = jax.value_and_grad(LogTDError(KEY, scene))(jnp.asarray(START))
    assert value == pytest.approx(np.log(abs(error) + 1e-5), abs=1e-5)
    held = np.sign(error) * np.array([1.0, 0.5]) / (abs(error) + 1e-5)
    np.testing.assert_allclose(slope, held, rtol=1e-4)


def test_without_a_target_network_values_bootstrap_themselves():
    scene = scene_at(START, bowl)
    error = -1 - 0.99 * (0.6**2 + 0.25**2) + 0.3125
    assert LogTDError(KEY, scene)(jnp.asarray(START)) == pytest.approx(
        np.log(-error + 1e-5), abs=1e-5
    )


def test_a_step_goes_where_the_error_grows():
    states, _ = queued_after_one_update(TDError(PLAIN_STEP), scene_at(START, bowl, target=target))
    error = -1 + 0.99 * 1.8 + 0.3125
    expected = START + 0.01 * np.array([1.0, 0.5]) / (error + 1e-5)
    np.testing.assert_allclose(states, expected[None], rtol=1e-5)


def test_what_leaves_the_box_restarts_from_replay():
    scene = scene_at(START, lambda obs: 1000.0 * obs[0])
    far = {"steps": 5, "noise": "none", "step_size": 1e6, "natural_gradient": False}
    climbing = HillClimbing(normalise=False, queue_size=10, **far)
    states, info = queued_after_one_update(TDError(climbing), scene)
    np.testing.assert_array_equal(np.unique(states, axis=0), START[None])
    assert info["hit_edge"] == 0.0
    projected, info = queued_after_one_update(climbing, scene)
    assert projected[0, 0] == ENV.spec.high[0], "Π would leave it on the edge"


def test_refusals():
    with pytest.raises(SettingsError, match="td_error: TabularGridWorld has discrete states"):
        TDError().build(TabularGridWorld().build())
    with pytest.raises(SettingsError, match=r"TDError\.climbing = 3: must be given"):
        TDError(climbing=3)
