"""Prioritised sweeping by hand: who is promoted, in which order, and who leaves the queue."""

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna import PrioritisedSweeping, TabularGridWorld
from hcdyna.testing import some_replay
from hcdyna.types import Scene, Transition

ENV = TabularGridWorld(size=3).build()


def transition(s, a, to, discount=1.0):
    real = jnp.float32(-1.0), jnp.float32(discount)
    return Transition(jnp.int32(s), jnp.int32(a), *real, jnp.int32(to))


class Sweeper:
    """The strategy, step by step."""

    def __init__(self, **options):
        strategy = PrioritisedSweeping(**options).build(ENV)
        self.state = strategy.init(jnp.int32(0))
        self.observe = jax.jit(strategy.observe)
        key, replay = jax.random.key(0), some_replay(ENV)

        @jax.jit
        def plan(state, values, real):
            scene = Scene(ENV, lambda obs: values[obs], ENV.dynamics, replay, real)
            state, info = strategy.update(key, state, scene)
            return state, info, strategy.sample(key, state, scene, 6)

        self.plan = plan

    def see(self, *steps):
        for step in steps:
            self.state = self.observe(self.state, transition(*step))

    def step(self, values, *now):
        self.see(now)
        table = jnp.asarray(values, jnp.float32)
        self.state, info, pairs = self.plan(self.state, table, transition(*now))
        return list(zip(pairs.obs.tolist(), pairs.action.tolist(), strict=True)), info


def test_predecessors_are_promoted_by_the_share_and_size_of_the_change():
    sweeper = Sweeper(sweeps=3)
    # (0, 0) led to 1 always, (3, 2) to 1 once in two times, (5, 1) to the changed state 2.
    sweeper.see((0, 0, 1), (3, 2, 1), (3, 2, 4), (5, 1, 2), (7, 3, 8, 0.0))
    values = np.zeros(9)
    values[1], values[2], values[8] = -2.0, -0.5, -9.0
    pairs, info = sweeper.step(values, 6, 0, 6)
    # First the pair just visited, then |Δ| = 2, 2·½ = 1; beyond the end nothing counts.
    assert pairs == [(6, 0), (0, 0), (3, 2)] * 2
    assert info["swept"] == 3
    # Those have left the queue. (5, 1) waits in it with ½, though nothing changes any more.
    pairs, info = sweeper.step(values, 6, 1, 6)
    assert pairs == [(6, 1), (5, 1)] * 3
    assert info["waiting"] == 0


def test_a_small_change_is_left_alone():
    sweeper = Sweeper(sweeps=4, threshold=0.6)
    sweeper.see((0, 0, 1), (5, 1, 2))
    pairs, _ = sweeper.step(np.array([0, -0.7, -0.5, 0, 0, 0, 0, 0, 0]), 6, 0, 6)
    assert pairs == [(6, 0), (0, 0)] * 3
