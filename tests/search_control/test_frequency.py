"""The climb on how fast values vary: its criterion by hand, its direction, and where it starts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna import DQN, Frequency, SettingsError, TabularGridWorld
from hcdyna.numerics import ring
from hcdyna.search_control.frequency import frequency
from one_state import ENV, UNIT_STEP, scene_at

REPLAYED = np.array([0.2, 0.1], np.float32)
QUEUED = np.array([0.5, 0.25], np.float32)
SLOPE_AT_REPLAYED = np.array([0.32, 0.4])  # of V: 3x² + 2y, 2x
SLOPE_AT_QUEUED = np.array([47.5, 5.0])  # of the criterion
UPDATES = 400


def cubic(obs):
    """∇V = (3x² + 2y, 2x) and ∇²V = ((6x, 2), (2, 0))."""
    return obs[0] ** 3 + 2.0 * obs[0] * obs[1]


def a_step_along(start, slope):
    return start + 0.01 * slope / np.linalg.norm(slope)


def test_its_value_and_its_slope():
    """At (½, ¼): ‖∇V‖² = 1.25² + 1 and ‖∇²V‖² = 36/4 + 8."""
    value, slope = jax.value_and_grad(frequency(cubic))(jnp.asarray(QUEUED))
    assert value == pytest.approx(1.25**2 + 1.0 + 17.0)
    np.testing.assert_allclose(slope, SLOPE_AT_QUEUED, rtol=1e-5)


def first_steps(queue_states):
    """The one state of each of many climbs, [updates, d]."""
    built, scene = Frequency(UNIT_STEP).build(ENV), scene_at(REPLAYED, cubic)
    state = built.init(scene.transition.obs)
    if len(queue_states):
        keep = jnp.ones(len(queue_states), bool)
        state = state._replace(queue=ring.extend(state.queue, queue_states, keep))
    keys = jax.random.split(jax.random.key(0), UPDATES)
    after, _ = jax.jit(jax.vmap(lambda key: built.update(key, state, scene)))(keys)
    return np.asarray(after.queue.data[:, len(queue_states)])


def share(states, expected):
    return np.mean(np.all(np.isclose(states, expected, atol=1e-5), axis=1))


def test_half_of_the_climbs_are_on_the_value_from_replay():
    states = first_steps(jnp.asarray(QUEUED[None]))
    on_value = share(states, a_step_along(REPLAYED, SLOPE_AT_REPLAYED))
    on_frequency = share(states, a_step_along(QUEUED, SLOPE_AT_QUEUED))
    assert on_value + on_frequency == 1.0
    assert abs(on_value - 0.5) < 5 * np.sqrt(0.25 / UPDATES)


def test_with_an_empty_queue_both_start_from_replay():
    states = first_steps(jnp.zeros((0, 2)))
    slope = np.asarray(jax.grad(frequency(cubic))(jnp.asarray(REPLAYED)))
    on_value = share(states, a_step_along(REPLAYED, SLOPE_AT_REPLAYED))
    on_frequency = share(states, a_step_along(REPLAYED, slope))
    assert on_value + on_frequency == 1.0
    assert 0 < on_value < 1


@pytest.mark.parametrize(("activation", "flat"), [("relu", True), ("tanh", False)])
def test_relu_leaves_nothing_to_climb(activation, flat):
    agent = DQN(activation=activation).build(ENV.spec)
    state = agent.init(jax.random.key(0))
    slope = jax.grad(frequency(lambda obs: agent.value(state, obs)))(jnp.asarray(QUEUED))
    assert np.all(slope == 0) == flat


def test_refusals():
    with pytest.raises(SettingsError, match="frequency: TabularGridWorld has discrete states"):
        Frequency().build(TabularGridWorld().build())
    with pytest.raises(SettingsError, match=r"Frequency\.climbing = 3: must be given"):
        Frequency(climbing=3)
