"""Bad input fails at once, in one line that names the field, the value and what is right."""

import math

import pytest

from hcdyna import (
    DQN,
    CartPole,
    Evaluation,
    GridWorld,
    HillClimbing,
    LearnedModel,
    Settings,
    SettingsError,
    Training,
    train,
)
from hcdyna.settings import traced_numbers, with_numbers
from nearest_to_goal import NearestToGoal
from parts_of_ours import Fixed, Mixture, Pond, Several, Wishful

BAD = {
    "mixing_rate = 1.5: must be at least 0 and at most 1": lambda: Training(mixing_rate=1.5),
    "mixing_rate = -0.1: must be": lambda: Training(mixing_rate=-0.1),
    "batch_size = 0: must be at least 1": lambda: Training(batch_size=0),
    "batch_size = 3.5: must be a whole number": lambda: Training(batch_size=3.5),
    "batch_size = True: must be a whole number": lambda: Training(batch_size=True),
    "steps = -1: must be at least 0": lambda: HillClimbing(steps=-1),
    "eta = -0.1: must be at least 0": lambda: HillClimbing(eta=-0.1),
    "noise = 'red': must be one of full, diagonal, none": lambda: HillClimbing(noise="red"),
    "natural_gradient = 'yes': must be True or": lambda: HillClimbing(natural_gradient="yes"),
    "learning_rate = nan: must be a finite": lambda: DQN(learning_rate=math.nan),
    "learning_rate = inf: must be a finite": lambda: DQN(learning_rate=math.inf),
    "learning_rate = 0.0: must be above 0": lambda: DQN(learning_rate=0.0),
    "learning_rate = '1e-3': must be a number": lambda: DQN(learning_rate="1e-3"),
    "hidden = (32, 0): must be whole numbers": lambda: DQN(hidden=(32, 0)),
    "activation = 'gelu': must be one of relu, tanh": lambda: DQN(activation="gelu"),
    "hidden = (0,): must be whole numbers": lambda: LearnedModel(hidden=(0,)),
    "epsilon = 2: must be at least 0 and at most 1": lambda: Evaluation(epsilon=2),
    "time_limit = 0: must be at least 1": lambda: GridWorld(time_limit=0),
    "discount = 1.1: must be": lambda: CartPole(discount=1.1),
    "replay_size = 16: must be at least the batch size, 32": lambda: Settings(
        training=Training(replay_size=16)
    ),
    "did you mean GridWorld?": lambda: Settings(environment="GridWorl"),
    "'double_dqn': it is now name dqn, double True, dueling True": lambda: Settings(
        agent="double_dqn"
    ),
    "unknown name 'xyzzy': known: replay": lambda: Settings(search_control="xyzzy"),
    "Settings.agent = 3: must be a name or": lambda: Settings(agent=3),
    "Settings.training = None: must be a Training": lambda: Settings(training=None),
    "agent = dqn: GridWorldContinuous has continuous": lambda: train(
        Settings(environment="GridWorldContinuous")
    ),
    "agent = dqn: TabularGridWorld": lambda: train(Settings(environment="TabularGridWorld")),
    "seeds = []: must be": lambda: train(Settings(), seeds=[]),
    "seeds = [-1]: must be": lambda: train(Settings(), seeds=[-1]),
    "search_control: 'parts_of_ours:Pond' must have a method build that asks": lambda: Settings(
        search_control="parts_of_ours:Pond"
    ),
    "search_control: 'parts_of_ours:Shore' must have a method": lambda: Settings(
        search_control="parts_of_ours:Shore"
    ),
    "models: can't import 'parts_of_ours:Nothing': module 'parts_of_ours' has no": lambda: Settings(
        model="parts_of_ours:Nothing"
    ),
    "environments: can't import 'no_module:Mine': No module named 'no_module'": lambda: train(
        "no_module:Mine"
    ),
    "environment = no_module:Mine-v0: No module named 'no_module'": lambda: train(
        "no_module:Mine-v0"
    ),
    "settings: unhashable type: 'list'; parts must be frozen": lambda: train(
        Settings(search_control=Several([NearestToGoal()]))
    ),
    "settings = [5, …]: must be a list of Settings": lambda: train([5]),
    "Settings.environment = DQN(": lambda: train(DQN()),
    "is one of the environments; must be one of the search_control": lambda: Settings(
        search_control=GridWorld()
    ),
    "make 2 different programs": lambda: train(
        [Settings(), Settings(training=Training(batch_size=16))]
    ),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_is_refused_in_one_line(message):
    with pytest.raises(SettingsError) as refusal:
        BAD[message]()
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_names_and_objects_are_the_same_settings():
    assert Settings(environment="CartPole", model="learned") == Settings(
        environment=CartPole(), model=LearnedModel()
    )


def test_only_numbers_that_decide_no_shape_are_traced():
    numbers = traced_numbers(Settings())
    assert numbers["agent.learning_rate"] == 1e-4
    assert numbers["search_control.eta"] == 0.1
    assert "training.mixing_rate" not in numbers
    assert not any(path.startswith("environment") for path in numbers)


def test_exchanging_numbers_leaves_the_rest():
    changed = with_numbers(Settings(), {"agent.learning_rate": 0.5, "training.epsilon": 0.2})
    assert changed == Settings(agent=DQN(learning_rate=0.5), training=Training(epsilon=0.2))


def test_a_whole_number_in_a_real_field_is_traced_all_the_same():
    settings = Settings(search_control=HillClimbing(eta=0), agent=DQN(learning_rate=1))
    assert traced_numbers(settings)["search_control.eta"] == 0.0
    assert isinstance(settings.agent.learning_rate, float)


def test_a_class_by_its_place_is_the_same_as_an_object():
    assert Settings(
        environment="parts_of_ours:Pond",
        model="parts_of_ours:Wishful",
        search_control="parts_of_ours:Mixture",
    ) == Settings(environment=Pond(), model=Wishful(), search_control=Mixture())


def test_numbers_of_parts_inside_parts_are_traced():
    nested = Settings(
        model=Wishful(),
        search_control=Mixture(Mixture(NearestToGoal(0.3)), Several((HillClimbing(eta=0.7),))),
    )
    numbers = traced_numbers(nested)
    assert numbers["search_control.share"] == 0.5
    assert numbers["search_control.first.first.spread"] == 0.3
    assert numbers["search_control.second.members.0.eta"] == 0.7
    assert numbers["model.member.learning_rate"] == 1e-3
    changed = with_numbers(
        nested,
        {"search_control.first.first.spread": 0.9, "search_control.second.members.0.eta": 0.8},
    )
    assert changed == Settings(
        model=Wishful(),
        search_control=Mixture(Mixture(NearestToGoal(0.9)), Several((HillClimbing(eta=0.8),))),
    )
    assert traced_numbers(nested) == numbers, "the original is as it was"


def test_a_part_whose_field_is_static_keeps_its_numbers():
    numbers = traced_numbers(Settings(search_control=Fixed(second=NearestToGoal(0.4))))
    assert "search_control.first.spread" not in numbers
    assert numbers["search_control.second.spread"] == 0.4
