"""Whatever an environment does, every command ends with one line and exit code 2, never with 0."""

import re

import pytest
import worlds_of_ours  # noqa: F401  (registers the environments)

from hcdyna import Evaluation, Settings, Training, load, train
from hcdyna.cli import main
from hcdyna.gymnasium.theirs import making
from hcdyna.gymnasium.theirs.environment import Hosted

NAME = "worlds_of_ours:Walk-v0"
ENDS = {"off": r"step called os._exit\(0\)", "on": "step raised .*ended with exit code 0"}
FAULTS = {
    "raises": "step raised OSError: the motor is gone",
    "stops": "step raised Stop: enough",
    "interrupts": r"step raised KeyboardInterrupt \(",
    "speechless": r"step raised Speechless \(",
    "exits": "step raised SystemExit: 0",
    "dies": ENDS,
    "freezes": r"step did not return within 2 s .*give --env.step-timeout",
    "not finite": "step returned an observation that is not finite",
    "list": r"step returned an observation \[.*\]; its space says shape \(2,\)",
    "reward": "step returned the reward nan; must be a finite number",
    "complex": r"step returned the reward .*1\+0j.*; must be a finite number",
    "bools": r"step returned the reward array\(\[ ?True, False\]\); must be",
    "large": r"step returned the reward 1e\+39; must be a finite number",
    "huge": r"step returned the reward about 2\*\*1328; must be a finite number",
    "endless": r"step returned the reward about 2\*\*16609; must be a finite number",
    "time": r"step returned the reward np.timedelta64\(3\); must be a finite number",
    "masked": "step returned an observation that is not finite",
    "touchy": "step returned the reward .*Touchy.*; must be a finite number",
    "none": "step returned terminated = None; must be True or False",
    "text": "step returned terminated = 'False'; must be True or False",
    "flags": r"step returned truncated = array\(.*; must be True or False",
    "zero": "step returned truncated = 0; must be True or False",
}
WORST = ("stops", "exits", "dies", "freezes")
"""Those that used to end a command without a line, or never."""


def slow(*values):
    """A case that is left to CI."""
    return pytest.param(*values, marks=pytest.mark.slow)


def settings(processes):
    """40 steps of warm-up: nothing is compiled but what the environments need."""
    return Settings(
        environment=Hosted(NAME, processes=processes, step_timeout=2.0),
        search_control="replay",
        training=Training(steps=40, warmup=40, replay_size=99),
        evaluation=Evaluation(every=40),
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Whose environments have not failed yet, in this process and in one of their own."""
    folder = tmp_path_factory.mktemp("runs")
    for processes in ("off", "on"):
        train(settings(processes), seeds=1, out=folder / processes)
    return folder


def demand_failure(code, capsys, fault, processes):
    words = FAULTS[fault]
    words = words if isinstance(words, str) else words[processes]
    printed = capsys.readouterr().err
    assert code == 2
    assert re.search(rf"^hcdyna: {NAME}: {words}", printed, re.MULTILINE), printed
    assert "(step 5 of this process)" in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("processes", ["off", slow("on")])
def test_check_env(fault, processes, capsys, monkeypatch):
    monkeypatch.setenv("WALK_FAULT", fault)
    options = ["--steps", "20", "--env.processes", processes, "--env.step-timeout", "2"]
    demand_failure(main(["check-env", NAME, *options]), capsys, fault, processes)


@pytest.mark.parametrize(
    ("fault", "processes"),
    [(fault, "off") for fault in (*WORST, "none")]
    + [(fault, "on") for fault in WORST]
    + [slow(fault, way) for fault in FAULTS if fault not in WORST for way in ("off", "on")],
)
@pytest.mark.parametrize("command", ["eval", slow("watch")])
def test_eval_and_watch(command, fault, processes, runs, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("WALK_FAULT", fault)
    film = tmp_path / "film.gif"
    more = ["--episodes", "1"] if command == "eval" else ["--out", str(film)]
    demand_failure(main([command, str(runs / processes), *more]), capsys, fault, processes)
    assert not film.exists()


@pytest.mark.parametrize("fault", ["stops", "interrupts", "exits", "dies", "freezes", "huge"])
@pytest.mark.parametrize("processes", ["off", slow("on")])
def test_train_saves_what_was_learned(fault, processes, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("WALK_FAULT", fault)
    words = (
        f"train --env {NAME} --env.step-timeout 2 --env.processes {processes} --quiet "
        f"--search-control replay --steps 40 --warmup 40 --replay-size 99 --out {tmp_path / 'run'}"
    )
    code = main(words.split())
    demand_failure(code, capsys, fault, processes)
    assert load(tmp_path / "run").state(0).replay.total == 4, "all steps before the failure"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("NoSpaces-v0", "needs observation_space and action_space; raised AttributeError"),
        ("Empty-v0", r"observations are Box.*\(0,\).*; must have at least one variable"),
        ("ExitsAtOnce-v0", "raised SystemExit: 0"),
        ("DiesAtOnce-v0", r"called os._exit\(0\)"),
    ],
)
@pytest.mark.parametrize("command", ["train --env", "check-env"])
def test_what_can_not_be_an_environment(command, name, words, capsys):
    assert main([*command.split(), f"worlds_of_ours:{name}"]) == 2
    printed = capsys.readouterr().err
    assert re.fullmatch(rf"hcdyna: environment = worlds_of_ours:{name}: {words}.*\n", printed)


@pytest.mark.parametrize("processes", ["off", "on"])
def test_answers_that_are_odd_but_right(processes, runs, capsys, monkeypatch):
    """Booleans of NumPy, and an info that can't be sent from one process to another."""
    for fault in ("bool", "info"):
        monkeypatch.setenv("WALK_FAULT", fault)
        options = ["--steps", "20", "--env.processes", processes]
        assert main(["check-env", NAME, *options]) == 0
        assert main(["eval", str(runs / processes), "--episodes", "1"]) == 0
    assert capsys.readouterr().err == ""


def test_a_close_that_fails_is_a_warning(runs, capsys, monkeypatch):
    assert main(["check-env", "worlds_of_ours:Close-v0", "--steps", "20"]) == 0
    assert "Close-v0: close raised OSError: it is stuck" in capsys.readouterr().err
    monkeypatch.setenv("WALK_FAULT", "close")
    assert main(["eval", str(runs / "off"), "--episodes", "1"]) == 0
    assert "Walk-v0: close raised OSError: it is stuck" in capsys.readouterr().err


def test_a_close_that_hangs_is_a_warning(capsys, monkeypatch):
    monkeypatch.setattr(making, "CLOSING", 0.5)
    options = ["--steps", "20", "--env.step-timeout", "0.5", "--env.processes", "off"]
    assert main(["check-env", "worlds_of_ours:NeverCloses-v0", *options]) == 0
    printed = capsys.readouterr().err
    assert "NeverCloses-v0: close did not return within 0.5 s" in printed
