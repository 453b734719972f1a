"""More runs that are broken on purpose: what planning can't use, what never learned, and whose
fault it is."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
from test_diagnose import LEARNED, diagnosis_of

from hcdyna import DQN, GridWorld, LearnedModel
from hcdyna.gymnasium.theirs.environment import Hosted
from hcdyna.runs.diagnosis.measuring import mean_beyond_chance


def never(obs):
    return jnp.zeros((), bool)


def always(obs, action, next_obs):
    return True


@pytest.mark.slow
@pytest.mark.parametrize("trust", ["optimistic", "replay"])
def test_rewards_that_can_not_be_predicted_are_named_with_every_rule(trust):
    unsure = LearnedModel(hidden=(16,), batch_size=32, trust=trust)
    found = diagnosis_of(GridWorld(reward_noise=1.0), unsure)
    assert found.cause == "nothing planned"
    assert "(model.reward_limit = 0.3), so replay took its place" in found.verdict
    assert ("  what planning takes instead", "–", "a replayed step") in found.rows


@pytest.mark.slow
def test_a_learning_rate_that_is_too_small():
    crawls = DQN(hidden=(8,), learning_rate=1e-7)
    found = diagnosis_of(agent=crawls, steps=500, planning_steps=10)
    assert found.cause == "learning"
    assert "after 3,000 updates (agent.learning_rate = 1e-07)" in found.verdict
    learns = dataclasses.replace(crawls, learning_rate=1e-3)
    assert diagnosis_of(agent=learns, steps=500, planning_steps=10).cause == "sound"


@pytest.mark.slow
def test_a_model_that_does_not_learn():
    crawls = dataclasses.replace(LEARNED, learning_rate=1e-9)
    found = diagnosis_of(model=crawls)
    assert found.cause == "next state"
    assert "with model.learning_rate = 1e-09" in found.verdict


@pytest.mark.slow
def test_a_warm_up_that_leaves_no_time():
    found = diagnosis_of(warmup=390)
    assert found.cause == "warm-up"
    assert "only 10 of 400 steps came after the warm-up (training.warmup = 390)" in found.verdict


@pytest.mark.slow
def test_ends_of_a_function_of_the_users():
    found = diagnosis_of(Hosted("CartPole-v1", terminal=never), LEARNED, warmup=350)
    assert found.cause == "ends"
    assert f"(environment.terminal = {__name__}:never)" in found.verdict
    model = dataclasses.replace(LEARNED, terminated=always)
    found = diagnosis_of("CartPole-v1", model, warmup=350)
    assert found.cause == "ends"
    assert f"(model.terminated = {__name__}:always)" in found.verdict


def test_a_mean_that_is_not_chance():
    assert mean_beyond_chance(np.full(10, -2.0)) == 2
    assert mean_beyond_chance(np.array([1.0, -1.0] * 50)) == 0
    assert mean_beyond_chance(np.array([1.0, 0.0] * 50)) == 0.5
