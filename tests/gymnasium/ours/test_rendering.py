"""Pictures show what is where; the window needs pygame and says so."""

import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.error import DependencyNotInstalled
from gymnasium.utils.env_checker import check_env
from PIL import ImageColor

from hcdyna import SettingsError
from hcdyna.gymnasium.ours import TIME_LIMITS, drawing

UP, RIGHT = 0, 3
NAMES = [f"hcdyna/{name}-v0" for name in TIME_LIMITS]


def pictured(name, **settings):
    return gymnasium.make(f"hcdyna/{name}-v0", render_mode="rgb_array", **settings)


def assert_colour(frame, point, colour):
    column, row = drawing.pixel(*point)
    np.testing.assert_array_equal(frame[round(row), round(column)], ImageColor.getrgb(colour))


def agent_at(frame):
    """The middle of the agent, in the unit square."""
    rows, columns = np.nonzero((frame == ImageColor.getrgb(drawing.AGENT)).all(axis=-1))
    inside = drawing.SIDE - 2 * drawing.MARGIN
    # A pixel's middle is half a pixel from its edge.
    x = (columns.mean() + 0.5 - drawing.MARGIN) / inside
    return x, (drawing.SIDE - drawing.MARGIN - rows.mean() - 0.5) / inside


@pytest.mark.parametrize("name", ["GridWorld", "GridWorldContinuous"])
@pytest.mark.parametrize("state", [(0.3, 0.8), (0.9, 0.1), (0.0, 1.0)])
def test_everything_of_the_square_is_where_it_should_be(name, state):
    env = pictured(name)
    env.reset(options={"state": state})
    frame = env.render()
    assert frame.shape == (512, 512, 3)
    assert frame.dtype == np.uint8
    np.testing.assert_allclose(agent_at(frame), state, atol=0.005)
    assert_colour(frame, (0.975, 0.975), drawing.GOAL)
    assert_colour(frame, (0.025, 0.025), drawing.START)
    for height in (0.02, 0.39, 0.51, 0.98):
        for x in (0.51, 0.59):
            assert_colour(frame, (x, height), drawing.WALL)
    for point in [(0.55, 0.41), (0.55, 0.49), (0.49, 0.2), (0.61, 0.2), (0.94, 0.94), (0.06, 0.06)]:
        assert_colour(frame, point, drawing.FLOOR)


def test_a_world_without_wall_shows_none():
    env = pictured("GridWorld", wall=False)
    env.reset(seed=0)
    assert_colour(env.render(), (0.55, 0.2), drawing.FLOOR)


@pytest.mark.parametrize("size", [2, 20, 60])
def test_cells_are_where_they_should_be(size):
    env = pictured("TabularGridWorld", size=size)
    env.reset(options={"state": size})  # second column, lowest row
    frame = env.render()
    np.testing.assert_allclose(agent_at(frame), (1.5 / size, 0.5 / size), atol=0.005)
    assert_colour(frame, (0.5 / size, 0.5 / size), drawing.START)
    assert_colour(frame, (1 - 0.5 / size, 1 - 0.5 / size), drawing.GOAL)


def test_the_way_is_shown_until_the_next_episode():
    env = pictured("GridWorld")
    env.reset(options={"state": [0.2, 0.2]})
    for _ in range(4):
        env.step(RIGHT)
    frame = env.render()
    np.testing.assert_allclose(agent_at(frame), (0.4, 0.2), atol=0.005)
    column, row = (round(number) for number in drawing.pixel(0.325, 0.2))
    red, green, blue = frame[row, column].tolist()
    assert red < green < blue
    env.reset(options={"state": [0.2, 0.2]})
    assert_colour(env.render(), (0.325, 0.2), drawing.FLOOR)


def test_frames_are_separate():
    env = pictured("GridWorld")
    env.reset(seed=0)
    first = env.render()
    kept = first.copy()
    env.step(UP)
    assert not np.array_equal(env.render(), first)
    np.testing.assert_array_equal(first, kept)


def test_without_a_mode_there_is_nothing_to_see():
    env = gymnasium.make("hcdyna/GridWorld-v0").unwrapped
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="rgb_array"):
        assert env.render() is None
    with pytest.raises(SettingsError, match="human or rgb_array"):
        type(env)(render_mode="ansi")


def test_without_pygame_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(DependencyNotInstalled, match=r"hcdyna\[render\]"):
        gymnasium.make("hcdyna/GridWorld-v0", render_mode="human")


@pytest.fixture
def pygame(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    return pytest.importorskip("pygame", reason="pygame is not installed")


@pytest.mark.parametrize("name", NAMES)
def test_the_checker_of_gymnasium_likes_every_mode(name, pygame):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(name).unwrapped)


def test_the_window_shows_the_picture(pygame):
    env, picture = gymnasium.make("hcdyna/GridWorld-v0", render_mode="human"), pictured("GridWorld")
    for each in (env, picture):
        each.reset(seed=0)
        each.step(UP)
    shown = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
    np.testing.assert_array_equal(shown, picture.render())
    assert env.render() is None
    env.close()
    assert not pygame.display.get_init()
