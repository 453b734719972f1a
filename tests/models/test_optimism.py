"""What is hoped for, by hand."""

import jax.numpy as jnp
import pytest

from hcdyna.models import optimism
from hcdyna.types import Outcome, Transition


def after(*steps):
    """What (reward, whether the episode ended) of each step has told."""
    hope = optimism.init()
    for reward, ended in steps:
        obs = jnp.zeros(2)
        step = Transition(
            obs, jnp.int32(0), jnp.float32(reward), jnp.float32(0.99 * (not ended)), obs
        )
        hope = optimism.update(hope, step)
    return hope


@pytest.mark.parametrize(
    ("steps", "best", "told", "left"),
    [
        ([(-1, False)] * 5, -1, 0, True),
        ([(-1, False)] * 5 + [(-1, True)], -1, 1, True),
        ([(-1, False)] * 5 + [(0, True)], 0, 1, True),
        ([(-1, False), (3, False), (-1, False), (-2, False)], 3, 2, True),
        ([(-1, True)] * 3, -1, 3, False),
        ([(-1, False), (-1.5, False), (-1.25, False), (-0.5, False)], -0.5, 3, False),
        ([(0, False)] * 5, 0, 0, False),
        ([(1, False)] * 5, 1, 0, False),
    ],
    ids=["cost", "an end", "less cost at the end", "a prize", "ends", "shaped", "free", "paid"],
)
def test_hope_is_left_while_steps_cost_and_little_was_told(steps, best, told, left):
    hope = after(*steps)
    assert (float(hope.best), int(hope.told)) == (best, told)
    assert bool(optimism.is_left(hope, until_told=3)) == left


@pytest.mark.parametrize(
    ("steps", "aim"),
    [
        ([], True),
        ([(-1, False)] * 5, True),
        ([(0, False)] * 5, False),
        ([(1, False)] * 5, False),
        ([(0, False)] * 5 + [(1, False)], True),
        ([(0, False), (0, True)], True),
    ],
    ids=["nothing seen", "cost", "free", "paid", "a prize", "an end"],
)
def test_there_is_an_aim_where_steps_cost_or_one_has_told_something(steps, aim):
    assert bool(optimism.has_aim(after(*steps))) == aim


def test_before_the_first_step_there_is_none():
    assert not optimism.is_left(optimism.init(), until_told=3)


def test_a_new_state_is_an_end_with_the_best_reward():
    outcome = Outcome(jnp.ones(2), jnp.float32(-7), jnp.zeros((), bool))
    found = optimism.as_good_as_it_gets(after((-2, False), (-1, False)), outcome)
    assert (found.next_obs.tolist(), float(found.reward), bool(found.terminated)) == (
        [1, 1],
        -1,
        True,
    )
