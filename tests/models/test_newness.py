"""Newness on a line, by hand; in many dimensions; and what must not happen."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna.models import newness
from hcdyna.models.newness import CELLS, FORGETTING, GRIDS, LAID_OUT, ONE_MORE, Rule
from hcdyna.testing.tracing import FEW, pure
from hcdyna.types import Transition

RULE = Rule(2.0, 5, 0.05)


@jax.jit
def visited(state, rule, states):
    """After visits of states [n, d], by steps that have changed every variable."""

    def visit(now, obs):
        return newness.visit(now, rule, obs + 1.0, obs), None

    return jax.lax.scan(visit, state, states)[0]


new = jax.jit(jax.vmap(newness.is_new, (None, None, 0)))
"""Of states [n, d]."""


def line(*places):
    return jnp.array(places, jnp.float32)[:, None]


def some_step(place):
    obs = jnp.array([place])
    return Transition(obs, jnp.int32(0), jnp.float32(-1), jnp.float32(0.99), obs)


LAID = line(*[8.0, 12.0] * (LAID_OUT // 2))
"""Mean 10, deviation 2: finest cells are 4 wide, and one of them is from 8 up to 12."""


def laid_out():
    return visited(newness.init(1), RULE, LAID)


def trusted(state):
    """The same counts, on grids that have all proved themselves."""
    return state._replace(share=jnp.zeros(GRIDS))


@pytest.mark.parametrize("share", [0.05, 1.0])
def test_nothing_is_new_before_the_grids_are_laid_out(share):
    rule = RULE._replace(share=share)
    state = visited(newness.init(1), rule, LAID[:-1])
    assert not np.any(new(state, rule, line(10, -500, 1e30)))
    assert not np.any(state.visits)


def test_grids_are_laid_out_once():
    state = laid_out()
    assert not np.any(state.visits)
    np.testing.assert_allclose([state.scales.mean[0], state.scales.deviation[0]], [10, 2])
    later = visited(state, RULE, line(1_000, 2_000, 3_000))
    assert later.scales.seen == LAID_OUT + 3
    jax.tree.map(np.testing.assert_array_equal, later.scales[1:], state.scales[1:])
    assert later.visits.sum() == 3 * GRIDS


def test_a_cell_is_familiar_after_so_many_visits():
    state = visited(laid_out(), RULE, line(9, 10, 11, 8.1))
    assert np.all(new(trusted(state), RULE, line(9, 11.9)))
    state = trusted(visited(state, RULE, line(11.9)))
    places = line(8, 10, 11.9, 12, 7.9, 50, -1e9, 1e38)
    assert new(state, RULE, places).tolist() == [False] * 3 + [True] * 5


def test_one_more_visit_is_asked_for_as_time_goes_by():
    """Of two cells, one is visited five times, and then only the other one."""
    state = visited(laid_out(), RULE, line(*[9.0] * 5, *[50.0] * (ONE_MORE - 6)))
    assert not np.any(new(trusted(state), RULE, line(9, 50)))
    state = visited(state, RULE, line(50))
    assert new(trusted(state), RULE, line(9, 50)).tolist() == [True, False]
    step = some_step(9.0)
    found = newness.doubt(RULE, 1).found
    assert not found(trusted(state), None, step), "it was known before"
    assert found(trusted(laid_out()), None, step)
    state = visited(state, RULE, line(9))
    assert not np.any(new(trusted(state), RULE, line(9, 50)))


def test_a_byte_counts_no_further():
    rule = RULE._replace(visits=255)
    state = visited(laid_out(), rule, jnp.full((254, 1), 10.0))
    assert new(trusted(state), rule, line(10))
    state = trusted(visited(state, rule, jnp.full((300, 1), 10.0)))
    assert not new(state, rule, line(10))
    assert state.visits.max() == 255


def test_the_share_of_steps_to_new_cells_forgets():
    """Five visits to a new cell, then 95 to a familiar one."""
    state = visited(laid_out(), RULE, jnp.full((100, 1), 10.0))
    np.testing.assert_allclose(state.share, (1 - FORGETTING) ** 95, rtol=1e-4)


def test_the_finest_grid_that_can_be_filled_is_used():
    """3,464 of the finest cells over a uniform line, twice as wide on each next grid. With 8,000
    visits the finest stay new, and the widest are long familiar."""
    rule, half = RULE._replace(width=1e-3), np.sqrt(3)
    states = jax.random.uniform(jax.random.key(0), (LAID_OUT + 8_000, 1), minval=-half, maxval=half)
    state = visited(newness.init(1), rule, states)
    assert np.all(np.diff(state.share[:4]) < 0), "wider cells are sooner familiar"
    used = int(np.argmax(state.share <= rule.share))
    assert 0 < used < GRIDS - 1
    inside = jnp.linspace(-1.7, 1.7, 500)[:, None]
    assert np.mean(new(state, rule, inside)) < 0.05
    assert np.all(new(state, rule, line(-2.5, 2.5, 40.0)))
    finest = state._replace(share=jnp.zeros(GRIDS))
    assert np.mean(new(finest, rule, inside)) > 0.5, "which the finest would call new"
    silent = rule._replace(share=0.0)
    assert not np.any(new(state, silent, line(40.0))), "no grid is that good"


def test_noise_in_twenty_dimensions_is_not_new_for_ever():
    noise = jax.random.normal(jax.random.key(1), (LAID_OUT + 5_000, 20))
    state = visited(newness.init(20), RULE, noise)
    assert state.share[0] > 0.99, "a fine grid would say so"
    assert np.mean(new(state, RULE, noise[-500:])) < 0.05
    assert np.all(new(state, RULE, 1e3 * noise[:20])), "but what is far off is new"


def test_a_variable_that_never_changed_does_not_make_all_new():
    states = jax.random.normal(jax.random.key(2), (6_000, 2)).at[:, 1].set(3.0)
    state = visited(newness.init(2), RULE, states)
    assert not np.any(new(state, RULE, jnp.array([[0.0, 3.0], [0.5, 3.0 + 1e-6]])))
    assert np.all(new(state, RULE, jnp.array([[0.0, 9.0]])))


def test_a_goal_that_no_step_changes_is_not_new():
    """Places 8 and 12, by turns; a second variable is drawn for each episode, a third stays."""

    @jax.jit
    def walked(state, goals):
        def step(state, time):
            place, goal = jnp.where(time % 2 == 0, 8.0, 12.0), goals[time // 100]
            before, after = jnp.array([20.0 - place, goal, 3.0]), jnp.array([place, goal, 3.0])
            return newness.visit(state, RULE, before, after), None

        return jax.lax.scan(step, state, jnp.arange(len(goals) * 100))[0]

    state = trusted(walked(newness.init(3), jnp.linspace(-1, 1, 15)))
    known, far, elsewhere = [8.0, 0.0, 3.0], [8.0, 1e3, 3.0], [8.0, 0.0, 50.0]
    assert new(state, RULE, jnp.array([known, far, elsewhere])).tolist() == [False, False, True]
    moved = newness.visit(state, RULE, jnp.array(known), jnp.array([8.0, 1.0, 3.0]))
    assert new(trusted(moved), RULE, jnp.array([far])).tolist() == [True], "once a step changed it"


@pytest.mark.parametrize("where", [0, LAID_OUT + 3])
def test_what_is_no_number_does_no_harm(where):
    states = jnp.tile(LAID, (3, 1)).at[where].set(jnp.nan).at[where + 1].set(jnp.inf)
    state = visited(newness.init(1), RULE, states)
    assert np.all((state.share >= 0) & (state.share <= 1))
    answers = new(trusted(state), RULE, line(8, 12, np.nan, np.inf, -np.inf))
    assert not np.any(answers[:2]), "visited a thousand times"


@pytest.mark.slow
def test_alone_and_in_a_batch_it_is_the_same():
    walks = jnp.cumsum(jax.random.normal(jax.random.key(3), (FEW, LAID_OUT + 50, 3)), axis=1)
    start = jax.tree.map(lambda x: jnp.stack([x] * FEW), newness.init(3))
    state = jax.vmap(visited, (0, None, 0))(start, RULE, walks)
    width = jnp.full(FEW, 0.3)

    def step(state, width, obs):
        rule = Rule(width, 5, 1.0)
        return newness.visit(state, rule, obs - 1.0, obs), newness.is_new(state, rule, obs)

    after, _ = pure(step, (state, width, walks[:, 7]), "visit")
    assert after.visits.shape == (FEW, GRIDS * CELLS)
