"""Compiled training: determinism, company, one compilation, evaluation, time limits."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna import DQN, Evaluation, HillClimbing, LearnedModel, Settings, Training, train
from hcdyna.numerics import devices
from hcdyna.training import compiled
from hcdyna.training.compiled import chunks
from nearest_to_goal import NearestToGoal
from parts_of_ours import Mixture, Several, Wishful
from probes import Probe

SMALL = Settings(
    environment="GridWorld",
    agent=DQN(learning_rate=1e-3),
    search_control=HillClimbing(steps=20, queue_size=500),
    training=Training(steps=260, warmup=60, planning_steps=3, replay_size=200),
    evaluation=Evaluation(every=100),
)


@pytest.fixture(scope="module")
def company():
    """Seeds 5 … 9 trained together."""
    return train(SMALL, seeds=[5, 6, 7, 8, 9])


def leaves(run, seed, setting=0):
    return [np.asarray(x) for x in jax.tree.leaves(run.state(seed, setting))]


def assert_same_bits(a, b):
    for x, y in zip(a, b, strict=True):
        assert np.array_equal(x, y)


def test_shapes_and_diagnostics(company):
    assert list(company.steps) == [100, 200, 260]
    assert company.returns.shape == company.lengths.shape == (1, 5, 3, 1)
    last = company.info[-1]
    assert set(last) >= {"loss", "mean_q", "accepted", "epsilon_a", "queue_size"}
    assert all(np.all(np.isfinite(x)) for x in last.values())
    assert np.all(last["queue_size"] > 0)
    assert np.all(company.lengths <= 2_000)
    assert np.array_equal(company.returns, -company.lengths), "GridWorld costs 1 a step"


def test_one_seed_repeats_bit_for_bit_and_two_seeds_differ(company):
    again = train(SMALL, seeds=[5, 6, 7, 8, 9])
    for seed in (5, 9):
        assert_same_bits(leaves(company, seed), leaves(again, seed))
    assert np.array_equal(company.returns, again.returns)
    first, second = company.state(5).agent.params[0], company.state(6).agent.params[0]
    assert not np.array_equal(first.weights, second.weights)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("environment", "few"), [("GridWorld", [9, 7]), ("Acrobot", [7])], ids=["pair", "alone"]
)
def test_company_does_not_change_a_bit(environment, few):
    """Alone, or in a pair on a device each, and with two on each: the same life for a seed."""
    settings = dataclasses.replace(
        SMALL,
        environment=environment,
        model="learned",
        training=Training(steps=120, warmup=60, planning_steps=3),
        evaluation=Evaluation(every=120),
    )
    one, other = (train(settings, seeds=seeds) for seeds in (few, [7, 1, 2, 3]))
    assert_same_bits(leaves(one, 7), leaves(other, 7))


@pytest.mark.parametrize(
    "changes",
    [
        [{"planning_steps": 1}, {"planning_steps": 3}],
        pytest.param([{"mixing_rate": r} for r in (0.0, 0.5, 0.7)], marks=pytest.mark.slow),
    ],
    ids=["n", "rho"],
)
def test_settings_that_differ_in_n_or_rho_share_a_program_and_keep_their_bits(changes):
    each = [
        dataclasses.replace(SMALL, training=dataclasses.replace(SMALL.training, steps=90, **change))
        for change in changes
    ]
    together = train(each, seeds=[6])
    for index, settings in enumerate(each):
        alone = train(settings, seeds=[6])
        assert_same_bits(leaves(alone, 6), leaves(together, 6, index))


def test_settings_that_differ_in_numbers_share_a_program():
    faster = dataclasses.replace(SMALL, agent=DQN(learning_rate=1e-2))
    both = train([SMALL, faster], seeds=[6, 8])
    twice = train([faster, SMALL], seeds=[6, 8])
    for setting in (0, 1):
        assert_same_bits(leaves(both, 8, setting), leaves(twice, 8, 1 - setting))
    slow, fast = (both.state(8, setting).agent.params[1].weights for setting in (0, 1))
    assert not np.array_equal(slow, fast)


def test_nothing_compiles_twice():
    """Not for weak types, and not for another seed, number, chunk length or run."""
    train(SMALL, seeds=[0, 1])
    other = dataclasses.replace(
        SMALL,
        agent=DQN(learning_rate=5e-4),
        search_control=HillClimbing(steps=20, queue_size=500, eta=0.3),
    )
    compilations = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, duration, **kwargs: compilations.append(event)
    )
    train(other, seeds=[17, 23])
    backend = [event for event in compilations if "backend_compile" in event]
    assert not backend, f"{len(backend)} compilations for other seeds and numbers"
    programs = [entry for entry in compilations if "jaxpr_trace" in entry]
    assert len(programs) < 5, "the programs were traced again"


def test_evaluation_does_not_touch_learning(company):
    often = dataclasses.replace(SMALL, evaluation=Evaluation(every=65, episodes=3, epsilon=0.5))
    run = train(often, seeds=[5, 6, 7, 8, 9])
    assert run.returns.shape == (1, 5, 4, 3)
    assert_same_bits(leaves(run, 6), leaves(company, 6))


@pytest.mark.parametrize(
    ("steps", "warmup", "every", "expected"),
    [
        (10, 4, 5, [(0, 4), (4, 5), (5, 10)]),
        (10, 0, 4, [(0, 4), (4, 8), (8, 10)]),
        (3, 9, 5, [(0, 3)]),
        (10, 5, 5, [(0, 5), (5, 10)]),
    ],
)
def test_chunks(steps, warmup, every, expected):
    training = Training(steps=steps, warmup=warmup)
    settings = Settings(training=training, evaluation=Evaluation(every=every))
    assert chunks(settings) == expected


def test_time_limit_resets_the_episode_and_is_no_termination():
    settings = Settings(
        environment=Probe(terminates=False, time_limit=3),
        search_control="replay",
        training=Training(steps=8, warmup=8, replay_size=50),
    )
    run = train(settings, seeds=2)
    replay = run.state(0).replay
    np.testing.assert_allclose(replay.data.discount[:8], 0.5)
    assert np.all(run.lengths == 3)
    assert np.all(run.returns == 3)
    assert np.all(np.asarray(run.final().episode_step)[:2] == 8 % 3)


def test_random_actions_cover_both_kinds_of_action_space():
    keys = jax.random.split(jax.random.key(0), 2_000)
    discrete = Probe(terminates=True).build().spec
    actions = jax.vmap(lambda key: compiled.random_action(key, discrete))(keys)
    assert abs(float(jnp.mean(actions)) - 0.5) < 0.05
    continuous = discrete._replace(num_actions=None, action_size=2)
    actions = jax.vmap(lambda key: compiled.random_action(key, continuous))(keys)
    assert actions.shape == (2_000, 2)
    assert float(jnp.min(actions)) < -0.99
    assert float(jnp.max(actions)) > 0.99


@pytest.mark.parametrize(
    ("steps", "warmup", "every", "block"),
    [
        (50_000, 5_000, 1_000, 100),
        (260, 60, 100, 20),
        (50_000, 5_001, 1_000, 1),
        (90, 0, 1_000, 90),
    ],
)
def test_every_chunk_is_in_whole_blocks(steps, warmup, every, block, monkeypatch):
    assert compiled.steps_at_once(SMALL) == 1, "on a CPU there is nothing to gain"
    monkeypatch.setitem(devices.MOST_TURNS_AT_ONCE, jax.default_backend(), 100)
    training = dataclasses.replace(SMALL.training, steps=steps, warmup=warmup)
    settings = dataclasses.replace(SMALL, training=training, evaluation=Evaluation(every=every))
    assert compiled.steps_at_once(settings) == block
    assert all((end - begin) % block == 0 for begin, end in chunks(settings))


@pytest.mark.slow
def test_training_in_blocks_gives_the_same_bits(company, monkeypatch):
    monkeypatch.setitem(devices.MOST_TURNS_AT_ONCE, jax.default_backend(), 7)
    compiled.forget_programs()
    again = train(SMALL, seeds=[5, 6, 7, 8, 9])
    compiled.forget_programs()
    assert_same_bits(leaves(company, 5), leaves(again, 5))
    assert np.array_equal(company.returns, again.returns)


def test_options_that_the_compiler_does_not_know_are_left_out(monkeypatch):
    monkeypatch.setitem(
        devices.COMPILER_OPTIONS,
        jax.default_backend(),
        {"xla_cpu_multi_thread_eigen": False, "xla_of_another_day": 1},
    )
    assert devices.compiler_options.__wrapped__() == {"xla_cpu_multi_thread_eigen": False}


@pytest.mark.parametrize(
    "parts",
    [
        lambda x: {"search_control": Mixture(NearestToGoal(x), Several((NearestToGoal(x),)))},
        lambda x: {"model": Wishful(LearnedModel(learning_rate=x, hidden=(4,), batch_size=4))},
    ],
    ids=["strategy", "model"],
)
def test_numbers_of_parts_inside_parts_are_swept_in_one_program(parts):
    one, other = (
        dataclasses.replace(
            SMALL,
            agent=DQN(hidden=(4,)),
            training=Training(steps=60, warmup=30, planning_steps=1, replay_size=60),
            evaluation=Evaluation(every=60),
            **parts(x),
        )
        for x in (0.01, 0.3)
    )
    together = train([one, other], seeds=[0])
    for number, settings in enumerate((one, other)):
        alone = train(settings, seeds=[0, 1])  # as many agents: the same program
        assert_same_bits(leaves(together, 0, number), leaves(alone, 0))
    pairs = zip(leaves(together, 0, 0), leaves(together, 0, 1), strict=True)
    assert not all(np.array_equal(*pair) for pair in pairs), "the number must reach the program"
