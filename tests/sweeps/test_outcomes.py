import csv

import numpy as np
import pytest
from small_studies import SETTINGS, small

from hcdyna.cli import main
from hcdyna.settings.errors import RunError, SettingsError
from hcdyna.statistics.verdicts import Verdict
from hcdyna.sweeps import outcomes
from hcdyna.sweeps.outcomes import Outcome, everything, judged, table
from hcdyna.sweeps.report import MOST_CURVES, report, shown

COMPARED = {
    "settings": {path: x for path, x in SETTINGS.items() if path != "search_control"},
    "vary": {"search_control": ["replay", "visited_pairs"], "agent.learning_rate": [0.5, 1.0]},
    "compare": [{"of": "search_control", "a": "visited_pairs", "b": "replay", "margin": 1}],
}


BOUNDS = {"bounds": [0, 100]}


def outcome(case, returns):
    returns = np.asarray(returns, np.float32)
    seeds = np.arange(len(returns))
    steps = np.arange(1, returns.shape[1] + 1)
    diverged = np.zeros(len(returns), bool)
    return Outcome("s", case, None, len(seeds), seeds, steps, returns, diverged)


def test_a_store_is_reported_and_exported_while_it_grows(make_store, make_worker, capsys):
    store = make_store(**COMPARED)
    with pytest.raises(RunError, match="no cell is done yet"):
        everything(store, store.studies())
    worker, _ = make_worker(store)
    for _ in range(5):
        scan = store.scan()
        task, lease = worker.next(worker.waiting(scan), scan)
        worker.attempt(task, lease)
    folder = str(store.place)
    assert main(["report", folder]) == 0
    page = (store.place.root / "report.html").read_text()
    assert "5 of 8 cells done" in page
    assert "cases still lack seeds" in page
    worker.work()
    assert main(["report", folder]) == 0
    page = (store.place.root / "report.html").read_text()
    assert 'id="verdicts"' in page
    assert "visited_pairs better than replay (area)" in page
    capsys.readouterr()
    assert main(["export", folder, "--csv"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert len(rows) == 4 * 4 * 3
    assert set(rows[0]) == {
        *("study", "search_control", "agent.learning_rate", "seed", "step", "return", "diverged")
    }
    assert {row["seed"] for row in rows} == {"0", "1", "2", "3"}
    assert main(["export", folder, "--csv", "--what", "diagnostics"]) == 2


def test_comparisons_are_judged_case_by_case():
    rng = np.random.default_rng(0)
    found = []
    for rate, gain in ((0.1, 50.0), (0.2, -50.0)):
        for name, mean in (("replay", 0.0), ("hill_climbing", gain)):
            case = {"search_control": name, "agent.learning_rate": rate}
            found.append(outcome(case, mean + rng.normal(size=(8, 5))))
    study = small(
        compare=[{"of": "search_control", "a": "hill_climbing", "b": "replay", "metric": "last"}]
    )
    answers = judged(study, found)
    assert [x.what for x in answers] == ["agent.learning_rate=0.1", "agent.learning_rate=0.2"]
    assert [x.verdict for x in answers] == [Verdict.REPRODUCED, Verdict.CONTRADICTED]


def test_many_comparisons_can_still_be_decided():
    rng = np.random.default_rng(0)
    found = [
        outcome({"search_control": name, "x": i}, mean + rng.normal(size=(8, 5)))
        for i in range(120)
        for name, mean in (("replay", 0.0), ("hill_climbing", 50.0))
    ]
    study = small(compare=[{"of": "search_control", "a": "hill_climbing", "b": "replay"}])
    answers = judged(study, found)
    assert len(answers) == 120
    assert {x.verdict for x in answers} == {Verdict.REPRODUCED}


def test_bounds_of_returns_make_the_rule_of_the_paper():
    rng = np.random.default_rng(0)
    a, b = (outcome({"x": i}, mean + rng.normal(size=(30, 3))) for i, mean in ((1, 60), (2, 20)))
    wanted = {"of": "x", "a": 1, "b": 2, "margin": 2}
    free, bounded = outcomes.compared(wanted, a, b), outcomes.compared(wanted | BOUNDS, a, b)
    assert bounded.low < free.low, "a failure may still come"
    b.returns[0], b.diverged[0] = np.nan, True
    assert outcomes.compared(wanted | BOUNDS, a, b).difference > bounded.difference
    with pytest.raises(SettingsError, match=r"bounds = \[0, 50\]: returns go from"):
        outcomes.compared(wanted | {"bounds": [0, 50]}, a, b)


def test_an_agent_that_diverged_counts_with_the_lowest_return():
    a, b = outcome({"x": 1}, np.ones((4, 3))), outcome({"x": 2}, np.zeros((4, 3)))
    b.returns[0], b.diverged[0] = np.nan, True
    comparison = outcomes.compared({"of": "x", "a": 1, "b": 2}, a, b)
    assert comparison.failed == (0, 1)
    assert comparison.difference == 1.0


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"of": "x", "a": 1}, r"must have of .*, a and b"),
        ({"of": "x", "a": 1, "b": 2, "claim": "best"}, "claim = 'best': must be one of better"),
        ({"of": "x", "a": 1, "b": 2, "margin": -1}, "margin = -1: must be at least 0"),
        ({"of": "x", "a": 1, "b": 2, "bounds": [1]}, "bounds = .*: must be two numbers"),
        ({"of": "x", "a": 1, "b": 2, "bounds": [1, 0]}, "bounds = .*: the second must be larger"),
    ],
)
def test_a_comparison_that_can_not_be_judged_is_named(wanted, said):
    with pytest.raises(SettingsError, match=said):
        small(compare=[wanted])


def test_only_the_best_cases_are_drawn():
    found = [outcome({"x": i}, np.full((2, 3), float(i % 40))) for i in range(80)]
    drawn = shown(found)
    assert len(drawn) == MOST_CURVES
    assert min(x.returns[0, 0] for x in drawn) == 40 - MOST_CURVES // 2
    assert table(found)["x"].tolist() == [i for i in range(80) for _ in range(6)]


def test_a_page_of_one_study_alone(make_store, make_worker, tmp_path):
    store = make_store()
    make_worker(store)[0].work()
    one = small(vary={"agent.learning_rate": [0.5]})
    page = report(store, tmp_path / "page.html", [one]).read_text()
    assert "learning_rate=0.5" in page
    assert "learning_rate=1.0" not in page
