"""Each benchmark is a script that runs for long; here, that what it imports is there."""

import importlib
import json
import sys
from pathlib import Path

import gymnasium
import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
BOARD = FOLDER.parent / "results" / "board"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("[!_]*.py"))


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_benchmark_can_be_imported(script, monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    before = set(sys.modules)
    try:
        module = importlib.import_module(script)
        assert f"python benchmarks/{script}.py" in (module.__doc__ or ""), "how to start it"
    finally:
        for name in set(SCRIPTS) & (set(sys.modules) - before):
            del sys.modules[name]


@pytest.fixture
def board(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    yield importlib.import_module("board")
    del sys.modules["board"]


def test_the_table_of_the_board_is_that_of_its_cells(board, tmp_path):
    cells = [json.loads(line) for line in (BOARD / "cells.jsonl").read_text().splitlines()]
    board.show(cells, tmp_path)
    assert (tmp_path / "board.md").read_text() == (BOARD / "board.md").read_text()
    assert (tmp_path / "board.png").stat().st_size > 10_000
    which = [(c["environment"], c["who"], c["seed"], c["budget"]) for c in cells]
    assert len(set(which)) == len(which), "a cell is there once"
    page = (FOLDER.parent / "docs" / "board.md").read_text()
    assert (BOARD / "board.md").read_text().replace("-", "−") in page.replace("-", "−")


def test_the_board_says_at_the_start_what_is_missing(board, tmp_path):
    options = board.Options(out=tmp_path, only=("CartPole-v1", "Nothing-v1"))
    with pytest.raises(gymnasium.error.NameNotFound, match="Nothing"):
        board.main(options)
    assert not list(tmp_path.iterdir()), "before anything is trained"
