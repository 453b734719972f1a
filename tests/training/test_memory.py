"""The memory that a run will need is known before anything of it is made."""

import dataclasses

import jax
import pytest

from hcdyna import (
    DQN,
    ContinuousGibbs,
    Evaluation,
    HillClimbing,
    LearnedModel,
    Settings,
    SettingsError,
    Training,
)
from hcdyna.numerics.memory import free_memory, free_on_machine
from hcdyna.training import memory
from hcdyna.training.trainer import Trainer

LARGE = {
    "mini-batches": Settings(training=Training(planning_steps=200, batch_size=1_000)),
    "mini-batches of a learned model": Settings(
        environment="Acrobot",
        model="learned",
        training=Training(planning_steps=100, batch_size=1_000),
    ),
    "a climb": Settings(search_control=HillClimbing(steps=200_000)),
    "a grid": Settings(search_control=ContinuousGibbs(cells=300)),
    "episodes": Settings(evaluation=Evaluation(episodes=50_000)),
    "the network": Settings(agent=DQN(hidden=(1_024, 1_024))),
    "continuous actions": Settings(
        environment="GridWorldContinuous",
        agent="ddpg",
        training=Training(planning_steps=100, batch_size=1_000),
    ),
}


def by_xla(trainer):
    """Bytes beside the state that XLA sets aside for the programs of a trainer."""
    life, numbers, programs = trainer.shapes, trainer.numbers, trainer.programs
    learn = programs.learn.lower(life, numbers, 1).compile().memory_analysis()
    play = programs.evaluate.lower(life, numbers, trainer.seed_of_agent, 1).compile()
    return learn.temp_size_in_bytes, play.memory_analysis().temp_size_in_bytes


MORE = [pytest.param(name, marks=pytest.mark.slow) for name in list(LARGE)[1:]]


@pytest.mark.parametrize("what", ["mini-batches", *MORE])
def test_the_estimate_is_about_what_the_compiler_takes(what):
    trainer = Trainer([LARGE[what]], [0])
    for estimate, taken in zip(memory.in_a_step(trainer.settings[0]), by_xla(trainer), strict=True):
        if taken > 1e6:
            assert 0.7 * taken < estimate < 5 * taken


TOO_LARGE = {
    "lower training.replay_size = 2000000000": Settings(training=Training(replay_size=2 * 10**9)),
    "lower search_control.queue_size = 2000000000": Settings(
        search_control=HillClimbing(queue_size=2 * 10**9)
    ),
    "lower training.planning_steps = 10000, training.batch_size = 100000": Settings(
        training=Training(planning_steps=10_000, batch_size=100_000)
    ),
    "lower evaluation.episodes = 100000, or evaluate less often": Settings(
        evaluation=Evaluation(episodes=100_000, every=1), training=Training(steps=1_000_000)
    ),
    "lower the sizes of the networks": Settings(agent=DQN(hidden=(65_536,) * 16)),
    "training.batch_size = 32, or the sizes of search-control and networks": Settings(
        model=LearnedModel(hidden=(65_536, 8), batch_size=1_000_000)
    ),
}


@pytest.mark.parametrize("said", TOO_LARGE)
def test_what_does_not_fit_is_refused_before_anything_is_made(said):
    trainer = Trainer([TOO_LARGE[said]], list(range(10 if "less often" in said else 1_000)))
    with pytest.raises(SettingsError) as refusal:
        trainer.demand_memory()
    assert said in str(refusal.value)
    assert str(refusal.value).startswith("memory: about ")
    assert "\n" not in str(refusal.value)


def test_very_many_seeds_are_refused_before_anything_is_made():
    trainer = Trainer([Settings()], list(range(100_000)))
    with pytest.raises(SettingsError, match=r"for 100,000 agents.*lower search_control.queue_size"):
        trainer.demand_memory()


def test_very_many_episodes_of_trained_agents_are_refused():
    from hcdyna.runs.evaluating import compiled_episodes

    settings = Settings(agent=DQN(hidden=(2_048, 2_048)))
    state = settings.agent.build(settings.environment.build().spec).init(jax.random.key(0))
    every = jax.tree.map(lambda x: x[None], state)
    with pytest.raises(SettingsError, match=r"the episodes takes .*: lower episodes = 100000000"):
        compiled_episodes(settings, every, jax.numpy.zeros(1, "uint32"), 10**8, 0.1)


def test_settings_of_one_program_have_one_estimate():
    settings = Settings()
    other = dataclasses.replace(settings, agent=DQN(learning_rate=0.5))
    assert memory.in_a_step(other) == memory.in_a_step(settings)
    trainer = Trainer([settings, other], [0, 1])
    trainer.demand_memory()
    assert memory.KNOWN[trainer.static] == memory.in_a_step(settings)
    varied = [Settings(training=Training(mixing_rate=rho, planning_steps=n)) for rho, n in
              ((0.1, 2), (0.9, 4))]  # fmt: skip
    trainer = Trainer(varied, [0])
    trainer.demand_memory()
    assert memory.KNOWN[trainer.static] == memory.in_a_step(varied[1]), "all pay for the largest n"


def test_a_hosted_environment_has_an_estimate_too():
    learning, playing = memory.in_a_step(Settings(environment="CartPole-v1"))
    assert learning > 1_000
    assert playing == 0, "one episode after the other, on the host"


def test_free_memory_is_that_of_the_machine_or_less():
    machine = free_on_machine()
    assert machine is not None
    assert 0 < free_memory() <= 1.2 * machine
