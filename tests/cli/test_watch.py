"""hcdyna watch, and the films that it writes."""

import jax
import numpy as np
import pytest
from PIL import Image

import hcdyna
from hcdyna import Settings, Training
from hcdyna.cli import main
from hcdyna.figures import films
from hcdyna.figures.watch import MOST, frames, moments, watch
from hcdyna.gymnasium.theirs.environment import Hosted
from hcdyna.runs.playing import Episode, PictureKeeper, play
from hcdyna.runs.trained import TrainedAgent


def untrained(environment, agent="dqn"):
    """An agent of this world that knows nothing yet; nothing but its policy is compiled.

    Networks start with tiny outputs: ten times the weights make continuous actions that move.
    """
    settings = Settings(environment=environment, agent=agent, search_control="replay")
    init = settings.agent.build(settings.environment.build().spec).init
    state = jax.tree.map(lambda x: np.asarray(10 * x), init(jax.random.key(0)))
    return TrainedAgent(settings, state)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Two settings and two seeds that only warmed up, in a world that is left after 40 steps."""
    training = Training(steps=40, warmup=40, replay_size=100)
    world = hcdyna.GridWorld(time_limit=40)
    settings = [
        Settings(world, hcdyna.DQN(rate), search_control="replay", training=training)
        for rate in (1e-3, 1e-4)
    ]
    return hcdyna.train(settings, seeds=[4, 9], out=tmp_path_factory.mktemp("runs") / "run")


def refused(capsys, *arguments):
    assert main(["watch", *map(str, arguments)]) == 2
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    return printed.err


def test_watch_writes_a_film(run, tmp_path, capsys):
    out = tmp_path / "new" / "film.gif"
    words = ["--seed", "9", "--setting", "1", "--fps", "25", "--episodes", "2", "--out", str(out)]
    assert main(["watch", str(run.folder), *words]) == 0
    assert capsys.readouterr().out.strip() == str(out)
    with Image.open(out) as film:
        assert film.format == "GIF"
        assert film.size == (900, 450)
        assert film.n_frames > 20
        assert film.info["duration"] % 40 == 0
        first = np.array(film.convert("RGB")).astype(int)
        film.seek(film.n_frames - 1)
        last = np.array(film.convert("RGB")).astype(int)
    assert (np.abs(first - last).max(axis=-1) > 60).sum() > 20, "something has moved"


def test_watch_takes_the_file_of_an_agent(run, tmp_path):
    file = run.agent().save(tmp_path / "agent.safetensors")
    assert main(["watch", str(file), "--out", str(tmp_path / "film.gif")]) == 0


def test_bad_input_is_answered_in_one_line(run, tmp_path, capsys, monkeypatch):
    folder = run.folder
    assert "seed = 3" in refused(capsys, folder, "--seed", 3)
    assert "setting = 2" in refused(capsys, folder, "--setting", 2)
    assert "must end in .gif or .mp4" in refused(capsys, folder, "--out", tmp_path / "film.avi")
    assert "--fps 0" in refused(capsys, folder, "--fps", 0)
    assert "--episodes 0" in refused(capsys, folder, "--episodes", 0)
    assert "--epsilon 2.0" in refused(capsys, folder, "--epsilon", 2)
    assert "not a run folder" in refused(capsys, tmp_path)
    assert "no such file" in refused(capsys, tmp_path / "none.safetensors")
    monkeypatch.setattr(films.importlib.util, "find_spec", lambda name: None)
    assert "hcdyna[render]" in refused(capsys, folder, "--out", tmp_path / "film.mp4")


def test_mp4(run, tmp_path):
    pytest.importorskip("imageio_ffmpeg")
    film = watch(run.agent(), tmp_path / "film.mp4")
    assert film.read_bytes()[4:8] == b"ftyp"


@pytest.mark.parametrize(
    ("environment", "agent"),
    [
        (hcdyna.MountainCar(time_limit=5), "dqn"),
        (hcdyna.CartPole(time_limit=5), "dqn"),
        (hcdyna.Acrobot(time_limit=5), "dqn"),
        (hcdyna.TabularGridWorld(time_limit=5), "tabular"),
        (hcdyna.GridWorldContinuous(time_limit=5), "ddpg"),
    ],
)
def test_every_world_of_ours_moves(environment, agent):
    player = untrained(environment, agent)
    shown = list(frames(player, [play(player, epsilon=1.0)], "title"))
    assert len(shown) == 6
    assert all(frame.shape == (450, 900, 3) for frame in shown)
    for side, columns in {"world": slice(0, 385), "value": slice(410, 900)}.items():
        parts = [frame[60:, columns] for frame in shown]
        assert any((part != parts[0]).any() for part in parts), side


def test_an_environment_that_draws_itself():
    player = untrained(Hosted("CartPole-v1"))
    episode = play(player, seed=3)
    states, n = episode.states, len(episode.rewards)
    pictures = {step: np.full((40, 60, 3), 40 * (step % 5), np.uint8) for step in range(n + 1)}
    episode = Episode(states, episode.rewards, episode.terminated, pictures)
    shown = list(frames(player, [episode], "title"))
    assert len(shown) == n + 1
    middle = [int(frame[225, 220, 0]) for frame in shown[:5]]
    np.testing.assert_allclose(middle, [0, 40, 80, 120, 160], atol=1)


def test_an_environment_that_cannot_be_drawn_is_shown_by_its_variables(monkeypatch):
    player = untrained(Hosted("MountainCarContinuous-v0"), "ddpg")
    monkeypatch.setattr("gymnasium.Wrapper.render", lambda self: 1 / 0)
    with pytest.warns(UserWarning, match="can't be drawn"):
        episode = play(player, pictures=10, longest=8)
    assert episode.pictures == {}
    assert len(list(frames(player, [episode], "title"))) == 9


def test_an_agent_that_has_diverged_can_be_watched():
    for environment in (hcdyna.GridWorld(time_limit=3), hcdyna.CartPole(time_limit=3)):
        player = untrained(environment)
        player.state = jax.tree.map(lambda x: np.full_like(x, np.nan, float), player.state)
        assert list(frames(player, [play(player)], "title"))


def test_episodes_are_those_of_their_seed():
    player = untrained(hcdyna.GridWorld(time_limit=30))
    one, same, other = (play(player, seed, epsilon=0.5) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.states, same.states)
    assert (one.states != other.states).any()
    assert len(one.states) == len(one.rewards) + 1 == 31
    assert not one.terminated


def test_long_episodes_are_shown_in_larger_steps():
    def episode(n):
        return Episode(np.zeros((n + 1, 2)), np.zeros(n), True, {})

    assert moments([episode(5)]) == [(0, step) for step in range(6)]
    shown = moments([episode(2_000), episode(7)])
    first = [step for number, step in shown if number == 0]
    assert len(shown) <= MOST
    assert (first[0], first[-1]) == (0, 2_000)
    assert set(np.diff(first)) <= {13, 14}
    assert shown[-1] == (1, 7)


def test_the_gallery_keeps_evenly_spaced_pictures_and_the_last():
    class World:
        def picture(self):
            return np.zeros((1, 1, 3), np.uint8)

    keeper = PictureKeeper(most=10)
    for step in range(101):
        keeper.keep(step, World())
    keeper.keep(100, World(), last=True)
    assert list(keeper.pictures) == [0, 16, 32, 48, 64, 80, 96, 100]
