"""A study that is changed and added again under its name, and grids that overlap."""

import csv

import numpy as np
from small_studies import SETTINGS, small

from hcdyna.cli import main
from hcdyna.sweeps.outcomes import everything, judged, outcomes, table
from hcdyna.sweeps.report import asking, report
from hcdyna.sweeps.store import SweepStore
from hcdyna.sweeps.sweep import add

RATES = {"of": "agent.learning_rate", "a": 0.5, "b": 1.0}


def grown(store, make_worker, *studies) -> SweepStore:
    """The store, with all of some further studies trained."""
    for study in studies:
        add(study, store.place.root, calibrate=False)
    make_worker(store)[0].work()
    return store


def test_a_study_that_grew_is_one_study(make_store, make_worker, capsys):
    more = {"vary": {"agent.learning_rate": [0.25, 0.5, 1.0]}, "seeds": 5, "block": 3}
    store = grown(make_store(compare=[RATES]), make_worker, small(compare=[RATES], **more))
    found = everything(store, store.studies())
    assert [x.case["agent.learning_rate"] for x in found] in ([0.25, 0.5, 1.0], [0.5, 1.0, 0.25])
    assert all(x.seeds.tolist() == list(range(5)) for x in found), "each seed once"
    assert {x.wanted for x in found} == {5}
    (answer,) = judged(asking(store.studies()), found)
    assert answer.comparison.seeds == (5, 5)
    assert main(["export", str(store.place), "--csv"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert len(rows) == len({(r["agent.learning_rate"], r["seed"], r["step"]) for r in rows}) == 45
    page = report(store, store.place.root / "page.html").read_text()
    assert page.count("better than 1.0") == 1


def test_what_was_changed_for_all_cells_sets_them_apart(make_store, make_worker):
    longer = {"settings": SETTINGS | {"training.steps": 80, "search_control": "visited_pairs"}}
    store = grown(make_store(compare=[RATES]), make_worker, small(compare=[RATES], **longer))
    found = everything(store, store.studies())
    told = {(x.case["search_control"], x.case["training.steps"]) for x in found}
    assert told == {("replay", 60), ("visited_pairs", 80)}
    assert all(x.settings.training.steps == x.case["training.steps"] for x in found)
    assert len(judged(asking(store.studies()), found)) == 2, "each with its like"
    assert set(table(found)) >= {"agent.learning_rate", "search_control", "training.steps"}


def test_seeds_of_grids_that_overlap_count_once(make_store, make_worker):
    rates = [{"vary": {"agent.learning_rate": some}} for some in ([0.5, 1.0], [1.0, 0.25])]
    store = grown(make_store(vary={}, grids=rates), make_worker)
    found = outcomes(store, *store.studies())
    assert len(found) == 3
    assert all(np.array_equal(x.seeds, range(4)) for x in found)
