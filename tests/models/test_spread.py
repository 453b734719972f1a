"""Doubt by disagreement: what is usual is a quantile, and only what is beyond it is doubtful."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna import GridWorld, LearnedModel
from hcdyna.models import spread
from hcdyna.models.ensemble import ensemble
from hcdyna.numerics import ring
from hcdyna.testing import some_replay, some_states
from hcdyna.types import Model, Outcome, Transition

ENV = GridWorld().build()
NOWHERE = Outcome(jnp.zeros(2), jnp.zeros(()), jnp.zeros((), bool))


def followed(doubt, state, replay, n):
    """What is usual after so many real steps."""

    @jax.jit
    def run(state, replay):
        keys = jax.random.split(jax.random.key(0), n)
        step = lambda usual, key: (doubt.update(key, usual, state, replay), None)  # noqa: E731
        return jax.lax.scan(step, doubt.init(), keys)[0]

    return run(state, replay)


@pytest.mark.parametrize("size", [0.1, 1.0, 30.0])
def test_what_is_usual_follows_the_quantile(size):
    """Disagreement is the first variable, uniform from 0 to `size`."""
    obs = size * jnp.linspace(0, 1, 1_000)[:, None]
    zeros = jnp.zeros(1_000)
    rows = Transition(obs, zeros, zeros, zeros, obs)
    replay = ring.Ring(rows, jnp.int32(1_000))
    model = Model(lambda key: (), None, None, spread=lambda state, obs, action: obs[0])
    doubt = spread.doubt(model, 2.0)
    usual = followed(doubt, (), replay, 4_000)
    np.testing.assert_allclose(usual, 0.95 * size, rtol=0.05)
    for share, doubtful in ((0.5, False), (1.7, False), (2.2, True)):
        at = jnp.array([share * size])
        assert bool(doubt.unknown(usual, (), at, zeros[0], NOWHERE)) == doubtful


def test_members_that_agree_are_never_doubtful_and_others_are():
    model = ensemble(ENV, LearnedModel(hidden=(8,), members=3))
    doubt, replay = spread.doubt(model, 2.0), some_replay(ENV)
    state = model.init(jax.random.key(0))
    equal = jax.tree.map(lambda x: jnp.broadcast_to(x[:1], x.shape), state.params)
    agreeing = state._replace(params=equal)
    usual = followed(doubt, agreeing, replay, 500)
    asked = jax.vmap(doubt.unknown, (None, None, 0, None, None))
    states = some_states(ENV, 50)
    assert not np.any(asked(usual, agreeing, states, jnp.int32(1), NOWHERE))
    assert not np.any(asked(jnp.zeros(()), agreeing, states, jnp.int32(1), NOWHERE))
    # One hidden unit that is dead wherever there is experience, and that one member makes much of.
    hidden, output = equal
    hidden = hidden._replace(
        weights=hidden.weights.at[:, :, 0].set(jnp.array([50.0, 0.0])),
        bias=hidden.bias.at[:, 0].set(-40.0),
    )
    output = output._replace(weights=output.weights.at[0, 0].set(5.0))
    known = replay._replace(data=replay.data._replace(obs=0.5 * replay.data.obs))
    disagreeing = state._replace(params=(hidden, output))
    usual = followed(doubt, disagreeing, known, 500)
    found = asked(usual, disagreeing, states, jnp.int32(1), NOWHERE)
    np.testing.assert_array_equal(found, states[:, 0] > 0.8)
