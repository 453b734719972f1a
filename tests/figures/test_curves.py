"""Curves are named after what differs between their settings, inside parts too."""

import dataclasses

import pytest

from hcdyna import HillClimbing, Settings, Uniform
from hcdyna.figures.curves import curves_of, flat, varying
from hcdyna.settings.plain import settings_from_plain, settings_to_plain
from nearest_to_goal import NearestToGoal
from parts_of_ours import Mixture, Several, Shore, Wishful

BOTH_WAYS = pytest.mark.parametrize(
    "seen",
    [lambda s: s, lambda s: settings_from_plain(settings_to_plain(s), look=True)],
    ids=["imported", "described"],
)


@BOTH_WAYS
def test_parts_inside_parts_are_shown_by_name_and_field(seen):
    members = (Uniform(), NearestToGoal(0.4))
    table = flat(seen(Settings(model=Wishful(), search_control=Mixture(Several(members)))))
    assert table["search_control.name"] == "Mixture"
    assert table["search_control.first"] == "Several"
    assert table["search_control.first.members.0"] == "uniform"
    assert table["search_control.first.members.1"] == "NearestToGoal"
    assert table["search_control.first.members.1.spread"] == 0.4
    assert table["model.member"] == "learned"
    assert table["model.member.hidden"] == (4,)
    assert "search_control.first.members" not in table


@BOTH_WAYS
def test_their_options_are_compared_among_the_same_parts(seen):
    first = (NearestToGoal(0.1), NearestToGoal(0.3), HillClimbing(), Uniform())
    settings = [seen(Settings(search_control=Mixture(part))) for part in first]
    assert varying(settings) == [
        {"search_control.first": "NearestToGoal", "search_control.first.spread": 0.1},
        {"search_control.first": "NearestToGoal", "search_control.first.spread": 0.3},
        {"search_control.first": "hill_climbing"},
        {"search_control.first": "uniform"},
    ]


def test_the_labels_of_curves(made_up):
    parts = (Mixture(NearestToGoal(0.1)), Mixture(NearestToGoal(0.3)), Mixture(Shore()), Uniform())
    runs = [
        dataclasses.replace(made_up, settings=[Settings(search_control=part)]) for part in parts
    ]
    assert [curve.label for curve in curves_of(runs)] == [
        "Mixture, first NearestToGoal, first.spread 0.1",
        "Mixture, first NearestToGoal, first.spread 0.3",
        "Mixture, first Shore",
        "Uniform-Dyna",
    ]
