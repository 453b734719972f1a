"""Words of the command line: whole numbers, bounds, and paths that no file can have."""

import os
import subprocess
import sys

import pytest
import yaml
from test_cli import refused

from hcdyna.cli import COMMANDS, main

TAKES_A_RUN = (
    *("resume", "eval", "diagnose", "plot", "watch", "report", "export"),
    *("sweep", "work", "status"),  # a study or a store
)
BAD_PATHS = {
    "": "must be the name of a file or folder",
    "a\0b": "must be the name of a file or folder",
    "x" * 256: "too long for a path",
    "ü" * 128: "too long for a path",
    "y/" * 2_048: "too long for a path",
}


@pytest.mark.parametrize("word", ["1e5", "1E5", "100_000", "100000.0", "+100000"])
def test_whole_numbers_may_be_written_in_any_way(word, capsys):
    assert main(["train", "--steps", word, "--search.max-accepted", "1e3", "--print-settings"]) == 0
    printed = yaml.safe_load(capsys.readouterr().out)
    assert printed["training"]["steps"] == 100_000
    assert printed["search_control"]["hill_climbing"]["max_accepted"] == 1_000


@pytest.mark.parametrize("word", ["1.5", "1e400", "nan", "ten", "", "7" * 5_000, "0x10"])
def test_what_is_no_whole_number_is_said_so(word, capsys):
    assert "--steps" in (said := refused(capsys, "train", "--steps", word))
    assert "is not a whole number" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["train", "--seeds", 2**31], "--seeds 2147483648: must be at least 1 and at most 100000"),
        (["train", "--seeds", 10**12], "--seeds 1000000000000: must be"),
        (["train", "--first-seed", -1], "--first-seed -1: must be from 0 to 4294967295"),
        (["train", "--first-seed", 2**32], "--first-seed 4294967296: must be from 0 to 4294967295"),
        (["train", "--first-seed", 2**32 - 2, "--seeds", 3], "from 0 to 4294967293"),
        (["train", "--planning-steps", 2**31], "Training.planning_steps = 2147483648: must be"),
        (["train", "--search.steps", 2**31], "HillClimbing.steps = 2147483648: must be"),
        (["train", "--search.max-accepted", 2**31], "HillClimbing.max_accepted = 2147483648: must"),
        (["train", "--search.queue-size", 2**31], "HillClimbing.queue_size = 2147483648: must be"),
        (["train", "--env.time-limit", 2**31], "GridWorld.time_limit = 2147483648: must be"),
        (["train", "--agent.target-period", 2**31], "DQN.target_period = 2147483648: must be"),
        (["train", "--evaluation.episodes", 10**18], "Evaluation.episodes = 1000000000000000000"),
        (["eval", "x", "--episodes", 10**18], "--episodes 1000000000000000000: must be at least 1"),
        (["train", "--preset", ""], "preset = '': known: authors"),
        (["train", "--agent.critics", 3], "unknown option --agent.critics: only agent = ddpg has"),
        (["train", "--env.kwargs", "a=1"], "--env.kwargs: only environment = any Gymnasium id has"),
        (["train", "nonsense"], "nonsense: belongs to no option"),
        (["resume", "x", "--steps", "abc"], "--steps: 'abc' is not a whole number"),
        (["eval", "x", "--epsilon", "x"], "--epsilon: 'x' is not a number"),
        (["eval", "x", "--epsilon", "nan"], "--epsilon nan: must be a finite number"),
        (["watch", "x", "--fps", 0], "--fps 0: must be at least 1 and at most 50"),
        (["watch", "x", "--episodes", 10**9], "--episodes 1000000000: must be at least 1 and at m"),
        (["plot", "x", "--seed", -1], "--seed -1: must be at least 0 and at most 4294967295"),
        (["check-env", "CartPole-v1", "--steps", 0], "--steps 0: must be at least 1 and at most"),
        (["reproduce", "--seconds", "nan"], "--seconds nan: must be a finite number"),
        (["reproduce", "--seconds", "-1"], "--seconds -1.0: must be at least 0"),
        (
            ["reproduce", "fig6", "--seconds", "9", "--on", "local"],
            "--seconds 9.0: is for training in",
        ),
        (["reproduce", "fig6", "--gpus", "0.1"], "--gpus 0.1: is for workers; add --on local"),
        (["reproduce", "fig6", "--workers", "2"], "--workers 2: is for workers; add --on local"),
    ],
)
def test_numbers_out_of_bounds(words, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert said in refused(capsys, *words)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", BAD_PATHS, ids=["empty", "nul", "name", "bytes", "long"])
@pytest.mark.parametrize("command", [c for c in COMMANDS if c not in ("check-env", "completion")])
def test_paths_that_no_file_can_have(command, path, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = [command]
    if command in TAKES_A_RUN:
        assert BAD_PATHS[path] in refused(capsys, command, path)
        words.append("somewhere")
    option = {"list": "--folder", "sweep": "--store"}.get(command, "--out")
    if command in ("resume", "eval", "diagnose", "work", "status"):
        return
    assert BAD_PATHS[path] in refused(capsys, *words, option, path)
    assert BAD_PATHS[path] in refused(capsys, *words, f"{option}={path}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("train --replay-size abc", "train: --replay-size: 'abc' is not a whole number"),
        ("train --replay-size", "train: Missing value for argument '--replay-size'"),
        ("train --search 1", "train: unknown option --search: did you mean --search"),
    ],
)
def test_a_terminal_that_knows_ascii_alone_gets_one_line_too(words, said):
    answer = subprocess.run(
        [sys.executable, "-m", "hcdyna", *words.split()],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )
    assert answer.returncode == 2
    assert answer.stderr.startswith(f"hcdyna: {said}")
    assert "---" not in answer.stderr


def test_a_word_of_any_length_makes_a_line_that_can_be_read(capsys):
    assert len(refused(capsys, "train", "--agent.activation", "7" * 5_000)) < 600


AS_NOBODY = """
import os, sys
from hcdyna.cli import main
for words in {words!r}:
    main([word.replace({locked!r}, "nowhere") for word in words])  # imports what it needs
print("---", file=sys.stderr)
if os.getuid() == 0:
    os.setgid(12345)
    os.setuid(12345)
for words in {words!r}:
    print(main(words))
"""


def test_a_folder_without_permission(tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir()
    for folder in (tmp_path, *tmp_path.parents[:-2]):
        folder.chmod(folder.stat().st_mode | 0o055)
    locked.chmod(0)
    words = [[c, str(locked / "run"), *(["--csv"] * (c == "export"))] for c in TAKES_A_RUN]
    words.append(["train", "--preset", str(locked / "my.yaml")])
    code = AS_NOBODY.format(words=words, locked=str(locked))
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    locked.chmod(0o700)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.split() == ["2"] * len(words)
    said = answer.stderr.partition("---\n")[2].splitlines()
    assert len(said) == len(words)
    for line in said:
        assert line.startswith("hcdyna: ")
        assert str(locked) in line
        assert "Permission denied" in line


def test_a_preset_that_is_a_pipe_is_not_waited_for(capsys, tmp_path):
    os.mkfifo(tmp_path / "pipe.yaml")
    assert "must be a file" in refused(capsys, "train", "--preset", tmp_path / "pipe.yaml")


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_the_message_is_taken_out_of_its_box_in_any_encoding(encoding):
    words = ["train", "--search.steps", "-3"]
    answer = subprocess.run(
        [sys.executable, "-m", "hcdyna", *words],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONIOENCODING": encoding},
    )
    said = "HillClimbing.steps = -3: must be at least 0 and at most 1000000"
    assert answer.stderr == f"hcdyna: train: {said}\n"


def test_a_folder_of_runs_that_is_not_there(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    for name in ("nowhere", "file"):
        assert f"--folder {name}: no such folder" in refused(
            capsys, "list", "runs", "--folder", name
        )
    assert main(["list", "runs"]) == 0, "before the first run"
