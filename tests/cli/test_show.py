"""What people see while agents train."""

import io
import itertools

import numpy as np
import pytest
from rich.console import Console

from hcdyna import Evaluation, Settings, Training
from hcdyna.cli.show import bar, learning_begins
from hcdyna.runs.run import Progress
from hcdyna.training.compiled import chunks


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
