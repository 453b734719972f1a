"""Where output can't be written: the run matters more than the telling of it."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hcdyna import load, presets
from hcdyna.cli.commands.train import new_folder

TINY = [
    *("--env", "GridWorld", "--search-control", "uniform", "--planning-steps", "1"),
    *("--steps", "300", "--warmup", "40", "--replay-size", "60", "--evaluation.every", "20"),
    *("--agent.hidden", "8"),
]


def train_into(folder, **options):
    command = [sys.executable, "-m", "hcdyna", "train", *TINY, "--out", str(folder)]
    return subprocess.Popen(command, **options)


def test_a_reader_that_has_seen_enough_does_not_end_a_run(tmp_path):
    process = train_into(tmp_path / "run", stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline().startswith("Run: ")
    process.stdout.close()
    assert process.wait(120) == 0
    assert load(tmp_path / "run").finished


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_device_does_not_end_a_run(tmp_path):
    with open("/dev/full", "w") as full:
        process = train_into(tmp_path / "run", stdout=full, stderr=subprocess.PIPE)
        assert process.wait(120) == 0
    said = process.stderr.read().decode()
    assert said == "hcdyna: warning: standard output: can't be written: No space left on device\n"
    assert load(tmp_path / "run").finished


def test_runs_that_start_at_the_same_moment_get_folders_of_their_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = presets.settings("paper")
    with ThreadPoolExecutor(8) as pool:
        folders = list(pool.map(lambda _: new_folder(settings), range(40)))
    assert len(set(folders)) == 40
    assert all(folder.is_dir() for folder in folders)
