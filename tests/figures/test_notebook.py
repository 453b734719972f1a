"""What a notebook shows of runs, agents and settings."""

import base64
import re

import pytest
from matplotlib.figure import Figure

from hcdyna import DQN, HillClimbing, Settings, Training
from hcdyna.settings.plain import settings_from_plain, settings_to_plain
from nearest_to_goal import NearestToGoal
from parts_of_ours import Mixture


def test_a_run_in_a_line_and_as_a_page(run, broken):
    assert repr(run).startswith("Run(GridWorld: dqn, model true, hill_climbing, n = 1; 2 seeds; ")
    assert "100 of 100 steps; return " in repr(run)
    page = run._repr_html_()
    assert "Run(GridWorld" in page
    assert "after 100 steps" in page
    (image,) = re.findall(r"base64,([^\"]+)", page)
    assert base64.b64decode(image).startswith(b"\x89PNG")
    assert len(page) < 60_000
    assert "2 of 4" in broken._repr_html_()


def test_a_plot_is_a_figure(run):
    figure = run.plot("iqm")
    assert isinstance(figure, Figure)
    assert "interquartile mean" in figure.axes[0].get_title()


def test_an_agent(run):
    agent = run.agent(8)
    assert repr(agent).endswith("n = 1; seed 8 after 100 steps)")
    assert "one of 4 actions" in agent._repr_html_()
    assert "2 numbers" in agent._repr_html_()


def test_settings_say_what_is_not_as_usual():
    training = Training(steps=300)
    settings = Settings("CartPole", DQN(hidden=(8,)), training=training)
    text = repr(settings)
    assert text == (
        "Settings(CartPole(), DQN(hidden=(8,)), TrueModel(), HillClimbing(), "
        "training=Training(steps=300))"
    )
    page = settings._repr_html_()
    assert "<b>Training</b> steps = 300" in page
    assert "<th>search control</th><td><b>HillClimbing</b>" in page


@pytest.mark.parametrize("look", [False, True], ids=["imported", "described"])
def test_parts_of_ones_own_inside_parts(look):
    mixture = Mixture(HillClimbing(eta=0.3), NearestToGoal(0.4))
    settings = settings_from_plain(settings_to_plain(Settings(search_control=mixture)), look=look)
    assert "Mixture" in repr(settings)
    assert "0.3" in repr(settings)
    assert "Mixture" in settings._repr_html_()
