import json
import sys
from dataclasses import replace
from threading import Event

import pytest
import yaml
from small_studies import SETTINGS, small

from hcdyna.cli import main
from hcdyna.settings import presets
from hcdyna.settings.errors import RunError, SettingsError
from hcdyna.sweeps import calibration, rounds
from hcdyna.sweeps import search as searching
from hcdyna.sweeps.search import case_of, distributions, round_of, search
from hcdyna.sweeps.status import status
from hcdyna.sweeps.store import SweepStore
from hcdyna.sweeps.wanted import Wanted
from hcdyna.sweeps.worker import Worker

SPACE = {
    "agent.learning_rate": {"from": 0.01, "to": 1.0, "scale": "log"},
    "training.planning_steps": {"from": 1, "to": 1.5},
}


def study(**given):
    return small(vary={}, seeds=2, together=None, search={"space": SPACE} | given)


def test_a_missing_optuna_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(SettingsError, match=r"--search: needs optuna; pip install 'hcdyna\[sea"):
        search(study(), tmp_path / "store")
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "the study needs search"),
        ({"space": {}}, "the study needs search"),
        ({"space": SPACE, "trial": 3}, "unknown key 'trial': did you mean"),
        ({"space": SPACE, "batch": 0}, "batch = 0: must be a whole number"),
        ({"space": SPACE, "metric": "best"}, "metric = 'best': must be last or area"),
    ],
)
def test_a_search_that_can_not_be_is_named(given, said):
    with pytest.raises(SettingsError, match=said):
        Wanted.of(small(search=given))


def test_rounds_grow_to_all_steps_and_end_at_evaluations():
    wanted = Wanted(SPACE, rounds=3)
    long = small(settings=SETTINGS | {"training.steps": 900, "evaluation.every": 50})
    parts = [round_of(long, wanted, [{"agent.learning_rate": 0.1}], n) for n in range(3)]
    assert [part.settings["training.steps"] for part in parts] == [100, 300, 900]
    assert case_of({"a": 0.123456789, "b": 3}) == {"a": 0.123457, "b": 3}


def test_a_search_says_how_much_it_is_and_stops_there_if_it_is_dry(tmp_path, capsys):
    pytest.importorskip("optuna")
    (tmp_path / "small.yaml").write_text(json.dumps(study(trials=6, batch=4, rounds=2).plain()))
    words = ["sweep", str(tmp_path / "small.yaml"), "--store", str(tmp_path / "store"), "--search"]
    assert main([*words, "--dry-run", "--no-calibrate"]) == 0
    said = "a search of 6 trials, 4 at a time, in 2 rounds: 18 agents; about 1 program for 4 trials"
    assert capsys.readouterr().out == f"small: {said}\n"
    assert not (tmp_path / "store").exists()


def test_the_time_of_a_search_is_that_of_all_its_rounds(monkeypatch):
    optuna = pytest.importorskip("optuna")
    settings = SETTINGS | {"training.steps": 900}
    wanted = replace(study(trials=8, batch=8, rounds=2), settings=settings)
    measured = calibration.Measured(0.0, 3600.0, 8, "cpu")
    monkeypatch.setattr(
        calibration, "calibrate", lambda groups, workers: dict.fromkeys(groups, measured)
    )
    line = rounds.size(optuna, wanted, 1, True)
    assert "about 42 min 30 s with 1 worker like this machine's cpu" in line, (
        "8 × 1/3 + 3 of 8 hours"
    )


def test_a_search_has_no_counts():
    optuna = pytest.importorskip("optuna")
    wanted = study(space={"agent.learning_rate": {"from": 0.1, "to": 1, "count": 3}})
    with pytest.raises(SettingsError, match="learning_rate: count: a search needs no such key"):
        distributions(optuna, wanted, Wanted.of(wanted))


def test_scores_of_another_search_are_not_taken_for_those_of_this_one(make_store):
    optuna = pytest.importorskip("optuna")
    store, first = make_store(), study(trials=3)
    trials = searching.opened(optuna, store, first)
    searching.demand_same(trials, first, Wanted.of(first))
    longer = study(trials=5, batch=3)
    again = searching.opened(optuna, store, longer)
    searching.demand_same(again, longer, Wanted.of(longer))
    for other, said in (
        (replace(first, settings=SETTINGS | {"training.steps": 80}), "different settings"),
        (study(metric="area"), "different metric"),
        (study(space={**SPACE, "training.planning_steps": [1, 2]}), "different space"),
    ):
        with pytest.raises(SettingsError, match=said):
            searching.demand_same(again, other, Wanted.of(other))


def test_a_trial_without_all_its_values_is_given_up(make_store):
    optuna = pytest.importorskip("optuna")
    store, wanted = make_store(), study()
    trials = searching.opened(optuna, store, wanted)
    space = distributions(optuna, wanted, Wanted.of(wanted))
    whole = trials.ask(fixed_distributions=space)
    trials.ask()
    searching.forget_half_asked(optuna, trials, space)
    states = {each.number: each.state for each in trials.get_trials()}
    assert states[whole.number] is optuna.trial.TrialState.RUNNING
    assert states[1] is optuna.trial.TrialState.FAIL


def test_two_searches_do_not_share_a_store_at_the_same_time(make_store):
    pytest.importorskip("optuna")
    store = make_store()
    with store.alone("search"), pytest.raises(RunError, match="another search is at work there"):
        search(study(), store.place.root, say=lambda line: None, calibrate=False)


@pytest.mark.slow
def test_a_search_finds_a_winner_in_object_storage(monkeypatch):
    pytest.importorskip("optuna")
    fsspec = pytest.importorskip("fsspec")

    def work_here(store, on, resources, follow=None):
        Worker(SweepStore.open(store.place.address), lambda line: None, Event()).work()
        return status(store)

    monkeypatch.setattr(searching, "run", work_here)
    wanted, lines = study(trials=3, batch=2), []
    try:
        for _ in range(2):
            found = search(wanted, "memory://search", say=lines.append, calibrate=False)
            assert found == "memory://search/search/best.yaml"
        assert sum("of 3 trials, best" in line for line in lines) == 2, (
            "the second had nothing to do"
        )
        files = fsspec.filesystem("memory")
        assert b"learning_rate" in files.cat_file("/search/search/best.yaml")
        assert files.exists("/search/search/report.html")
    finally:
        fsspec.filesystem("memory").store.clear()


@pytest.mark.slow
def test_a_search_finds_a_winner_and_goes_on_after_an_interruption(tmp_path, monkeypatch):
    optuna = pytest.importorskip("optuna")
    wanted = study(trials=6, batch=4, rounds=2)
    kinds = distributions(optuna, wanted, Wanted.of(wanted))
    assert type(kinds["training.planning_steps"]) is optuna.distributions.IntDistribution
    assert kinds["agent.learning_rate"].log

    def work_here(store, on, resources, follow=None):
        if calls and calls.pop() == "stop":
            raise KeyboardInterrupt
        Worker(SweepStore.open(store.place.root), lambda line: None, Event()).work()
        return status(store)

    monkeypatch.setattr(searching, "run", work_here)
    calls, lines = ["stop", "go"], []
    with pytest.raises(KeyboardInterrupt):
        search(wanted, tmp_path / "store", say=lines.append, calibrate=False)
    path = search(wanted, tmp_path / "store", say=lines.append, calibrate=False)
    assert "6 of 6 trials, best" in lines[-1]
    preset = yaml.safe_load(path.read_text())
    rate = preset["agent"]["tabular"]["learning_rate"]
    assert 0.01 <= rate <= 1.0
    assert presets.settings(str(path)).agent.learning_rate == rate
    assert (path.parent / "report.html").is_file()
    store = SweepStore.open(tmp_path / "store")
    assert 4 + 2 + 2 <= len(store.scan().done) <= 4 + 2 + 4, "a third of each batch went on"
    assert search(wanted, tmp_path / "store", say=lines.append, calibrate=False) == path
