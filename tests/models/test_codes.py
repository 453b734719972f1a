"""Where observations are codes, planning does not start between them."""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna import DDPG, DQN, LearnedModel, Settings, Training, train
from hcdyna.models import codes
from hcdyna.planning import complete, draw_mini_batches
from hcdyna.planning.budget import budget_of
from hcdyna.search_control.base import drawn
from hcdyna.testing import some_replay
from hcdyna.types import Box, Environment, Outcome, Scene, Spec

KEY = jax.random.key(4)


def after(*observations):
    values = codes.init(len(observations[0]))
    for obs in observations:
        values = codes.update(values, jnp.asarray(obs, jnp.float32))
    return values


@pytest.mark.parametrize(
    ("seen", "obs", "possible"),
    [
        ([[0, 1], [1, 0]], [0, 1], True),
        ([[0, 1], [1, 0]], [0.5, 0.5], False),
        ([[0, 1], [1, 0]], [0.004, 1], True),
        ([[-3, 5], [2, 5]], [2, 5], True),
        ([[-3, 5], [2, 5]], [2, 9], True),
        ([[-3, 5], [2, 5]], [0, 5], False),
        ([[0, 1], [1, 0], [0.5, 2]], [0.25, 0.5], True),
        ([[0, 1, 0.1], [1, 0, 0.2], [1, 1, 0.3]], [0, 0, 0.7], True),
        ([[0, 1, 0.1], [1, 0, 0.2], [1, 1, 0.3]], [0, 0.5, 0.1], False),
        ([[0, 0.4, 0.1], [1, 0.3, 0.2], [1, 0.2, 0.3]], [0.5, 0, 0], True),
        ([[0, 1]], [0.5, 0.5], True),
    ],
    ids=[
        "a code",
        "between codes",
        "as near as rounding",
        "one of two values",
        "what never varied says nothing",
        "between two values",
        "more than two values",
        "codes and a measurement",
        "between codes beside a measurement",
        "a flag among measurements",
        "nothing varied yet",
    ],
)
def test_which_states_can_be(seen, obs, possible):
    assert bool(codes.can_be(after(*seen), jnp.asarray(obs, jnp.float32))) is possible


@dataclass(frozen=True)
class Path:
    """One-hot codes of the places of a path, at whose end an episode ends."""

    places: int = 12
    continuous: bool = False

    def build(self):
        low, high = np.zeros(self.places, np.float32), np.ones(self.places, np.float32)
        if self.continuous:
            spec = Spec("Path", low, high, 0.9, 50, action_size=1)
        else:
            spec = Spec("Path", low, high, 0.9, 50, num_actions=2)

        def terminal(obs):
            return obs[-1] > 0.5

        def dynamics(key, obs, action):
            forward = (action[0] > 0) if self.continuous else (action == 1)
            place = jnp.clip(jnp.argmax(obs) + jnp.where(forward, 1, -1), 0, self.places - 1)
            found = jax.nn.one_hot(place, self.places)
            return Outcome(found, jnp.float32(-1.0), terminal(found))

        def reset(key):
            return jax.nn.one_hot(0, self.places)

        return Environment(spec, reset, dynamics, Box(low, high), terminal)


KINDS = {
    "discrete": (Path(4), DQN(hidden=(6,))),
    "continuous": (Path(4, continuous=True), DDPG(hidden=(6,))),
}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_from_states_that_can_not_be_are_replayed(kind):
    environment, agent_settings = KINDS[kind]
    env = environment.build()
    agent, model = agent_settings.build(env.spec), LearnedModel(hidden=(4,)).build(env)
    state = model.init(KEY)._replace(values=after(*np.eye(4)))
    replay = some_replay(env)
    replay = replay._replace(data=replay.data._replace(reward=jnp.full(32, -7.0)))  # tells replay
    scene = Scene(
        env=env,
        value=None,
        predict=lambda key, obs, action: model.predict(key, state, obs, action),
        replay=replay,
        transition=None,
        can_be=partial(model.can_be, state),
    )
    every_other = jnp.asarray([[0.0, 1, 0, 0], [0, 0.5, 0.5, 0]])
    strategy = drawn(lambda key, scene, n: every_other[jnp.arange(n) % 2])
    budget = budget_of(Training(planning_steps=1, batch_size=8, mixing_rate=0.5))
    batches = draw_mini_batches(KEY, strategy, (), scene, budget, 0.1)
    rows, _, _ = complete(agent, agent.init(KEY), jax.tree.map(lambda x: x[0], batches), scene)
    np.testing.assert_array_equal(rows.reward[:4] == -7.0, [False, True, False, True])
    np.testing.assert_array_equal(rows.obs[0], every_other[0])
    assert (rows.reward[4:] == -7.0).all()


def trained(search_control, **options):
    return train(
        Settings(
            environment=Path(),
            agent=DQN(1e-3, hidden=(8,)),
            model=LearnedModel(hidden=(8,), batch_size=16, **options),
            search_control=search_control,
            training=Training(steps=400, warmup=200),
        ),
        2,
    )


def weights(run):
    return jax.tree.leaves(run.final().dyna.agent)


def same(run, other):
    return all(np.array_equal(x, y) for x, y in zip(weights(run), weights(other), strict=True))


def test_a_climb_between_codes_leaves_all_to_replay():
    climbed, replayed = trained("hill_climbing"), trained("replay")
    assert same(climbed, replayed)
    assert not same(trained("hill_climbing", trust="trust"), replayed)
    assert not same(trained("on_policy"), replayed), "visited codes are planned from"


def test_a_diagnosis_names_it():
    found = trained("hill_climbing").diagnose()
    assert found.cause == "nothing planned"
    assert "most observed variables only ever take two values" in found.verdict
