"""Ready-made callbacks, and the names that the package offers."""

import inspect

import numpy as np
import pytest

import hcdyna
from hcdyna import Evaluation, Settings, SettingsError, Training, callbacks
from hcdyna.runs.progress import Progress

SETTINGS = Settings(
    search_control="replay",
    training=Training(steps=100, warmup=80, replay_size=100),
    evaluation=Evaluation(every=20),
)


def after(*returns, settings=1, seeds=2):
    """Progress whose evaluations had these mean returns, the same for all agents."""
    progress = Progress([SETTINGS] * settings, list(range(seeds)))
    for number, each in enumerate(returns, start=1):
        value = np.broadcast_to(np.asarray(each, float), (settings, seeds)).reshape(-1, 1)
        progress.record(20 * number, value, -value, {})
    return progress


def test_stop_at_return_waits_for_the_mean_of_a_whole_window():
    stop = callbacks.stop_at_return(-10, window=2)
    assert stop(after(-5)) is False, "one evaluation may be luck"
    assert stop(after(-5, -16)) is False
    assert stop(after(-5, -15)) is True
    assert stop(after(-90, -9, -9)) is True, "only the last ones count"


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: callbacks.stop_at_return("high"),
        lambda: callbacks.stop_at_return(1, window=0.5),
        lambda: callbacks.all_of(lambda progress: None, 5),
        lambda: hcdyna.train(SETTINGS, on_evaluation="print"),
        lambda: hcdyna.resume("nowhere", on_chunk=5),
    ],
)
def test_what_is_no_callback_is_refused_before_training(wrong):
    with pytest.raises(SettingsError, match=r"(value|window|callback) = .*: must be"):
        wrong()


def test_stop_at_return_averages_seeds_and_asks_it_of_every_setting():
    stop = callbacks.stop_at_return(-10, window=1)
    assert stop(after([[-20, 0]])) is True
    assert stop(after([[-20, 0], [-20, -1]], settings=2)) is False
    assert stop(after([[np.nan, 0]])) is False


@pytest.mark.parametrize("when", ["on_evaluation", "on_chunk"])
def test_stop_at_return_ends_training(when):
    enough = callbacks.stop_at_return(-2_000, window=3)
    assert hcdyna.train(SETTINGS, seeds=2, **{when: enough}).steps.tolist() == [20, 40, 60]


def test_print_progress(capsys):
    report = callbacks.print_progress()
    assert report(after(-5, -15)) is None
    line = capsys.readouterr().out
    assert line.count("\n") == 1
    assert "40 of 100 steps" in line
    assert "return -15.0 ± 0.0" in line
    report(after(-15, seeds=1))
    assert "return -15.0  " in capsys.readouterr().out, "one agent has no spread"


def test_all_of_calls_everyone_and_stops_if_anyone_wants_to():
    called = []

    def note(name, answer):
        return lambda progress: (called.append(name), answer)[1]

    both = callbacks.all_of(note("a", True), note("b", None), note("c", "yes"))
    assert both(after(-1)) is True
    assert called == ["a", "b", "c"]
    assert callbacks.all_of(note("a", None), note("c", "yes"))(after(-1)) is False
    assert callbacks.all_of()(after(-1)) is False


@pytest.mark.parametrize(("value", "window"), [(np.nan, 5), (np.inf, 5), (0.0, 0)])
def test_nonsense_is_refused(value, window):
    with pytest.raises(SettingsError, match="must be"):
        callbacks.stop_at_return(value, window)


@pytest.mark.parametrize("name", hcdyna.__all__)
def test_every_public_name_exists_and_is_explained(name):
    found = getattr(hcdyna, name)
    text = inspect.getdoc(found)
    assert text, f"{name} has a docstring"
    assert not text.startswith(f"{name}("), f"{name}: the docstring was made by @dataclass"
    assert name in dir(hcdyna)
