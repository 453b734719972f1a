"""Output that can't be written: the end of a command that only shows, no matter to one that makes
files."""

import contextlib
import io
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from test_cli import TINY

from hcdyna.cli import main
from hcdyna.cli.commands.train import new_folder
from hcdyna.cli.output import Output, wrapped
from hcdyna.settings import presets


def hcdyna(*words, redirect, before="", **more):
    """Run a command with its output somewhere odd; its exit code and what it said."""
    line = f'{before} "$@" {redirect}'
    command = ["sh", "-c", line, "sh", sys.executable, "-m", "hcdyna", *map(str, words)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=120, **more)
    return answer.returncode, answer.stderr


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("output") / "run"
    assert main(["train", *TINY, "--quiet", "--out", str(folder)]) == 0
    return folder


@pytest.mark.parametrize(
    "words", [["--help"], ["list", "agents"], ["train", "--help"], ["export", "RUN", "--csv"]]
)
def test_a_full_disk_is_the_end_of_what_only_shows(words, run):
    code, said = hcdyna(*(str(run) if w == "RUN" else w for w in words), redirect="> /dev/full")
    assert code == 2
    assert said.startswith("hcdyna: ")
    assert said.endswith("standard output: can't be written: No space left on device\n")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("redirect", "warned"),
    [
        ("> /dev/full", "hcdyna: warning: standard output: can't be written: No space left on dev"),
        (">&-", ""),
    ],
)
def test_training_finishes_without_an_output(redirect, warned, tmp_path):
    code, said = hcdyna("train", *TINY, "--out", tmp_path / "run", redirect=redirect)
    assert code == 0
    assert said.startswith(warned)
    assert said.count("\n") == bool(warned)
    assert main(["export", str(tmp_path / "run"), "--csv", "--out", str(tmp_path / "curves")]) == 0
    assert len((tmp_path / "curves").read_text().splitlines()) == 7, "2 seeds, 3 evaluations"


def test_training_goes_on_when_its_reader_has_seen_enough(tmp_path):
    command = [sys.executable, "-m", "hcdyna", "train", *TINY, "--out", str(tmp_path / "run")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline().startswith("Run: ")
    process.stdout.close()
    said = process.stderr.read()
    assert (process.wait(timeout=120), said) == (0, "")
    assert main(["export", str(tmp_path / "run"), "--csv", "--out", str(tmp_path / "curves")]) == 0
    assert len((tmp_path / "curves").read_text().splitlines()) == 7


def test_a_reader_that_has_seen_enough_ends_what_only_shows():
    code, said = hcdyna("list", redirect="| true")
    assert (code, said) == (0, "")


def test_help_may_be_cut_off(monkeypatch):
    class Gone(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    monkeypatch.setattr(Output, "mute", lambda output: None)
    with contextlib.redirect_stdout(Gone()):
        assert main(["train", "--help"]) == 0


def test_long_lines_are_broken_between_words():
    assert wrapped("word " * 30, 40).splitlines() == [
        "word word word word word word word word"
    ] * 3 + ["word word word word word word"]
    assert wrapped(f"│ {'word ' * 30}│", 40) == f"│ {'word ' * 30}│"


def test_a_closed_output_is_the_end_of_what_only_shows(run):
    code, said = hcdyna("export", run, "--csv", redirect=">&-")
    assert (code, said) == (2, "hcdyna: standard output: is closed\n")


def test_without_standard_error_nothing_is_said():
    assert hcdyna("trian", redirect="2>&-") == (2, "")


def test_what_can_not_be_encoded_is_shown_all_the_same(run, tmp_path):
    odd = os.fsdecode(b"run\xff")
    (tmp_path / odd).symlink_to(run)
    surroundings = os.environ | {"PYTHONIOENCODING": "ascii"}
    code, said = hcdyna("eval", tmp_path / odd, redirect="", env=surroundings)
    assert (code, said) == (0, "")


def test_names_in_brackets_are_names(run, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "[").mkdir()
    (tmp_path / "[" / "x]").symlink_to(run)
    assert main(["eval", "[/x]", "--episodes", "1"]) == 0
    assert "[/x]: 1 episode per agent" in capsys.readouterr().out


def test_runs_that_start_at_the_same_moment_get_folders_of_their_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = presets.settings("paper")
    with ThreadPoolExecutor(8) as pool:
        folders = list(pool.map(lambda _: new_folder(settings), range(40)))
    assert len(set(folders)) == 40
    assert all(folder.is_dir() for folder in folders)
