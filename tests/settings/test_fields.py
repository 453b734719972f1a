"""Every whole number has bounds that make sense, and 1e5 is a whole number."""

import dataclasses
import importlib

import numpy as np
import pytest

from hcdyna import DQN, Evaluation, HillClimbing, LearnedModel, Settings, SettingsError, Training
from hcdyna.cli import COMMANDS
from hcdyna.settings import registry
from hcdyna.settings.fields import (
    MOST,
    MOST_SEEDS,
    check,
    hints_of,
    kinds_of,
    later,
    made,
    number,
    seeds_of,
    shown,
)
from hcdyna.settings.plain import part_from_plain


def whole_numbers(kind):
    """The fields of a dataclass that hold whole numbers."""
    hints = hints_of(kind)
    return [f for f in dataclasses.fields(kind) if int in kinds_of(hints[f.name])]


PARTS = [registry.lookup(group, name) for group, parts in registry.PARTS.items() for name in parts]
FIELDS = [(k, f) for k in (*PARTS, Training, Evaluation) for f in whole_numbers(k)]


@pytest.mark.parametrize(
    ("kind", "field"), FIELDS, ids=[f"{kind.__name__}.{field.name}" for kind, field in FIELDS]
)
def test_whole_numbers_of_parts_have_an_upper_bound(kind, field):
    most = field.metadata["bounds"]["at most"]
    assert most is not None
    assert most <= MOST
    for value in (most + 1, 2**63, 10**400, float(most) * 2):
        with pytest.raises(SettingsError) as refusal:
            kind(**{field.name: value})
        said = str(refusal.value)
        assert said.startswith(f"{kind.__name__}.{field.name} = ")
        assert f"at most {most}" in said
        assert "\n" not in said
        assert len(said) < 300
    assert getattr(kind(**{field.name: most}), field.name) == most


def commands():
    """The dataclass of options of every command but train, whose are those of the parts."""
    for name in COMMANDS:
        if name != "train":
            module = importlib.import_module(f"hcdyna.cli.commands.{name.replace('-', '_')}")
            yield getattr(module, name.title().replace("-", ""))


def test_whole_numbers_of_commands_have_an_upper_bound():
    found = [(kind, field) for kind in commands() for field in whole_numbers(kind)]
    assert len(found) >= 7
    for kind, field in found:
        bounds = field.metadata.get("bounds", {})
        assert bounds.get("at most") is not None, f"{kind.__name__}.{field.name}"
        assert bounds.get("at least") is not None, f"{kind.__name__}.{field.name}"


def test_a_whole_number_without_bounds_of_its_own_has_some_all_the_same():
    @dataclasses.dataclass(frozen=True)
    class Mine:
        size: int = number(3)

        def __post_init__(self):
            check(self)

    hints_of.cache_clear()
    with pytest.raises(SettingsError, match=r"size = 2147483648: must be .* at most 2147483647"):
        Mine(2**31)


@pytest.mark.parametrize("value", [1e5, 100_000, np.int64(100_000), np.float32(1e5)])
def test_a_number_gets_the_type_of_its_field(value):
    training = Training(steps=value)
    assert training.steps == 100_000
    assert type(training.steps) is int
    assert type(DQN(learning_rate=np.float32(1)).learning_rate) is float
    assert part_from_plain(Training, {"steps": value}) == training


@pytest.mark.parametrize("value", [1.5, float("nan"), float("inf"), "1e5", True, None, 1e400])
def test_what_is_not_whole_is_refused(value):
    with pytest.raises(SettingsError, match=r"^Training.steps = .*: must be"):
        Training(steps=value)


@pytest.mark.parametrize("value", [1e39, -1e39, 10**400, np.float16("inf"), np.longdouble("1e39")])
def test_what_single_precision_has_no_place_for_is_refused(value):
    with pytest.raises(SettingsError, match=r"HillClimbing.eta = .*: must be a finite number"):
        HillClimbing(eta=value)


@pytest.mark.parametrize("hidden", [(65_537,), (8,) * 17, (True,), (1.5,), (10**30,), [8]])
@pytest.mark.parametrize("kind", [DQN, LearnedModel])
def test_layers_have_bounds(kind, hidden):
    with pytest.raises(SettingsError, match=r"hidden = .*: must be whole numbers above 0 and at"):
        kind(hidden=hidden)


def test_one_number_is_not_layers():
    with pytest.raises(SettingsError, match=r"DQN.hidden = 8: must be a tuple"):
        DQN(hidden=8)


def test_layers_may_be_written_as_reals():
    assert DQN(hidden=(1e2, 32)).hidden == (100, 32)


def test_evaluations_have_a_bound():
    with pytest.raises(SettingsError, match=r"Evaluation.every = 1: must be at least 2000 with"):
        Settings(training=Training(steps=2_000_000_000), evaluation=Evaluation(every=1))


@pytest.mark.parametrize(
    "seeds", [0, -1, MOST_SEEDS + 1, 2**31, 10**12, 1.5, True, "3", None, [], [-1], [2**32], [0.5]]
)
def test_seeds_that_cannot_be(seeds):
    with pytest.raises(SettingsError, match=r"^seeds = .*: must be a number from 1 to 100000, or"):
        seeds_of(seeds)


def test_seeds():
    assert seeds_of(3) == [0, 1, 2]
    assert seeds_of(np.array([4, 2**32 - 1])) == [4, 2**32 - 1]
    assert seeds_of(range(5, 7)) == [5, 6]
    with pytest.raises(SettingsError, match="must all be different"):
        seeds_of([1, 1])


def test_what_is_shown_of_a_value_is_short():
    laughs = ["ha"] * 9
    for _ in range(12):
        laughs = [laughs] * 9
    for value in (laughs, "x" * 10**6, 10**10_000, {"a": laughs}, "a\nb"):
        assert len(shown(value)) < 1_000
        assert "\n" not in shown(value)


def test_what_is_made_may_be_no_dataclass_and_what_goes_wrong_is_one_line():
    class Plain:
        pass

    class Picky:
        def __init__(self):
            raise ValueError("two\nlines")

    assert type(made(Plain, {})) is Plain
    with pytest.raises(SettingsError, match=r"^Plain.x: no such field: known: none$"):
        made(Plain, {"x": 1})
    with pytest.raises(SettingsError, match=r"^Picky: two lines$"):
        made(Picky, {})


def test_a_later_field_has_bounds_and_knows_what_was_before():
    @dataclasses.dataclass(frozen=True)
    class Grown:
        share: float = later(0.5, before=0.0, above=0, at_most=1)
        members: int = later(3, before=1, at_least=1)

        __post_init__ = check

    assert Grown(members=4.0) == Grown(0.5, 4)
    for values in ({"share": 0}, {"share": 1.5}, {"members": 0}, {"members": 1.5}):
        with pytest.raises(SettingsError, match=rf"Grown.{next(iter(values))} = .*must be"):
            Grown(**values)
    assert [field.metadata["before"] for field in dataclasses.fields(Grown)] == [0.0, 1]
