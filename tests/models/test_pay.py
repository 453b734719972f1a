"""The few rewards that were ever paid, by hand."""

import jax.numpy as jnp
import pytest

from hcdyna.models import pay

WAY, END = jnp.zeros((), bool), jnp.ones((), bool)


def after(on_the_way, at_ends=()):
    found = pay.init()
    for rewards, ended in ((on_the_way, WAY), (at_ends, END)):
        for reward in rewards:
            found = pay.update(found, jnp.float32(reward), ended)
    return found


def settled(seen, predicted, end):
    return float(pay.settled(seen, jnp.float32(predicted), end))


PRIZES = after([0.0] * 19, [1.0, 10.0, 1.0])
"""Nothing on the way, then 1 or 10."""


@pytest.mark.parametrize(
    ("seen", "predicted", "end", "answer"),
    [
        (after([-1.0] * 3), -0.7, WAY, -1.0),
        (PRIZES, 0.4, WAY, 0.0),
        (PRIZES, 9.0, WAY, 0.0),
        (PRIZES, 0.3, END, 1.0),
        (PRIZES, 7.0, END, 10.0),
        (after([0.0, 1.0, -1.0], [5.0]), 0.6, WAY, 1.0),
        (after([-1.0, -1.0]), 7.0, END, -1.0),
        (after([], [3.0]), 7.0, WAY, 3.0),
        (pay.init(), 0.25, WAY, 0.25),
    ],
    ids=[
        "constant",
        "a ghost",
        "a prize is not won on the way",
        "an end pays",
        "the larger prize",
        "three on the way",
        "no end yet",
        "nothing but an end",
        "nothing yet",
    ],
)
def test_the_nearest_reward_that_was_paid(seen, predicted, end, answer):
    assert settled(seen, predicted, end) == answer


def test_many_rewards_are_predicted_as_they_come():
    some, many = list(range(pay.FEW)), list(range(pay.FEW + 1))
    assert settled(after(some), 2.4, WAY) == 2
    assert settled(after(some * 2), 2.4, WAY) == 2, "the same ones again are no more"
    assert settled(after(many), 2.4, WAY) == pytest.approx(2.4)
    assert settled(after(many, [9.0]), 2.4, END) == 9, "those of ends are counted apart"
    assert settled(after(many), 2.4, END) == pytest.approx(2.4), "and no end was seen yet"


def test_the_largest_difference_measures_three_at_most():
    assert float(pay.unit(PRIZES, jnp.float32(1.6))) == pytest.approx(10 / 3)
    assert float(pay.unit(PRIZES, jnp.float32(5.0))) == 5
    assert float(pay.unit(after([-1.0] * 3), jnp.float32(1.0))) == 1
    assert float(pay.unit(pay.init(), jnp.float32(2.0))) == 2
    assert float(pay.unit(after(list(range(20))), jnp.float32(2.0))) == 2
