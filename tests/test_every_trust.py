"""What to do where a learned model does not know, with every kind of environment and of doubt.

Each is trained from the shell into a folder, cut and resumed, with doubt made quick to come. A few
cover every choice; `pytest -m slow` walks the others.
"""

import itertools

import numpy as np
import pytest

import hcdyna
from hcdyna.cli import main
from hcdyna.models import newness
from hcdyna.runs import saving
from test_every_combination import SMALL, TABLE, power_fails_after, same_files

KINDS = ("compiled", "continuous", "hosted", "hosted continuous")
DOUBTS = {
    "newness": ["--model.visits", "2", "--model.new-share", "1", "--model.cell-width", "0.5"],
    "spread": ["--model.members", "2", "--model.spread-limit", "0.3"],
}
CELLS = list(itertools.product(("optimistic", "replay", "trust"), KINDS, DOUBTS))
COVER = [
    ("optimistic", "compiled", "newness"),
    ("replay", "continuous", "spread"),
    ("trust", "compiled", "spread"),
]
"""Every choice at least once; on the host there are others like them in the slow walk."""
OTHERS = [cell for cell in CELLS if cell not in COVER and cell[0] != "trust"][::2]
"""Of the rest, every other one: they differ in what was covered already."""


def test_the_cover_has_every_choice():
    for place in range(3):
        walked = COVER if place != 1 else [*COVER, *OTHERS]
        assert {cell[place] for cell in walked} == {cell[place] for cell in CELLS}


@pytest.mark.slow
@pytest.mark.parametrize("cell", COVER, ids=" ".join)
def test_a_run_that_is_cut_goes_on(cell, tmp_path, capsys, monkeypatch):
    walk(cell, tmp_path, capsys, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("cell", OTHERS, ids=" ".join)
def test_every_other_run_that_is_cut_goes_on(cell, tmp_path, capsys, monkeypatch):
    walk(cell, tmp_path, capsys, monkeypatch)


def walk(cell, tmp_path, capsys, monkeypatch):
    trust, kind, doubt = cell
    monkeypatch.setattr(saving, "SAVING_SHARE", 1e9)  # after every evaluation
    monkeypatch.setattr(newness, "LAID_OUT", 30)
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    model = ["--model", "learned", "--model.trust", trust, "--model.doubt", doubt, *DOUBTS[doubt]]
    choices = ["--agent", TABLE[kind].agents[0], *model, "--search-control", "uniform"]
    train = ["train", "--env", *TABLE[kind].options, *choices, *SMALL]
    assert main([*train, "--model.hidden", "8", "--out", str(whole)]) == 0
    run = hcdyna.load(whole)
    with pytest.raises(OSError, match="power"):
        hcdyna.train(run.settings[0], seeds=2, out=cut, on_chunk=power_fails_after(40))
    assert main(["resume", str(cut), "--quiet"]) == 0
    assert same_files(whole, cut)
    assert capsys.readouterr().err == ""

    assert not run.diverged.any()
    told = [entry["doubtful"] for entry in run.info if "doubtful" in entry]
    if trust == "trust":
        assert not told
        assert not hasattr(run.state(0).model, "doubt")
        return
    assert np.all((np.array(told) >= 0) & (np.array(told) <= 1))
    if trust == "replay" or not kind.startswith("hosted"):  # there is hope only where steps cost
        assert np.max(told) > 0, "what the model does not know has come up"
