"""A scene whose replay buffer holds one state, so that every climb is known beforehand."""

import jax.numpy as jnp

from hcdyna import GridWorld, HillClimbing
from hcdyna.dyna import as_batch
from hcdyna.numerics import ring
from hcdyna.types import Outcome, Scene, Transition

ENV = GridWorld().build()
ONE_STEP = {"steps": 1, "step_size": 0.01, "noise": "none", "natural_gradient": False}
PLAIN_STEP = HillClimbing(normalise=False, queue_size=10, **ONE_STEP)
UNIT_STEP = HillClimbing(normalise=True, queue_size=10, **ONE_STEP)


def scene_at(obs, value, terminated=False, target=None):
    """Each action leads 0.1 to the right, for a reward of −1."""

    def predict(key, obs, action):
        return Outcome(obs.at[0].add(0.1), jnp.float32(-1.0), jnp.asarray(terminated))

    obs, real = jnp.asarray(obs, jnp.float32), jnp.zeros(())
    step = Transition(obs, jnp.int32(0), real, real, obs)
    replay = ring.Ring(as_batch(step), jnp.int32(1))
    return Scene(ENV, value, predict, replay, step, greedy=lambda obs: jnp.int32(0), target=target)
