"""The best stretch of rewards, by hand and against trying every one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna.models import optimism
from hcdyna.types import Outcome, Transition

GAMMA = 0.9


def steps(rewards, ends=(), cuts=()):
    """Real steps along a line; after those in `ends` and `cuts` the next one begins elsewhere."""
    n = len(rewards)
    begins = np.isin(np.arange(n) - 1, [*ends, *cuts])
    at = np.arange(n) + 0.5 * np.cumsum(begins)
    return Transition(
        obs=jnp.asarray(at, jnp.float32)[:, None],
        action=jnp.zeros(n, jnp.int32),
        reward=jnp.asarray(rewards, jnp.float32),
        discount=GAMMA * (1.0 - np.isin(np.arange(n), ends)),
        next_obs=jnp.asarray(at + 1, jnp.float32)[:, None],
    )


@jax.jit
def after(rows):
    def step(best, row):
        return optimism.update(best, row, GAMMA), None

    return jax.lax.scan(step, optimism.init(1), rows)[0]


def worth(best):
    doubtful = Outcome(jnp.array([7.0]), jnp.float32(-3.0), jnp.zeros((), bool))
    instead = optimism.as_good_as_it_gets(best, doubtful)
    assert instead.terminated
    assert instead.next_obs == doubtful.next_obs
    return float(instead.reward)


@pytest.mark.parametrize(
    ("rewards", "ends", "cuts", "best"),
    [
        ([-1, -1, -1, -1], [], [], -1),  # a cost for each step
        ([-1, -1, -5], [2], [], -1),
        ([-3, -2, -4], [], [], -2),
        ([0, 0, 1], [2], [], 1),  # a reward at the goal
        ([0, 0, 1, 0, 0, 1], [2, 5], [], 1),
        ([-1, -1, 100], [2], [], 100),
        ([1, 1, 1], [2], [], 1 + 0.9 + 0.81),  # a reward for each step
        ([1, 1, 1, 1, 1], [2], [], 1 + 0.9 + 0.81),
        ([1, 1, 1, 1, 1], [], [1], 1 + 0.9 + 0.81),  # cut by a time limit
        ([2, -1, 3], [2], [], 2 - 0.9 + 3 * 0.81),
        ([2, -3, 3], [2], [], 3),
        ([0.1, *[0] * 50, 10], [], [], 10),  # crumbs on a long way to the goal
        ([0, 0, 0], [2], [], 1),  # any number above zero will do
    ],
)
def test_by_hand(rewards, ends, cuts, best):
    found = after(steps(rewards, ends, cuts))
    np.testing.assert_allclose(worth(found), best, rtol=1e-6)
    assert found.ends == len(ends)


def test_nothing_is_better_and_nothing_seen_is_worse():
    """No stretch of any episode has more, and no single reward has."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        rewards, cuts = rng.normal(size=12), [3, 8]
        found = worth(after(steps(rewards, cuts=cuts)))
        every = [
            np.sum(part[i:j] * GAMMA ** np.arange(j - i))
            for part in np.split(rewards, [4, 9])
            for i in range(len(part))
            for j in range(i + 1, len(part) + 1)
        ]
        assert rewards.max() - 1e-5 < found < max(every) + 1e-5


def test_before_the_first_step_it_is_finite():
    assert worth(optimism.init(2)) == 1.0
