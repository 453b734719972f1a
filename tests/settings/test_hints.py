"""Hints name what was meant."""

import pytest

from hcdyna import SettingsError, train
from hcdyna.settings.hints import did_you_mean, nearest

OPTIONS = ["--help", "--steps", "--planning-steps", "--mixing-rate", "--env.discount", "--seeds"]
OPTIONS += ["--agent.learning-rate", "--model.learning-rate", "--search.eta", "--search-control"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("--lr", "--agent.learning-rate"),
        ("--learning-rate", "--agent.learning-rate"),
        ("--learning_rate", "--agent.learning-rate"),
        ("--model.lr", "--model.learning-rate"),
        ("--agent.learning-rat", "--agent.learning-rate"),
        ("--eta", "--search.eta"),
        ("--search.etta", "--search.eta"),
        ("--serach-control", "--search-control"),
        ("--gamma", "--env.discount"),
        ("--rho", "--mixing-rate"),
        ("--total-timesteps", "--steps"),
        ("--seed", "--seeds"),
        ("--hepl", None),
        ("--x", None),
        ("--", None),
    ],
)
def test_nearest_option(name, meant):
    assert nearest(name, OPTIONS) == meant


def test_nothing_known_is_nothing_meant():
    assert nearest("anything", []) is None
    assert did_you_mean("anything", []) == ""
    assert did_you_mean("stesp", ["steps"]) == "did you mean steps? "


@pytest.mark.parametrize(
    ("option", "meant"),
    [
        ({"lr": 1e-3}, "did you mean learning_rate? "),
        ({"etta": 0.5}, "did you mean eta? "),
        ({"evaluation_evry": 5}, "did you mean evaluation_every? "),
        ({"stesp": 100}, "did you mean steps? "),
        ({"n": 3}, "did you mean planning_steps? "),
        ({"eps": 0.1}, "did you mean epsilon? "),
        ({"learning_starts": 100}, "did you mean warmup? "),
        ({"target_update_interval": 3}, "did you mean target_period? "),
        ({"agent_lr": 0.1}, "did you mean agent_learning_rate? "),
        ({"search_control_etta": 1}, "did you mean search_control_eta? "),
        ({"critics": 2}, "only agent = ddpg has it; "),
        ({"model_members": 3}, "only model = learned has it; "),
        ({"kwargs": ()}, "only environment = any Gymnasium id has it; "),
        ({"zzz": 3}, ": known: "),
    ],
)
def test_an_unknown_option_of_train_names_where_it_belongs(option, meant):
    with pytest.raises(SettingsError) as refusal:
        train("GridWorld", **option)
    assert meant in str(refusal.value)
