"""Angles that an environment shows as cosine and sine: Π keeps them on the circle."""

import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna import SettingsError
from hcdyna.gymnasium.theirs.ends import ANGLES_OF
from hcdyna.gymnasium.theirs.environment import Hosted


@pytest.mark.parametrize("id", ANGLES_OF)
def test_standard_environments_show_such_pairs_and_keep_them(id):
    env = gymnasium.make(id)
    obs, _ = env.reset(seed=0)
    env.action_space.seed(0)
    project = Hosted(id).build().project
    assert project.pairs == ANGLES_OF[id]
    for _ in range(300):
        pairs = obs[: 2 * ANGLES_OF[id]].reshape(-1, 2)
        np.testing.assert_allclose(np.square(pairs).sum(axis=1), 1, atol=1e-5)
        np.testing.assert_allclose(project(jnp.asarray(obs)), obs, atol=1e-5)
        obs, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            obs, _ = env.reset()
    off = project(jnp.asarray(obs).at[:2].multiply(0.3))
    np.testing.assert_allclose(np.square(off[:2]).sum(), 1, atol=1e-5)
    env.close()


def test_a_user_says_how_many_or_that_there_are_none():
    assert Hosted("CartPole-v1").build().project.pairs == 0
    assert Hosted("Pendulum-v1", angles=0).build().project.pairs == 0
    assert Hosted("CartPole-v1", angles=2).build().project.pairs == 2
    assert Hosted("Pendulum-v1", scaling=True).build().project.pairs == 0, "scaled, on no circle"
    with pytest.raises(SettingsError, match=r"Hosted.angles = 2: must be at most 1, since Pendul"):
        Hosted("Pendulum-v1", angles=2).build()
