"""Properties of Π in every environment."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hcdyna.settings import registry

NAMES = sorted(set(registry.available("environments")) - {"hosted"})  # tests/hosted
CONTINUOUS = [name for name in NAMES if name != "TabularGridWorld"]


@functools.cache
def build(name):
    return registry.lookup("environments", name)().build()


@functools.cache
def projection(name):
    """Π of a named environment, compiled once."""
    return jax.jit(build(name).project)


def project(name, obs):
    spec = build(name).spec
    return np.asarray(projection(name)(jnp.asarray(np.array(obs, spec.low.dtype))))


def numbers_for(name):
    """Values for one variable of an environment's observation, far outside the box included."""
    if build(name).spec.num_states is not None:
        return st.integers(-(2**31), 2**31 - 1)
    return st.one_of(
        st.floats(-50, 50, width=32),
        st.floats(-2, 2, width=32),
        st.floats(allow_nan=False, width=32),
    )


def any_obs(name):
    shape = build(name).spec.low.shape
    if shape == ():
        return numbers_for(name)
    return st.lists(numbers_for(name), min_size=shape[0], max_size=shape[0])


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=100, deadline=None, derandomize=True)
@given(data=st.data())
def test_projection_lands_inside_the_box_and_is_idempotent(name, data):
    spec = build(name).spec
    once = project(name, data.draw(any_obs(name)))
    assert once.shape == spec.low.shape
    assert once.dtype == spec.low.dtype
    assert (once >= spec.low).all()
    assert (once <= spec.high).all()
    np.testing.assert_allclose(project(name, once), once, atol=1e-6, rtol=0)


@pytest.mark.parametrize("name", [name for name in CONTINUOUS if name != "Acrobot"])
@settings(max_examples=50, deadline=None, derandomize=True)
@given(data=st.data())
def test_projection_on_a_box_moves_only_what_lies_outside(name, data):
    spec = build(name).spec
    obs = np.array(data.draw(any_obs(name)), np.float32)
    expected = np.where(obs < spec.low, spec.low, np.where(obs > spec.high, spec.high, obs))
    # XLA takes subnormal numbers for zero.
    np.testing.assert_allclose(project(name, obs), expected, rtol=0, atol=1e-37)


def rollout(name, agents=16, steps=600):
    """States [agents, steps, …] that random actions lead to, and Π of each.

    An episode that has terminated starts anew.
    """
    env = build(name)
    rng = np.random.default_rng(0)
    keys = jax.random.split(jax.random.key(0), (agents, steps, 2))
    if env.spec.action_size is None:
        actions = rng.integers(env.spec.num_actions, size=(agents, steps), dtype=np.int32)
    else:
        actions = rng.uniform(-1, 1, (agents, steps, env.spec.action_size)).astype(np.float32)

    def step(obs, keys_and_action):
        (step_key, reset_key), action = keys_and_action
        reached, _, terminated = env.dynamics(step_key, obs, action)
        obs = jnp.where(terminated, env.reset(reset_key), reached)
        return obs, (reached, env.project(reached))

    def run(keys, actions):
        return jax.lax.scan(step, env.reset(jax.random.key(1)), (keys, actions))[1]

    return jax.jit(jax.vmap(run))(keys, actions)


@pytest.mark.parametrize("name", NAMES)
def test_reachable_states_are_left_alone(name):
    states, projected = map(np.asarray, rollout(name))
    assert len(np.unique(states.reshape(-1, *build(name).spec.low.shape), axis=0)) > 100
    np.testing.assert_allclose(projected, states, atol=1e-6, rtol=0)


def test_cart_pole_velocities_are_cut_at_ten():
    projected = project("CartPole", [1, 12, 0.1, -30])
    np.testing.assert_array_equal(projected, np.float32([1, 10, 0.1, -10]))


coordinates = st.one_of(st.floats(-2, 2, width=32), st.floats(allow_nan=False, width=32))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(pairs=st.lists(coordinates, min_size=4, max_size=4))
@example(pairs=[0.0, 0.0, 0.0, 0.0])
@example(pairs=[3e38, -3e38, float("inf"), 0.0])
@example(pairs=[1e-22, 1e-22, 0.0, 1e-22])
@example(pairs=[1.09e-19, 1.08e-19, 1.0, 1.0])  # One square is a normal number, the other is not.
@example(pairs=[1e-30, 0.0, 0.0, -1e-40])
def test_acrobot_pairs_have_unit_length(pairs):
    projected = project("Acrobot", [*pairs, 0.0, 0.0])
    assert np.isfinite(projected).all()
    np.testing.assert_allclose(np.linalg.norm(projected[:4].reshape(2, 2), axis=1), 1, atol=1e-6)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    angle=st.floats(-3.1, 3.1),
    length=st.floats(2.0**-10, 1.0),
    speeds=st.lists(st.floats(-12, 12, width=32), min_size=2, max_size=2),
)
def test_acrobot_projection_keeps_angles_and_speeds(angle, length, speeds):
    pair = [length * np.cos(angle), length * np.sin(angle)]
    projected = project("Acrobot", [*pair, *pair, *speeds])
    unit = [np.cos(angle), np.sin(angle)]
    np.testing.assert_allclose(projected, [*unit, *unit, *speeds], atol=1e-6)


def test_acrobot_pair_without_direction_becomes_angle_zero():
    obs = [0, 0, 0.6, 0.8, 100, -100]
    expected = [1, 0, 0.6, 0.8, 4 * np.pi, -9 * np.pi]
    np.testing.assert_allclose(project("Acrobot", obs), expected, rtol=1e-6)
