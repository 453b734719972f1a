"""Claims: every one of the file can be asked, scores by hand, and verdicts put together."""

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest

from hcdyna.experiments.cells import Cell, Result
from hcdyna.experiments.claims import Answer, Claim, Scores, answer, combined, read_claims
from hcdyna.experiments.paper import FIGURES, figure
from hcdyna.experiments.paper.page import badge, claim_block, overview
from hcdyna.experiments.paper.reproduce import Reproduction
from hcdyna.experiments.paper.scale import FULL, QUICK, settings
from hcdyna.experiments.paper.verdicts import CLAIMS, described, in_words, judged
from hcdyna.settings import presets
from hcdyna.statistics.verdicts import Verdict

ROOT = Path(__file__).parents[2]
CLAIM_LIST, RANGES = read_claims(CLAIMS)


def result(returns, diverged=(False, False, False)):
    returns = np.asarray(returns, float)
    steps = 1_000 * np.arange(1, returns.shape[1] + 1)
    return Result(steps, returns, np.asarray(diverged), {}, {})


@pytest.mark.parametrize("claim", CLAIM_LIST, ids=lambda claim: claim.id)
def test_every_claim_names_cells_of_its_figure(claim):
    cells = figure(claim.figure).cells(FULL)
    for case in claim.cases():
        for side in (claim.a, claim.b):
            label = side.format(**case).partition(" @ ")[0]
            if re.fullmatch(r"[\d.]+", label):
                continue
            start = label.removesuffix("*")
            known = label in cells or (label != start and any(c.startswith(start) for c in cells))
            assert known, f"{claim.id}: {label}"


def test_claims_are_about_all_figures_and_have_different_names():
    assert {claim.figure for claim in CLAIM_LIST} == set(FIGURES) - {"ablations"}
    assert len({claim.id for claim in CLAIM_LIST}) == len(CLAIM_LIST) >= 20


def scores_of(**results):
    run = settings(FULL, "GridWorld", "DQN", "1e-3")
    run = dataclasses.replace(run, training=dataclasses.replace(run.training, warmup=1_000))
    cells = {name: Cell(run, 3, change="negate_output", change_step=4_000) for name in results}
    return Scores(cells, results, {"GridWorld": {"worst": -100.0, "best": 0.0}})


def test_a_mean_that_is_not_a_number_is_not_the_best():
    found = {
        "r/1": result([[-5.0]] * 3),
        "r/2": result([[np.nan]] * 3),
        "r/3": result([[-9.0]] * 3),
    }
    assert scores_of(**found).best_of("r/") == "r/1"


def test_scores_by_hand():
    curve = np.tile([-100.0, -80.0, -60.0, -40.0, -20.0, -10.0], (3, 1))
    scores = scores_of(x=result(curve), y=result(curve, [False, True, False]))
    expected = {"area": 0.58, "last": 0.9, "early": 0.3, "after": 0.85}
    for metric, value in expected.items():
        found, failed = scores.of("x", metric)
        np.testing.assert_allclose(found, value)
        assert failed == 0
    found, failed = scores.of("y", "area")
    np.testing.assert_allclose(found, [0.58, 0.0, 0.58])
    assert failed == 1, "a run that diverged counts with the worst score"
    assert scores.of("nothing", "area") is None
    assert scores.of("0.5", "area")[0] == [0.5]


def test_the_best_learning_rate_is_that_of_the_last_evaluations():
    early, late = np.zeros((3, 10)), np.zeros((3, 10))
    early[:, :8], late[:, 8:] = 50, 10
    scores = scores_of(**{"hc/1.0": result(early), "hc/0.5": result(late)})
    assert scores.best_of("hc/") == "hc/0.5"
    scores.results.pop("hc/0.5")
    assert scores.best_of("hc/") is None, "not before all rates were run"


def claim(**changes):
    usual = {"a": "x", "b": "y", "kind": "better", "margin": 0.05, "quote": "", "place": ""}
    return Claim(**{"id": "one", "figure": "fig4"} | usual | changes)


def test_answers_find_a_true_difference_and_respect_where():
    rng = np.random.default_rng(0)
    good = result(-10 + rng.normal(0, 2, (30, 6)), np.zeros(30, bool))
    bad = result(-60 + rng.normal(0, 2, (30, 6)), np.zeros(30, bool))
    scores = scores_of(x=good, y=bad)
    one = claim(each={"n": [1]})
    found = answer([one, claim(id="two", a="y", b="x", each={"n": [1]}, where="one")], scores)
    assert [x.verdict for x in found["one"]] == [Verdict.REPRODUCED]
    assert [x.verdict for x in found["two"]] == [Verdict.CONTRADICTED]
    assert abs(found["one"][0].comparison.difference - 0.5) < 0.02
    never = [claim(id="one", a="y", b="x"), claim(id="two", where="one")]
    assert answer(never, scores)["two"] == [], "only where the other claim holds"
    assert answer([claim(b="missing")], scores) == {"one": []}


def test_a_claim_without_a_verdict_says_why():
    nothing = described(claim(where="other"), [], [], FULL)
    assert in_words(nothing, "1e-3") == "nothing to compare", "no gain, so none that persists"
    assert in_words(described(claim(), [], [], FULL), "1e-3") == "not run"


@pytest.mark.parametrize(("scale", "mark"), [(FULL, ""), (QUICK, "quick: ")])
def test_every_verdict_of_the_quick_scale_says_so(scale, mark):
    rng = np.random.default_rng(0)
    runs = [result(mean + rng.normal(0, 2, (30, 6)), np.zeros(30, bool)) for mean in (-60, -10)]
    one = claim(each={"rate": ["1e-3"]})
    found = answer([one], scores_of(x=runs[0], y=runs[1]))["one"]
    plain = described(one, found, found, scale)
    assert in_words(plain, "1e-3") == f"{mark}**contradicted**"
    assert f">{mark}contradicted<" in badge(plain, "1e-3")
    block = claim_block(plain)
    assert f"at 1e-3: {mark}contradicted" in block
    assert f"<th>{mark}verdict</th>" in block
    assert "1 comparison<" in block
    assert "1 comparison of the last 20%<" in block


def test_the_end_of_the_runs_is_mentioned_where_it_says_something_else():
    rng = np.random.default_rng(0)
    low, high = (
        result(mean + rng.normal(0, 2, (30, 6)), np.zeros(30, bool)) for mean in (-60, -10)
    )
    one = claim(each={"rate": ["1e-3"]})
    worse = answer([one], scores_of(x=low, y=high))["one"]
    better = answer([one], scores_of(x=high, y=low))["one"]
    assert in_words(described(one, better, better, FULL), "1e-3") == "reproduced"
    parted = described(one, better, worse, FULL)
    assert in_words(parted, "1e-3") == "reproduced; last 20%: contradicted"
    assert "last 20%: contradicted" in overview([parted], FULL)
    assert "last 20%" not in overview([described(one, [], [], FULL)], FULL)


def test_verdicts_put_together():
    def answers(*verdicts):
        return [Answer({}, "", "", "area", (0, 0), None, verdict) for verdict in verdicts]

    good, bad, open_ = Verdict.REPRODUCED, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE
    assert combined(answers(good, good), "all") is good
    assert combined(answers(good, open_), "all") is open_
    assert combined(answers(good, open_, bad), "all") is bad
    assert combined(answers(bad, good), "any") is good
    assert combined([], "all") is None


@pytest.mark.slow
def test_the_committed_verdicts_are_those_of_the_committed_cells():
    folder = ROOT / "results/paper"
    committed = json.loads((folder / "claims.json").read_text())
    reproduction = Reproduction(folder, "full")
    for name in ("fig1", "fig2", "fig5", "lr"):
        again = judged(name, reproduction.cells(name), reproduction.results(name), FULL)
        assert again == [claim for claim in committed if claim["figure"] == name]


def test_the_page_shows_the_committed_verdicts():
    table = (ROOT / "results/paper/verdicts.md").read_text().strip()
    assert table in (ROOT / "docs/reproduction.md").read_text()


@pytest.mark.parametrize("domain", ["GridWorld", "MountainCar", "CartPole", "Acrobot"])
def test_the_cells_of_figure_4_train_the_paper_preset(domain):
    cells = figure("fig4").cells(FULL)
    for algorithm, (strategy, model) in {
        "DQN": ("replay", "true"),
        "OnPolicy-Dyna": ("on_policy", "true"),
        "HC-Dyna": ("hill_climbing", "true"),
        "OnPolicy-Dyna, learned": ("on_policy", "learned"),
        "HC-Dyna, learned": ("hill_climbing", "learned"),
    }.items():
        preset = presets.settings("paper", domain, search_control=strategy, model=model)
        for n in (1, 10, 30):
            training = dataclasses.replace(preset.training, planning_steps=n)
            expected = dataclasses.replace(preset, training=training)
            assert cells[f"{domain}/{n}/{algorithm}/1e-4"].settings == expected
