"""Fields of all parts by their own names."""

import pytest

from hcdyna import DQN, HillClimbing, LearnedModel, Settings, SettingsError
from hcdyna.settings.flat import with_fields
from hcdyna.settings.shorthand import settings_named


def test_fields_of_every_part():
    found = settings_named(
        "CartPole-v1",
        agent=DQN(hidden=(8,)),
        learning_rate=0.01,
        steps=300,
        eta=0.5,
        members=3,
        every=100,
        episodes=7,
        discount=0.9,
    )
    assert found.agent == DQN(hidden=(8,), learning_rate=0.01)
    assert found.training.steps == 300
    assert found.search_control == HillClimbing(eta=0.5, skip_known=True)
    assert found.model == LearnedModel(members=3)
    assert (found.evaluation.every, found.evaluation.episodes) == (100, 7)
    assert found.environment.discount == 0.9


def test_training_and_the_agent_come_first_and_a_part_can_be_named():
    found = with_fields(
        Settings(model="learned"),
        {
            "epsilon": 0.2,
            "evaluation_epsilon": 0.0,
            "search_control_steps": 5,
            "model_hidden": (4,),
        },
    )
    assert (found.training.epsilon, found.evaluation.epsilon) == (0.2, 0.0)
    assert (found.training.steps, found.search_control.steps) == (50_000, 5)
    assert (found.agent.hidden, found.model.hidden) == (Settings().agent.hidden, (4,))


def test_a_name_of_several_parts_is_refused():
    with pytest.raises(SettingsError, match="say model_normalise or search_control_normalise"):
        with_fields(Settings(model="learned"), {"normalise": False})


def test_a_wrong_value_is_named_by_its_field():
    with pytest.raises(SettingsError, match=r"Training.steps = 0: must be at least 1"):
        settings_named("GridWorld", steps=0)
