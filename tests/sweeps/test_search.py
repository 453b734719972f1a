import sys

import pytest
import yaml
from small_studies import SETTINGS, small

from hcdyna.settings import presets
from hcdyna.settings.errors import SettingsError
from hcdyna.sweeps import search as searching
from hcdyna.sweeps.search import case_of, distributions, round_of, search
from hcdyna.sweeps.status import status
from hcdyna.sweeps.store import SweepStore
from hcdyna.sweeps.wanted import Wanted

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


@pytest.mark.slow
def test_a_search_finds_a_winner_and_goes_on_after_an_interruption(tmp_path, monkeypatch):
    optuna = pytest.importorskip("optuna")
    wanted = study(trials=6, batch=4, rounds=2)
    kinds = distributions(optuna, wanted, Wanted.of(wanted))
    assert type(kinds["training.planning_steps"]) is optuna.distributions.IntDistribution
    assert kinds["agent.learning_rate"].log

    def work_here(store, on, resources, follow=None):
        from threading import Event

        from hcdyna.sweeps.worker import Worker

        if calls and calls.pop() == "stop":
            raise KeyboardInterrupt
        Worker(SweepStore.open(store.place.root), lambda line: None, Event()).work()
        return status(store)

    monkeypatch.setattr(searching, "run", work_here)
    calls, lines = ["stop", "go"], []
    with pytest.raises(KeyboardInterrupt):
        search(wanted, tmp_path / "store", say=lines.append)
    path = search(wanted, tmp_path / "store", say=lines.append)
    assert "6 of 6 trials, best" in lines[-1]
    preset = yaml.safe_load(path.read_text())
    rate = preset["agent"]["tabular"]["learning_rate"]
    assert 0.01 <= rate <= 1.0
    assert presets.settings(str(path)).agent.learning_rate == rate
    assert (path.parent / "report.html").is_file()
    store = SweepStore.open(tmp_path / "store")
    assert 4 + 2 + 2 <= len(store.scan().done) <= 4 + 2 + 4, "a third of each batch went on"
    assert search(wanted, tmp_path / "store", say=lines.append) == path
