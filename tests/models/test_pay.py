"""The usual reward, by hand."""

import jax.numpy as jnp
import pytest

from hcdyna.models import pay


def after(rewards):
    found = pay.init()
    for reward in rewards:
        found = pay.update(found, jnp.float32(reward), jnp.asarray(reward > 0.5))
    return found


RARELY = [0.0] * 19 + [1.0] + [0.0] * 19 + [10.0]
"""Nearly always nothing, else 1 or 10."""


@pytest.mark.parametrize(
    ("rewards", "predicted", "answer"),
    [
        ([-1.0] * 3, -0.7, -1.0),
        (RARELY, 0.4, 0.0),
        (RARELY, -0.4, 0.0),
        (RARELY, 0.6, 0.6),
        (RARELY, 9.0, 9.0),
        ([0.0, 0.1, 0.2, 0.3], 0.01, 0.01),
    ],
    ids=["constant", "a ghost", "a small loss", "near a prize", "a prize", "never the same"],
)
def test_a_reward_near_the_usual_one_is_that(rewards, predicted, answer):
    settled = pay.settled(after(rewards), jnp.float32(predicted), jnp.ones((), bool))
    assert float(settled) == pytest.approx(answer)


def test_a_prize_that_ends_episodes_is_not_won_on_the_way():
    on_the_way = jnp.zeros((), bool)
    assert float(pay.settled(after(RARELY), jnp.float32(9.0), on_the_way)) == 0
    seen = pay.update(after(RARELY), jnp.float32(1.0), on_the_way)
    assert float(pay.settled(seen, jnp.float32(9.0), on_the_way)) == 9


def test_the_largest_reward_measures_three_at_most():
    assert float(pay.unit(after(RARELY), jnp.float32(1.6))) == pytest.approx(10 / 3)
    assert float(pay.unit(after(RARELY), jnp.float32(5.0))) == 5
    assert float(pay.unit(after([-1.0] * 3), jnp.float32(1.0))) == 1
    assert float(pay.unit(after([0.0, 1.0, 5.0]), jnp.float32(2.0))) == 2
