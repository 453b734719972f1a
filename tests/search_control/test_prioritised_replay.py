"""Prioritised replay by hand: priorities, probabilities, weights; and that it learns."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna import (
    Evaluation,
    GridWorld,
    PrioritisedReplay,
    Settings,
    SettingsError,
    TabularGridWorld,
    Training,
    train,
)
from hcdyna.search_control.prioritised_replay import draw
from hcdyna.testing import some_replay, some_scene, some_transitions

ENV = GridWorld().build()
SEEN = some_transitions(ENV, 3)
SCENE = some_scene(ENV, some_replay(ENV), jax.tree.map(lambda x: x[0], SEEN))


def strategy_with(rows, **options):
    """A buffer of three rows, and the strategy's state after it has seen so many."""
    strategy = PrioritisedReplay(**options).build(Training(replay_size=3, batch_size=1))
    state = strategy.init(jnp.asarray(ENV.spec.example_obs()))
    for _ in range(rows):
        state = strategy.observe(state, SCENE.transition)
    return strategy, state


def told(strategy, state, tags, errors):
    return strategy.learned(state, jnp.array(tags, jnp.int32), jnp.array(errors, jnp.float32))


def test_priorities():
    strategy, state = strategy_with(2, alpha=0.5, floor=1.0)
    assert state.data.tolist() == [1, 1, 0], "the first ones have 1"
    state = told(strategy, state, [0, 1], [-8.0, 3.0])
    assert state.data.tolist() == [3, 2, 0], "(|δ| + 1)^½"
    state = strategy.observe(state, SCENE.transition)
    assert state.data.tolist() == [3, 2, 3], "a new one has the highest"
    state = told(strategy, state, [2, -1, -1], [0.0, 99.0, 99.0])
    assert state.data.tolist() == [3, 2, 1], "who was not learned from keeps its priority"
    state = strategy.observe(told(strategy, state, [0], [0.0]), SCENE.transition)
    assert state.data.tolist() == [2, 2, 1], "the oldest makes room, for the highest of those left"


@pytest.mark.parametrize("errors", [[3.0, 15.0], [15.0, 3.0]])
def test_of_a_row_that_was_learned_from_twice_the_larger_error_counts(errors):
    strategy, state = strategy_with(2, alpha=0.5, floor=1.0)
    assert told(strategy, state, [1, 1], errors).data.tolist() == [1, 4, 0]


def test_rows_and_weights():
    strategy, state = strategy_with(3, alpha=1.0, beta=0.5, floor=1.0)
    state = told(strategy, state, [0, 1, 2], [0.0, 3.0, 8.0])
    rows = jax.jit(lambda key: strategy.sample(key, state, SCENE, 500))(jax.random.key(0))
    assert set(rows.tag.tolist()) == {0, 1, 2}
    # P = 1/14, 4/14, 9/14, and (3·P)^−½ over the largest of them is (1/p)^½.
    by_hand = (3 * np.array([1, 4, 9]) / 14) ** -0.5
    np.testing.assert_allclose(rows.weight, (by_hand / by_hand.max())[rows.tag], rtol=1e-6)
    np.testing.assert_allclose(by_hand / by_hand.max(), [1, 1 / 2, 1 / 3])
    stored = jax.tree.map(lambda x: x[rows.tag], SCENE.replay.data)
    jax.tree.map(np.testing.assert_array_equal, rows.transition, stored)
    strategy, _ = strategy_with(3, beta=0.0)
    assert strategy.sample(jax.random.key(0), state, SCENE, 4).weight is None


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_draws_are_as_frequent_as_their_priorities(size):
    p = jnp.arange(size, dtype=jnp.float32) ** 2 + (size == 1)
    n = 200_000
    index = np.array(jax.jit(lambda key: draw(key, p, n))(jax.random.key(1)))
    share, expected = np.bincount(index, minlength=size) / n, np.array(p / p.sum())
    assert len(share) == size
    assert np.all(share[p == 0] == 0)
    np.testing.assert_allclose(share, expected, atol=5 * np.sqrt(expected.max() / n))


def test_the_first_of_many_draws_are_those_of_few():
    p = jnp.arange(10.0)
    few, many = (draw(jax.random.key(2), p, n) for n in (5, 32))
    assert few.tolist() == many[:5].tolist()


SMALL = Settings(
    search_control=PrioritisedReplay(alpha=0.7, beta=0.5),
    training=Training(steps=90, warmup=30, planning_steps=3, batch_size=8, replay_size=50),
    evaluation=Evaluation(every=45),
)


@pytest.mark.slow
def test_it_turns_with_the_replay_buffer_and_has_the_same_bits_alone_and_in_a_batch():
    alone, several = train(SMALL, seeds=[2]), train(SMALL, seeds=5)
    state = several.state(2)
    assert state.search_control.total == state.replay.total
    assert state.search_control.data.shape == (50,)
    assert len(np.unique(state.search_control.data)) > 5
    jax.tree.map(np.testing.assert_array_equal, alone.state(2), state)


def test_numbers_out_of_bounds_are_refused():
    with pytest.raises(SettingsError, match=r"PrioritisedReplay.floor = 0: must be above 0"):
        PrioritisedReplay(floor=0)


@pytest.mark.slow
@pytest.mark.parametrize("beta", [0.0, 0.4])
def test_it_learns(beta):
    """The shortest way takes 14 moves."""
    settings = Settings(
        environment=TabularGridWorld(size=8, success=1.0, time_limit=200),
        agent="tabular",
        search_control=PrioritisedReplay(beta=beta),
        training=Training(steps=4_000, warmup=500, planning_steps=10, batch_size=1),
        evaluation=Evaluation(every=500, episodes=5),
    )
    returns = train(settings, seeds=8).mean_returns()
    assert np.median(returns[:, 0]) < -100, "it must have had something to learn"
    assert np.median(returns[:, -1]) > -20, returns[:, -1]
