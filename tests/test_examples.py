"""The examples run, small, as a user would start them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SMALL = ("--steps", "240", "--warmup", "120", "--seeds", "1")


def run(script: str, *options: str) -> str:
    done = subprocess.run(
        [sys.executable, ROOT / script, *options],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.slow
def test_first_agent(tmp_path):
    text = run("examples/first_agent.py", *SMALL, "--out", str(tmp_path / "run"))
    assert "of five new episodes each" in text
    assert (tmp_path / "run/curves.png").is_file()
    assert (tmp_path / "run/agent.png").is_file()


@pytest.mark.slow
def test_own_strategy():
    text = run("examples/own_strategy.py", *SMALL, "--beside", "replay")
    assert "all checks passed" in text
    assert text.count("[") == 3, "the heading, and one line for each strategy"


@pytest.mark.slow
def test_own_gymnasium_env():
    text = run("examples/own_gymnasium_env.py", *SMALL)
    assert text.count("each agent") == 6


@pytest.mark.slow
def test_optuna_search():
    pytest.importorskip("optuna", reason="the example needs optuna")
    text = run("examples/optuna_search.py", *SMALL, "--trials", "5")
    assert text.count("trial ") == 5
    assert "best: {'learning_rate': " in text


NOTEBOOK = ROOT / "examples/notebook.ipynb"


def images(cell):
    """The pictures that a cell of a notebook shows, alone or within HTML."""
    found = [output.get("data", {}) for output in cell["outputs"]]
    return sum(
        "image/png" in data or "data:image/png" in "".join(data.get("text/html", ""))
        for data in found
    )


def test_the_notebook_has_its_outputs():
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert len(text) < 300_000
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] for cell in cells)
    assert sum(map(images, cells)) == 2
    assert not re.search(r"/home/|/root/|/tmp/|/work/", text)


@pytest.mark.slow
def test_the_notebook_runs():
    nbformat = pytest.importorskip("nbformat", reason="needs nbclient and ipykernel")
    nbclient = pytest.importorskip("nbclient", reason="needs nbclient and ipykernel")
    pytest.importorskip("ipykernel", reason="needs nbclient and ipykernel")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    assert '"steps": 6_000, "warmup": 1_000, "every": 500' in first.source
    first.source = (
        first.source.replace("6_000", "200").replace("1_000", "100").replace("500", "100")
    )
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert "200 of 200 steps" in str(cells[0].outputs), "the bar"
    assert sum(map(images, cells)) == 2


@pytest.mark.slow
def test_the_pictures_of_the_documentation(tmp_path):
    run("docs/pictures/climb.py", *SMALL[:4], "--out", str(tmp_path))
    for name in ("time_step", "climb", "noise", "replay_and_queue"):
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000


@pytest.mark.slow
def test_the_tables_of_the_documentation():
    text = run("docs/pictures/scores.py")
    choosing = (ROOT / "docs/choosing.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| GridWorld")]
    assert len(rows) == 6
    for row in rows:
        for number in row.split("|")[3:-1]:
            assert number.strip() in choosing, f"{row}: docs/choosing.md has another number"
