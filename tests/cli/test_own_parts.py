"""Parts of one's own from the shell, by their place: trained, resumed, looked at, and refused."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from test_cli import help_of

from hcdyna import load, resume, train
from hcdyna.cli import main
from hcdyna.settings.importing import Described
from nearest_to_goal import NearestToGoal
from parts_of_ours import Mixture, Pond, Shore, Wishful

TESTS = Path(__file__).parents[1]
CHOICES = [
    *("--env", "parts_of_ours:Pond", "--search-control", "parts_of_ours:Mixture"),
    *("--model=parts_of_ours:Wishful", "--agent.hidden", "4"),
]
TINY = [
    *("--planning-steps", "1", "--steps", "40", "--warmup", "10", "--replay-size", "40"),
    *("--batch-size", "4", "--evaluation.every", "20"),
]
NUMBERS = ["--search.first.spread", "0.4", "--env.start.low", "0.7", "--search.share", "0.25"]


def shell(folder, *words):
    """A process of its own that finds no module but by what the command does."""
    environment = os.environ | {"PYTHONSAFEPATH": "1"}
    environment["PYTHONPATH"] = str(TESTS.parent / "src")
    return subprocess.run(
        [sys.executable, "-m", "hcdyna", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where a user's modules lie, and a run with them that was made there."""
    place = tmp_path_factory.mktemp("mine")
    for name in ("parts_of_ours.py", "nearest_to_goal.py"):
        shutil.copy(TESTS / name, place)
    words = ("train", *CHOICES, *TINY, *NUMBERS, "--out", "runs/mine", "--quiet")
    answer = shell(place, *words)
    assert answer.returncode == 0, answer.stderr
    said = "hcdyna: warning: importing parts_of_ours, which is named in the settings\n"
    assert answer.stderr == said
    return place


def test_the_run_is_what_python_trains(folder):
    looked = load(folder / "runs" / "mine")
    assert isinstance(looked.settings[0].environment, Described)
    settings = resume(folder / "runs" / "mine").settings[0]
    assert settings.environment == Pond(start=Shore(low=0.7))
    assert settings.search_control == Mixture(NearestToGoal(0.4), share=0.25)
    assert settings.model == Wishful()
    alone = train(settings)
    assert looked.returns.tolist() == alone.returns.tolist()
    assert looked.info[-1]["loss"].tolist() == alone.info[-1]["loss"].tolist()


def test_an_interrupted_run_comes_to_the_same_end(folder, tmp_path, capsys):
    whole = resume(folder / "runs" / "mine")
    settings = whole.settings[0]
    stopped = train(settings, out=tmp_path / "run", on_evaluation=lambda progress: True)
    assert not stopped.finished
    assert main(["resume", str(tmp_path / "run"), "--quiet"]) == 0
    again = load(tmp_path / "run")
    assert again.finished
    assert again.info[-1]["loss"].tolist() == whole.info[-1]["loss"].tolist()
    again.agent().save(tmp_path / "mine.safetensors")
    assert load(tmp_path / "mine.safetensors").settings == settings


LOOKING = {
    "list": ["list", "runs"],
    "report": ["report", "runs/mine", "--out", "mine.html"],
    "export": ["export", "runs/mine", "--csv"],
}


@pytest.mark.parametrize("command", LOOKING)
def test_looking_at_it_imports_nothing(command, folder):
    answer = shell(folder, *LOOKING[command])
    assert answer.returncode == 0
    assert answer.stderr == ""
    if command == "report":
        page = (folder / "mine.html").read_text()
        assert "Mixture" in page
        assert "part: nearest_to_goal:NearestToGoal" in page


@pytest.mark.slow
def test_acting_with_it_finds_it_in_the_current_folder(folder, tmp_path):
    answer = shell(folder, "eval", "runs/mine", "--episodes", "2")
    assert answer.returncode == 0
    assert "mean return" in answer.stdout
    answer = shell(folder, "diagnose", "runs/mine")
    assert answer.returncode == 0
    assert answer.stderr.count("importing parts_of_ours, which is named in the settings") == 1
    assert "dqn, Wishful, Mixture on Pond" in answer.stdout
    answer = shell(tmp_path, "resume", folder / "runs" / "mine")
    assert answer.returncode == 2
    assert answer.stderr.count("\n") == 1
    assert "No module named 'parts_of_ours'; it is looked for in the current" in answer.stderr


def test_going_on_with_other_numbers_inside_a_part_is_refused(folder, capsys):
    words = ["train", *CHOICES, *TINY, *NUMBERS, "--search.first.spread", "0.5", "--quiet"]
    assert main([*words, "--out", str(folder / "runs" / "mine")]) == 2
    said = capsys.readouterr().err
    assert "search_control.first.spread: 0.4 → 0.5" in said


def test_the_fields_of_a_part_become_options(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    text = help_of(capsys, "train", *CHOICES)
    for option in ("--env.stroke", "--env.start.low", "--search.share", "--search.first.spread"):
        assert f"{option} FLOAT" in text
    assert "--model.member.hidden" in text
    assert "default: parts_of_ours:Mixture" in " ".join(text.replace("│", "").split())


def test_settings_printed_are_a_preset_of_the_same(capsys, tmp_path):
    assert main(["train", *CHOICES, *NUMBERS, "--print-settings"]) == 0
    printed = capsys.readouterr().out
    (tmp_path / "mine.yaml").write_text(printed)
    assert main(["train", "--preset", str(tmp_path / "mine.yaml"), "--print-settings"]) == 0
    assert capsys.readouterr().out == printed
    first = yaml.safe_load(printed)["search_control"]["parts_of_ours:Mixture"]["first"]
    assert first == {"part": "nearest_to_goal:NearestToGoal", "spread": 0.4}


REFUSED = {
    "search_control: can't import 'no_such:X': No module named 'no_such'": ["no_such:X"],
    "search_control: can't import 'parts_of_ours:X': module 'parts_of_ours' has no attribute 'X'": [
        "parts_of_ours:X"
    ],
    "search_control: 'json:dumps' is not a dataclass": ["json:dumps"],
    "'parts_of_ours:NoDataclass' is not a dataclass": ["parts_of_ours:NoDataclass"],
    "'parts_of_ours:Shore' must have a method build that asks": ["parts_of_ours:Shore"],
    "'parts_of_ours:Pond' must have a method build that asks": ["parts_of_ours:Pond"],
    "Demanding.spread: must be given, or have a default": ["parts_of_ours:Demanding"],
    "train: I want less spread": ["parts_of_ours:Grumpy", "--search.spread", "2"],
    "train: Mixture.share = 3.0: must be at least 0": [
        *("parts_of_ours:Mixture", "--search.share", "3")
    ],
    "unknown option --search.first.spred: did you mean --search.first.spread?": [
        *("parts_of_ours:Mixture", "--search.first.spred", "3")
    ],
    "environments: 'parts_of_ours:Mixture' must have a method build that asks": [
        *("uniform", "--env", "parts_of_ours:Mixture")
    ],
    "environment = parts_of_ours:Mine-v0: ": ["uniform", "--env", "parts_of_ours:Mine-v0"],
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_is_no_part_is_refused_in_one_line(said, capsys):
    assert main(["train", "--search-control", *REFUSED[said]]) == 2
    printed = capsys.readouterr().err
    assert said in printed
    assert printed.count("\n") == 1
