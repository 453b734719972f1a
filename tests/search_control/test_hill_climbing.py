"""Drift, noise and restarts as options of HC-Dyna's climb."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna import DQN, HillClimbing, SettingsError
from hcdyna.dyna import build, scene_of
from hcdyna.search_control import moments
from hcdyna.search_control.hill_climbing import Visited
from hcdyna.settings import Settings, Training, presets
from hcdyna.types import Transition

SIGMA = np.array([[0.04, 0.0], [0.0, 0.0004]], np.float32)
STEPS = 400
PLAIN = {"steps": STEPS, "step_size": 0.0}


def visited():
    seen = moments.Moments(jnp.int32(9), jnp.zeros(2), jnp.zeros(2), jnp.asarray(SIGMA))
    return Visited(seen, moments.MeanMove(jnp.int32(9), jnp.float32(0.0)))


def moves(**options):
    """Differences between the states of a climb in the middle of a wide box, without drift."""
    strategy = HillClimbing(**(PLAIN | options))
    env, dyna = build(Settings(environment="GridWorld", training=Training(replay_size=32)))
    env = env._replace(project=lambda obs: obs)
    state = dyna.init(jax.random.key(0))
    obs = jnp.full(2, 0.5)
    step = Transition(obs, jnp.int32(0), jnp.float32(-1), jnp.float32(0.99), obs)
    replay = state.replay._replace(
        data=jax.tree.map(lambda x, y: x.at[0].set(y), state.replay.data, step), total=jnp.int32(1)
    )
    state = state._replace(replay=replay)
    agent = DQN().build(env.spec)
    model = Settings().model.build(env)
    scene = scene_of(env, agent, model, Training(), state, step)
    states, _, _ = jax.jit(lambda key: strategy._propose(key, visited(), scene))(jax.random.key(1))
    return np.diff(np.concatenate([obs[None], states]), axis=0)


@pytest.mark.parametrize(
    ("options", "deviation"),
    [
        ({}, np.sqrt(0.1 * np.diag(SIGMA))),
        ({"natural_gradient": False}, np.sqrt([0.1, 0.1])),
        (
            {"natural_gradient": False, "noise_covariance": "visited"},
            np.sqrt(0.1 * np.diag(SIGMA)),
        ),
        ({"noise_covariance": "identity"}, np.sqrt([0.1, 0.1])),
        ({"noise_covariance": "identity", "noise": "diagonal"}, [0.05, 0.05]),
    ],
)
def test_the_covariance_of_the_noise_is_a_choice_of_its_own(options, deviation):
    np.testing.assert_allclose(moves(**options).std(axis=0), deviation, rtol=0.12)


def test_a_regular_drift_has_the_noise_of_the_natural_one_number_by_number():
    regular = {"natural_gradient": False, "noise_covariance": "visited"}
    np.testing.assert_array_equal(moves(**regular), moves())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"restart": True}, "restart = True: needs skip_terminal"),
        (
            {"noise": "langevin", "normalise": False, "noise_covariance": "identity"},
            "has the covariance of the drift",
        ),
        ({"noise_covariance": "both"}, "must be one of drift, visited, identity"),
    ],
)
def test_choices_that_exclude_each_other(options, said):
    with pytest.raises(SettingsError, match=said):
        HillClimbing(**options)


def test_the_queue_of_a_climb_that_restarts_has_no_terminal_states():
    """From a state next to the goal, with large steps: nearly every climb gets there."""
    settings = Settings(
        environment="MountainCar",
        search_control=HillClimbing(
            steps=50, step_size=0.3, queue_size=500, skip_terminal=True, restart=True
        ),
        training=Training(planning_steps=1, batch_size=4, replay_size=8),
    )
    env, dyna = build(settings)
    obs = jnp.array([0.45, 0.03])
    step = Transition(obs, jnp.int32(2), jnp.float32(-1), jnp.float32(0.99), obs + 0.001)
    state = dyna.init(jax.random.key(0))
    learn = jax.jit(dyna.learn)
    for seed in range(5):
        state, _ = learn(jax.random.key(seed), state, step)
    queue = state.search_control.queue
    states = np.asarray(queue.data)[: int(queue.total)]
    assert len(states) > 20
    assert not np.asarray(jax.vmap(env.terminal)(states)).any()


@pytest.mark.parametrize("domain", ["GridWorld", "MountainCar", "CartPole", "Acrobot"])
def test_the_authors_preset(domain):
    """Their code knows terminal states on all domains but GridWorld, where Σ̂ = I too."""
    found = presets.settings("authors", domain, model="learned")
    known = domain != "GridWorld"
    assert found.search_control == HillClimbing(
        steps=200,
        noise="diagonal",
        noisy_start=True,
        threshold="average",
        max_accepted=20,
        accept_first=False,
        natural_gradient=known,
        skip_terminal=known,
        restart=known,
    )
    assert found.model.ends == ("known" if known else "learned")
    assert found.agent.output_scale == 0.003
    assert presets.settings("paper", domain).search_control == HillClimbing()
    assert presets.settings("paper", domain).agent == DQN()
