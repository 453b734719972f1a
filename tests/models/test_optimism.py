"""What is hoped for, by hand."""

import jax.numpy as jnp
import pytest

from hcdyna.models import optimism
from hcdyna.models.optimism import PATIENCE
from hcdyna.types import Outcome, Transition


def after(*steps):
    """What (reward, whether the episode ended) of each step has told."""
    hope = optimism.init()
    for reward, ended in steps:
        obs = jnp.zeros(2)
        step = Transition(
            obs, jnp.int32(0), jnp.float32(reward), jnp.float32(0.99 * (not ended)), obs
        )
        hope = optimism.update(hope, step, jnp.bool_(True))
    return hope


def in_vain(hope, count):
    """The same after so many further steps that cost 1 and lead nowhere new."""
    obs = jnp.zeros(2)
    step = Transition(obs, jnp.int32(0), jnp.float32(-1), jnp.float32(0.99), obs)
    for _ in range(3):
        hope = optimism.update(hope, step, jnp.bool_(False))
    assert int(hope.vain) == 3
    return hope._replace(vain=jnp.int32(count))


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


def test_hope_that_leads_nowhere_is_given_up_until_something_is_found():
    hope = after((-1, False), (-1, False))
    almost, over = in_vain(hope, PATIENCE - 1), in_vain(hope, PATIENCE)
    assert optimism.is_left(almost, 3)
    assert optimism.has_aim(almost)
    assert not optimism.is_left(over, 3)
    assert not optimism.has_aim(over), "nothing was told"
    told = in_vain(after((-1, False), (-1, True)), PATIENCE)
    assert not optimism.is_left(told, 3)
    assert optimism.has_aim(told), "an end was seen"
    step = Transition(jnp.zeros(2), 0, jnp.float32(-1), jnp.float32(0.99), jnp.zeros(2))
    found = optimism.update(over, step, jnp.bool_(True))
    assert optimism.is_left(found, 3)
    assert optimism.has_aim(found)
