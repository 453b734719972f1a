"""What people see while agents train."""

import io
import itertools

import numpy as np
import pytest
from rich.console import Console

from hcdyna import Evaluation, Settings, SettingsError, Training, train
from hcdyna.runs.progress import Progress
from hcdyna.training.compiled import chunks
from hcdyna.training.showing import NotebookBar, bar, in_notebook, learning_begins


def settings(steps, warmup, every):
    training = Training(steps=steps, warmup=warmup, replay_size=200)
    return Settings(search_control="replay", training=training, evaluation=Evaluation(every=every))


@pytest.mark.parametrize(
    ("steps", "warmup", "every"),
    list(itertools.product((90, 100, 120), (0, 30, 40, 60, 200), (20, 30))),
)
def test_compiling_is_shown_before_the_first_chunk_that_learns(steps, warmup, every):
    chosen = settings(steps, warmup, every)
    parts = chunks(chosen)
    evaluations = [0, *(end for _, end in parts if end % every == 0 or end == steps)]
    learning = [begin for begin, end in parts if end > warmup]
    for now, then in itertools.pairwise(evaluations):
        begins = bool(learning) and now <= learning[0] < then
        assert learning_begins(chosen, now) == begins
    assert not learning_begins(chosen, steps)


def test_the_bar_says_compiling_again_when_learning_begins():
    chosen, words = settings(100, 40, 20), io.StringIO()
    console = Console(file=words, force_terminal=True, width=100)
    progress, seen = Progress([chosen], [0]), []
    with bar(chosen, 1, console) as on_chunk:
        for step in (20, 40, 60):
            progress.record(step, np.zeros((1, 1)), np.zeros((1, 1)), {})
            on_chunk(progress)
            words.seek(0)
            words.truncate()
            console.print("")  # draws the bar as it is now
            seen.append("compiling" in words.getvalue())
    assert seen == [False, True, False]


class Terminal(io.StringIO):
    """An output that says that it is one."""

    def isatty(self):
        return True


TABULAR = {
    "agent": "tabular",
    "search_control": "replay",
    "steps": 40,
    "warmup": 10,
    "planning_steps": 1,
    "batch_size": 4,
    "replay_size": 50,
}


@pytest.mark.parametrize(
    ("stream", "progress", "something"),
    [(Terminal(), True, True), (Terminal(), False, False), (io.StringIO(), True, False)],
    ids=["a terminal", "switched off", "a file"],
)
def test_train_shows_a_bar_in_a_terminal_only(stream, progress, something, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stdout", stream)
    run = train("TabularGridWorld", seed=7, progress=progress, **TABULAR)
    monkeypatch.undo()
    assert run.seeds == [7]
    words = stream.getvalue()
    assert bool(words) == something
    if something:
        assert "compiling" in words
        assert "40 of 40 steps" in words
        assert "return" in words


def test_the_bar_of_a_notebook_is_text_and_html():
    bar = NotebookBar(20, 100, "compiling …")
    assert repr(bar) == "20 of 100 steps · compiling …"
    assert '<progress value="20" max="100">' in bar._repr_html_()
    assert not in_notebook()


def test_one_seed_or_several():
    with pytest.raises(SettingsError, match="seed = 3, seeds = 2: give one of them"):
        train("TabularGridWorld", seed=3, seeds=2)
    with pytest.raises(SettingsError, match="seed = -1: must be a number from 0"):
        train("TabularGridWorld", seed=-1)
