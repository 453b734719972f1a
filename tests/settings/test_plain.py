"""Settings as plain data and back, with parts that are made of parts."""

import dataclasses
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hcdyna import DQN, HillClimbing, LearnedModel, Settings, SettingsError, Uniform
from hcdyna.settings import presets
from hcdyna.settings.importing import Described
from hcdyna.settings.plain import differences, settings_from_plain, settings_to_plain, to_act
from nearest_to_goal import NearestToGoal
from parts_of_ours import Mixture, NoDataclass, Pond, Several, Shore, Wishful

NESTED = Settings(
    environment=Pond(stroke=0.2, start=Shore(low=0.7)),
    agent=DQN(hidden=(4,)),
    model=Wishful(LearnedModel(learning_rate=0.01)),
    search_control=Mixture(
        first=Mixture(HillClimbing(eta=0.3, criterion=settings_to_plain), NearestToGoal(0.4)),
        second=Several((NearestToGoal(0.1), Uniform(), Several(()))),
        share=0.25,
    ),
)


def test_parts_inside_parts_say_which_they_are():
    plain = settings_to_plain(NESTED)
    assert plain["environment"] == {
        "name": "parts_of_ours:Pond",
        "stroke": 0.2,
        "start": {"part": "parts_of_ours:Shore", "low": 0.7, "high": 1.0},
    }
    assert plain["model"]["member"]["part"] == "models.learned"
    inner = plain["search_control"]["first"]
    assert inner["part"] == "parts_of_ours:Mixture"
    assert inner["first"]["part"] == "search_control.hill_climbing"
    assert inner["first"]["criterion"] == {"import": "hcdyna.settings.plain:settings_to_plain"}
    assert plain["search_control"]["second"]["members"] == [
        {"part": "nearest_to_goal:NearestToGoal", "spread": 0.1},
        {"part": "search_control.uniform"},
        {"part": "parts_of_ours:Several", "members": []},
    ]


def test_they_come_back_from_a_file_as_they_were():
    plain = json.loads(json.dumps(settings_to_plain(NESTED)))
    assert settings_from_plain(plain) == NESTED
    assert to_act(NESTED) is NESTED


def test_they_come_back_from_a_preset_as_they_were(tmp_path):
    (tmp_path / "mine.yaml").write_text(presets.dump(NESTED))
    assert presets.settings(str(tmp_path / "mine.yaml")) == NESTED


LOOK = """
import json, sys
from hcdyna.settings.plain import settings_from_plain, settings_to_plain
plain = json.load(sys.stdin)
looked = settings_from_plain(plain, look=True)
assert looked == settings_from_plain(plain, look=True)
assert not {"parts_of_ours", "nearest_to_goal"} & set(sys.modules)
assert settings_to_plain(looked) == plain
print(looked.search_control)
print(looked.model)
"""


def test_to_look_at_them_nothing_is_imported_that_is_not_ours():
    answer = subprocess.run(
        [sys.executable, "-c", LOOK],
        input=json.dumps(settings_to_plain(NESTED)),
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    strategy, model = answer.stdout.splitlines()
    assert strategy.startswith("Mixture(first=Mixture(first=HillClimbing(steps=100,")
    assert "criterion=settings_to_plain" in strategy
    assert strategy.endswith(
        "second=Several(members=(NearestToGoal(spread=0.1), Uniform(), Several(members=()))), "
        "share=0.25)"
    )
    assert model.startswith("Wishful(member=LearnedModel(learning_rate=0.01,")


@pytest.mark.parametrize(
    "search_control",
    [
        Mixture(first=NearestToGoal(0.3)),
        HillClimbing(criterion=NearestToGoal(0.3)),
        Several((NearestToGoal(0.3),)),
    ],
)
def test_what_was_only_described_is_imported_to_act(search_control):
    settings = Settings(search_control=search_control)
    looked = settings_from_plain(settings_to_plain(settings), look=True)
    assert "NearestToGoal(spread=0.3)" in repr(looked.search_control)
    assert looked != settings
    assert to_act(looked) == settings


def test_differences_name_the_part_inside():
    def plain(**options: Any) -> Any:
        return settings_to_plain(dataclasses.replace(NESTED, search_control=Mixture(**options)))

    assert differences(plain(), plain(first=NearestToGoal(0.3))) == [
        "search_control.first.spread: 0.2 → 0.3"
    ]
    several = [plain(first=Several((Uniform(), NearestToGoal(x)))) for x in (0.1, 0.5)]
    assert differences(*several) == ["search_control.first.members.1.spread: 0.1 → 0.5"]
    assert differences(plain(), plain(first=Uniform())) == [
        "search_control.first.part: nearest_to_goal:NearestToGoal → search_control.uniform",
        "search_control.first.spread: 0.2 → absent",
    ]


@dataclass(frozen=True)
class GridWorld:
    """Another one than ours, of the same name."""

    size: float = 1.0

    def build(self):
        raise AssertionError


def test_a_class_that_is_called_like_one_of_ours_is_another():
    plain = settings_to_plain(Settings(environment=GridWorld(2.0)))
    assert plain["environment"] == {"name": "test_plain:GridWorld", "size": 2.0}
    assert settings_from_plain(plain).environment == GridWorld(2.0)
    assert isinstance(settings_from_plain(plain, look=True).environment, Described)


@dataclass(frozen=True)
class HasName:
    name: str = "x"
    build: Any = None


Made = dataclasses.make_dataclass("Unfound", [("spread", float, 0.1)], frozen=True)

REFUSED = {
    "search_control = <parts_of_ours.NoDataclass object": lambda: NoDataclass(),
    "make NoDataclass a frozen dataclass": lambda: NoDataclass(),
    "HasName.name: can't be saved with the run; call": lambda: HasName(build=len),
    "Mixture.first = local.<locals>.Local()": lambda: Mixture(first=local()),
    "Mixture.first = Unfound(spread=0.1): can't be saved": lambda: Mixture(first=Made()),
    "define Local at the top level of a module": lambda: Mixture(first=local()),
    "Several.members = <function": lambda: Several((Uniform(), lambda: None)),
    "Mixture.first = ((1,),): can't be saved": lambda: Mixture(first=((1,),)),
}


def local() -> Any:
    @dataclass(frozen=True)
    class Local:
        pass

    return Local()


@pytest.mark.parametrize("said", REFUSED)
def test_what_can_not_be_read_again_is_not_saved(said):
    with pytest.raises(SettingsError) as refusal:
        settings_to_plain(Settings(search_control=REFUSED[said]()))
    assert said in str(refusal.value)
    assert "\n" not in str(refusal.value)


BAD = {
    "HillClimbing.eta = -1: must be at least 0": {
        "part": "search_control.hill_climbing",
        "eta": -1,
    },
    "HillClimbing.etta: no such field: did you mean eta?": {
        "part": "search_control.hill_climbing",
        "etta": 1,
    },
    "search_control: unknown name 'hill_climb': did you mean": {
        "part": "search_control.hill_climb"
    },
    "part = 'hill_climbing': must be like search_control.uniform": {"part": "hill_climbing"},
    "can't import 'no_such_module:X': No module named 'no_such_module'; it is looked for in": {
        "part": "no_such_module:X"
    },
    "'parts_of_ours:a_function' is not a dataclass": {"part": "parts_of_ours:a_function"},
    "Demanding.spread: must be given, or have a default": {"part": "parts_of_ours:Demanding"},
    "Grumpy: I want less spread": {"part": "parts_of_ours:Grumpy", "spread": 2.0},
    "Mixture.first = {'eta': 0.3}: must be a value, or say which part it is": {"eta": 0.3},
    "Mixture.first = 3: must be given from Python, as an object": 3,
}


@pytest.mark.parametrize("said", BAD)
def test_bad_parts_inside_a_part_are_refused_in_one_line(said):
    plain = settings_to_plain(Settings())
    plain["search_control"] = {"name": "parts_of_ours:Mixture", "first": BAD[said]}
    with pytest.raises(SettingsError) as refusal:
        settings_from_plain(plain)
    assert said in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_part_that_contains_itself_is_refused():
    endless: dict[str, Any] = {"part": "parts_of_ours:Mixture"}
    endless["first"] = endless
    plain = settings_to_plain(Settings()) | {"search_control": {"name": "a:B", "first": endless}}
    for look in (True, False):
        plain["search_control"]["name"] = "parts_of_ours:Mixture"
        with pytest.raises(SettingsError, match="nested too deeply"):
            settings_from_plain(plain, look)
