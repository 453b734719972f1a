"""The counted model by hand: successors, rewards, ends, and what was never tried."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna import CountedModel, GridWorld, SettingsError, TabularGridWorld
from hcdyna.numerics import ring
from hcdyna.types import Transition

ENV = TabularGridWorld(size=3).build()


def after(*steps, successors=5):
    """The model once it has seen steps (s, a, r, γ, s′), and the function that asks it."""
    model = CountedModel(successors).build(ENV)
    blank = Transition(jnp.int32(0), jnp.int32(0), jnp.zeros(()), jnp.zeros(()), jnp.int32(0))
    state, replay = model.init(jax.random.key(0)), ring.init(blank, 4)  # smaller than what is seen
    update = jax.jit(model.update)
    for s, a, r, discount, to in steps:
        row = Transition(*(jnp.array([x]) for x in (s, a, float(r), float(discount), to)))
        replay = ring.extend(replay, row, jnp.ones(1, bool))
        state, _ = update(jax.random.key(0), state, replay)

    def ask(s, a, n=20_000):
        keys = jax.random.split(jax.random.key(1), n)
        return jax.jit(jax.vmap(model.predict, (0, None, None, None)))(
            keys, state, jnp.int32(s), jnp.int32(a)
        )

    return ask


def test_successors_come_in_proportion_to_their_counts_with_their_own_mean_reward():
    seen = [(4, 1, -1, 1, 5), (4, 1, -3, 1, 5), (4, 1, -2, 1, 5), (4, 1, -7, 1, 3)]
    ask = after(*seen, (4, 0, -1, 0, 8), (2, 1, -1, 1, 0))
    outcome = ask(4, 1)
    shares = np.bincount(outcome.next_obs, minlength=9) / len(outcome.next_obs)
    np.testing.assert_allclose(shares[[5, 3]], [0.75, 0.25], atol=0.015)
    np.testing.assert_allclose(outcome.reward, np.where(outcome.next_obs == 5, -2.0, -7.0))
    assert not np.any(outcome.terminated)
    ended = ask(4, 0, n=3)
    assert np.all(ended.terminated)
    assert np.all(ended.next_obs == 8)


def test_what_was_never_tried_leads_nowhere_for_nothing():
    outcome = after((4, 1, -1, 1, 5))(4, 2, n=3)
    assert np.all(outcome.next_obs == 4)
    assert np.all(outcome.reward == 0)
    assert not np.any(outcome.terminated)


def test_the_rarest_successor_makes_room():
    ask = after(
        (0, 0, -1, 1, 1), (0, 0, -1, 1, 1), (0, 0, -1, 1, 2), (0, 0, -5, 1, 3), successors=2
    )
    outcome = ask(0, 0)
    assert set(np.unique(outcome.next_obs)) == {1, 3}
    np.testing.assert_allclose(outcome.reward, np.where(outcome.next_obs == 3, -5.0, -1.0))


def test_continuous_worlds_are_refused():
    with pytest.raises(SettingsError, match="model = counted: GridWorld has"):
        CountedModel().build(GridWorld().build())
