"""Planning is replay while the model can't predict rewards, or imagines ends."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna import DDPG, DQN, GridWorld, GridWorldContinuous, LearnedModel, Training, TrueModel
from hcdyna.models import skill
from hcdyna.numerics import ring
from hcdyna.planning import complete, draw_mini_batches
from hcdyna.planning.budget import budget_of
from hcdyna.search_control.uniform import Uniform
from hcdyna.testing import some_replay
from hcdyna.types import Outcome, Scene, Transition

KEY = jax.random.key(3)
TRAINING = Training(planning_steps=2, batch_size=8, mixing_rate=0.5)
KINDS = {
    "discrete": (GridWorld(), DQN(hidden=(6,))),
    "continuous": (GridWorldContinuous(), DDPG(hidden=(6,))),
}


def test_errors_are_averaged_and_compared_with_the_limit():
    found = skill.init()
    for guess, real in ((1.0, 2.0), (0.0, 3.0)):
        step = Transition(None, None, jnp.float32(real), jnp.float32(0.99), None)
        found = skill.update(found, Outcome(None, jnp.float32(guess), jnp.bool_(False)), step)
    assert float(found.error) == pytest.approx((1 + 9) / 2)
    root = np.sqrt(5)
    assert bool(skill.is_enough(found, 0.5, jnp.float32(2 * root + 0.01)))
    assert not bool(skill.is_enough(found, 0.5, jnp.float32(2 * root - 0.01)))


def test_steps_that_are_taken_for_ends_are_counted():
    found = skill.init()
    for guess, discount in ((True, 0.99), (True, 0.0), (False, 0.99), (False, 0.0)):
        step = Transition(None, None, jnp.float32(0), jnp.float32(discount), None)
        found = skill.update(found, Outcome(None, jnp.float32(0), jnp.bool_(guess)), step)
    assert float(found.imagined) == pytest.approx(1 / 4)
    assert not bool(skill.is_enough(found, 0.5, jnp.float32(1)))
    few = found._replace(imagined=jnp.float32(skill.MOST_IMAGINED))
    assert bool(skill.is_enough(few, 0.5, jnp.float32(1)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("competent", [True, False])
def test_a_model_that_is_not_good_enough_leaves_all_to_replay(kind, competent):
    environment, agent_settings = KINDS[kind]
    env = environment.build()
    agent, model = agent_settings.build(env.spec), TrueModel().build(env)
    replay = some_replay(env)
    replay = replay._replace(data=replay.data._replace(reward=jnp.full(32, -7.0)))  # tells replay
    scene = Scene(
        env=env,
        value=None,
        predict=lambda key, obs, action: model.predict(key, (), obs, action),
        replay=replay,
        transition=None,
        competent=lambda: jnp.bool_(competent),
    )
    batches = draw_mini_batches(KEY, Uniform().build(env), (), scene, budget_of(TRAINING), 0.1)
    first = jax.tree.map(lambda x: x[0], batches)
    rows, _, _ = complete(agent, agent.init(KEY), first, scene)
    assert np.mean(rows.reward == -7.0) == (0.5 if competent else 1.0)


def learned_from(rewards, ended=None, **options):
    """Whether a model is good enough after steps on GridWorld that paid these rewards, some of
    which ended an episode."""
    env = GridWorld().build()
    model = LearnedModel(hidden=(8,), batch_size=8, **options).build(env)
    rng = np.random.default_rng(0)

    def one(state_and_replay, step):
        state, replay = state_and_replay
        replay = ring.extend(replay, jax.tree.map(lambda x: x[None], step), jnp.ones(1, bool))
        state, _ = model.update(KEY, state, replay)
        return (state, replay), ()

    obs = rng.random((len(rewards), 2)).astype(np.float32)
    discount = np.full(len(obs), 0.99) if ended is None else 0.99 * ~ended
    steps = Transition(obs, np.zeros(len(obs), np.int32), rewards, discount, obs)
    steps = jax.tree.map(lambda x, y: jnp.asarray(x, y.dtype), steps, some_replay(env).data)
    blank = jax.tree.map(lambda x: x[0], steps)
    begin = (model.init(KEY), ring.init(blank, 64))
    (state, _), _ = jax.jit(lambda: jax.lax.scan(one, begin, steps))()
    return None if model.competent is None else bool(model.competent(state))


def test_rewards_of_pure_chance_can_not_be_predicted():
    assert learned_from(np.random.default_rng(1).normal(size=200)) is False


def test_a_few_different_rewards_are_no_better_if_they_fall_by_chance():
    assert learned_from(np.random.default_rng(1).integers(0, 4, 200).astype(float)) is False


def test_a_reward_at_ends_alone_is_exact_from_the_first_one_on():
    ended = np.arange(200) == 199
    assert learned_from(np.where(ended, 1.0, 0.0), ended) is True
    assert learned_from(np.full(200, -1.0)) is True


def test_ends_by_chance_can_not_be_predicted_and_known_ones_need_not():
    ended = np.random.default_rng(1).random(400) < 0.1
    assert learned_from(np.full(400, -1.0), ended, ends="learned") is False
    assert learned_from(np.full(400, -1.0), ended, ends="known") is True


def test_who_trusts_the_model_does_not_ask():
    assert learned_from(np.zeros(3), trust="trust") is None
