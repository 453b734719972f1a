"""Claims: every one of the file can be asked, scores by hand, and verdicts put together."""

import dataclasses
import json
import re
from pathlib import Path

import jax
import numpy as np
import pytest
import yaml

from hcdyna.experiments.cells import Cell, Result
from hcdyna.experiments.claims import (
    Claim,
    answer,
    combined,
    not_run,
    open_cells,
    read_claims,
)
from hcdyna.experiments.paper import FIGURES, figure
from hcdyna.experiments.paper.page import badge, claim_block, overview
from hcdyna.experiments.paper.reproduce import Reproduction
from hcdyna.experiments.paper.scale import FULL, QUICK, settings
from hcdyna.experiments.paper.verdicts import CLAIMS, described, in_words, judged, quoted
from hcdyna.experiments.probes import mean_slope
from hcdyna.experiments.scores import Scores, choosing
from hcdyna.numerics.networks import Layer, mlp
from hcdyna.settings import presets
from hcdyna.settings.plain import settings_to_plain
from hcdyna.statistics.verdicts import Verdict
from hcdyna.sweeps.paper import train_figures

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
        for side in filter(None, claim.sides(case)):
            label = side.partition(" @ ")[0]
            if re.fullmatch(r"[\d.]+", label):
                continue
            start = label.removesuffix("*")
            known = label in cells or (label != start and any(c.startswith(start) for c in cells))
            assert known, f"{claim.id}: {label}"


def test_claims_are_about_all_figures_and_have_different_names():
    assert {claim.figure for claim in CLAIM_LIST} == set(FIGURES) - {"ablations", "strategies"}
    assert len({claim.id for claim in CLAIM_LIST}) == len(CLAIM_LIST) >= 20


def scores_of(**results):
    run = settings(FULL, "GridWorld", "DQN", "1e-3")
    run = dataclasses.replace(run, training=dataclasses.replace(run.training, warmup=1_000))
    cells = {name: Cell(run, 3, change="negate_output", change_step=4_000) for name in results}
    return Scores(cells, results, {"GridWorld": {"worst": -100.0, "best": 0.0}})


def test_a_mean_that_is_not_a_number_is_not_the_best():
    found = {
        "r/1": result([[-5.0] * 2] * 3),
        "r/2": result([[np.nan] * 2] * 3),
        "r/3": result([[-9.0] * 2] * 3),
    }
    assert scores_of(**found).best("r/", "last")[0] == "r/1"


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
    better = scores_of(z=result(curve + 20))
    np.testing.assert_allclose(better.of("z", "last")[0], 1.0), "what is better than best is best"


def early_and_late(seeds=9):
    """Two learning rates: one is better over the whole run, the other at its end."""
    early, late = np.full((seeds, 10), -90.0), np.full((seeds, 10), -90.0)
    early[:, :8], late[:, 8:] = -50, -10
    fine = np.zeros(seeds, bool)
    return {"hc/1.0": result(early, fine), "hc/0.5": result(late, fine)}


def test_a_learning_rate_is_chosen_by_the_metric_that_judges_it():
    scores = scores_of(**early_and_late())
    assert scores.best("hc/", "area")[0] == "hc/1.0"
    assert scores.best("hc/", "last")[0] == "hc/0.5"
    np.testing.assert_allclose(scores.of("hc/*", "last")[0], 0.9)
    assert scores.best("other/") is None
    scores.results.pop("hc/0.5")
    assert scores.of("hc/*", "area") is None, "not before all rates were run"


def test_seeds_that_choose_a_learning_rate_do_not_judge_it():
    found = early_and_late()
    found["hc/1.0"].returns[3:] = -100
    found["hc/0.5"].returns[:3] = -100
    scores = scores_of(**found)
    label, judging = scores.best("hc/")
    assert label == "hc/1.0", "by the first three of nine"
    assert len(judging.returns) == 6
    np.testing.assert_allclose(scores.of("hc/*", "area")[0], np.zeros(6))
    assert [choosing(n) for n in (1, 2, 3, 30, 100)] == [0, 1, 1, 10, 33]


@pytest.mark.parametrize(("name", "strategies"), [("fig7", 5), ("fig8", 4)])
def test_pictures_choose_as_the_claims_do(name, strategies, monkeypatch):
    asked = []
    monkeypatch.setattr(Scores, "best", lambda self, family: asked.append(family))
    figure(name).draw({"HC-Dyna/1.0": result([[-50.0]] * 3)}, QUICK)
    assert len(asked) == strategies


def claim(**changes):
    usual = {"a": "x", "b": "y", "kind": "better", "margin": 0.05, "quote": "", "place": ""}
    return Claim(**{"id": "one", "figure": "fig4"} | usual | changes)


def runs(mean, seeds=30, spread=2):
    rng = np.random.default_rng(abs(int(mean)))
    return result(mean + rng.normal(0, spread, (seeds, 6)), np.zeros(seeds, bool))


def test_answers_find_a_true_difference_and_respect_where():
    scores = scores_of(x=runs(-10), y=runs(-60))
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
    gains = described(claim(where="other"), [], [], FULL, {"1e-3": 5})
    assert in_words(gains, "1e-3") == "not run", "there are gains, which might persist"


def test_what_was_not_run_is_counted_and_settles_nothing():
    scores = scores_of(**{"1/x": runs(-10), "1/y": runs(-60)})
    both = claim(a="{n}/x", b="{n}/y", each={"n": [1, 2]})
    later = claim(id="two", a="{n}/x", b="{n}/z", each={"n": [1, 2]}, where="one")
    found = answer([both, later], scores)
    assert not_run(both, found) == [{"n": "2"}]
    assert not_run(later, found) == [{"n": "1"}], "of those that the other claim is shown for"
    assert combined(found["one"], "all") is Verdict.REPRODUCED
    assert combined(found["one"], "all", missing=1) is Verdict.UNDECIDED
    assert combined(found["one"], "any", missing=1) is Verdict.REPRODUCED, "one is enough"
    turned = answer([dataclasses.replace(both, a="{n}/y", b="{n}/x")], scores)["one"]
    assert combined(turned, "all", missing=1) is Verdict.CONTRADICTED, "one is enough"
    plain = described(both, found["one"], [], FULL, {"–": 1})
    assert in_words(plain, "1e-3") == "undecided (1 not run)"
    assert "1 not run" in overview([plain], FULL)


def test_a_reading_stands_beside_its_sentence():
    one = described(claim(quote="gains persist", reading="told <ends>"), [], [], FULL)
    assert quoted(one) == "gains persist [told <ends>]"
    assert "gains persist [told &lt;ends&gt;]" in overview([one], FULL)
    assert "read as: told &lt;ends&gt;" in claim_block(one)
    quotes = [x.quote for x in CLAIM_LIST if x.reading]
    assert all(quotes.count(quote) > 1 for quote in quotes), "a reading is one of several"


@pytest.mark.parametrize(("scale", "mark"), [(FULL, ""), (QUICK, "quick: ")])
def test_every_verdict_of_the_quick_scale_says_so(scale, mark):
    one = claim(each={"rate": ["1e-3"]})
    found = answer([one], scores_of(x=runs(-60), y=runs(-10)))["one"]
    plain = described(one, found, found, scale)
    assert in_words(plain, "1e-3") == f"{mark}**contradicted**"
    assert f">{mark}contradicted<" in badge(plain, "1e-3")
    block = claim_block(plain)
    assert f"at 1e-3: {mark}contradicted" in block
    assert f"<th>{mark}verdict</th>" in block
    assert "1 comparison<" in block
    assert "1 comparison of the last 20%<" in block


def test_the_end_of_the_runs_is_mentioned_where_it_says_something_else():
    low, high = runs(-60), runs(-10)
    one = claim(each={"rate": ["1e-3"]})
    worse = answer([one], scores_of(x=low, y=high))["one"]
    better = answer([one], scores_of(x=high, y=low))["one"]
    assert in_words(described(one, better, better, FULL), "1e-3") == "reproduced"
    parted = described(one, better, worse, FULL)
    assert in_words(parted, "1e-3") == "reproduced; last 20%: contradicted"
    assert "last 20%: contradicted" in overview([parted], FULL)
    assert "last 20%" not in overview([described(one, [], [], FULL)], FULL)


def test_a_contrast_compares_gains():
    scores = scores_of(hc=runs(-20), hc0=runs(-80), dqn=runs(-20), dqn0=runs(-50))
    one = claim(a="hc", b="dqn", minus_a="hc0", minus_b="dqn0")
    [found] = answer([one], scores)["one"]
    assert (found.a, found.b) == ("hc − hc0", "dqn − dqn0")
    np.testing.assert_allclose(found.means, (0.6, 0.3), atol=0.02)
    assert found.comparison.difference == pytest.approx(0.3, abs=0.02)
    assert found.comparison.seeds == (30, 30, 30, 30)
    assert sorted(found.labels) == ["dqn", "dqn0", "hc", "hc0"]


def test_two_numbers_of_the_same_runs_are_compared_run_by_run():
    """Far apart between seeds, and always a little better within one."""
    rng = np.random.default_rng(0)
    first = rng.choice([0.1, 0.7], 200)
    seen = {"share_10": first, "share_20": first + 0.2}
    there = Result(np.array([1]), np.zeros((200, 1)), np.zeros(200, bool), seen, {})
    scores = scores_of(x=there)
    scores.cells["x"] = dataclasses.replace(scores.cells["x"], probe_steps=(10, 20))
    [found] = answer([claim(a="x @ share@1", b="x @ share@0")], scores)["one"]
    assert found.verdict is Verdict.REPRODUCED
    assert found.comparison.seeds == (200,)
    assert found.comparison.difference == pytest.approx(0.2)
    assert found.comparison.high < 0.23
    low = dataclasses.replace(there, seen={"share_10": first * 0, "share_20": first * 0})
    scores.results["x"] = low
    [found] = answer([claim(a="x @ share@1", b="x @ share@0")], scores)["one"]
    assert found.verdict is Verdict.FLOOR


def test_comparisons_at_the_floor_are_counted_and_left_out():
    scores = scores_of(**{"1/x": runs(-10), "1/y": runs(-60), "2/x": runs(-99, spread=0.1)})
    scores.results["2/y"], scores.cells["2/y"] = scores.results["2/x"], scores.cells["2/x"]
    one = claim(a="{n}/x", b="{n}/y", each={"n": [1, 2]})
    found = answer([one], scores)["one"]
    assert [x.verdict for x in found] == [Verdict.REPRODUCED, Verdict.FLOOR]
    assert in_words(described(one, found, [], FULL), "1e-3") == "reproduced (1 at the floor)"
    silent = described(one, found[1:], [], FULL)
    assert in_words(silent, "1e-3") == "says nothing (1 at the floor)"
    assert "verdict none" in badge(silent, "1e-3")


def test_an_undecided_claim_says_which_cells_need_seeds_and_how_many():
    scores = scores_of(**{"1/x": runs(-10), "1/y": runs(-60), "2/x": runs(-53), "2/y": runs(-59)})
    one = claim(a="{n}/x", b="{n}/y", each={"n": [1, 2]}, margin=0.02)
    found = answer([one], scores)["one"]
    assert combined(found, "all") is Verdict.UNDECIDED
    assert open_cells(found, "all") == {"2/x": 30, "2/y": 30}
    words = in_words(described(one, found, [], FULL), "1e-3")
    assert re.fullmatch(r"undecided \(1 of 2\); needs about (100|200|400) seeds", words)
    assert open_cells(found, "any") == {}, "one is enough"
    assert found[1].outlook.verdict is Verdict.REPRODUCED


def test_a_comparison_uses_as_many_seeds_as_all_its_cells_have():
    scores = scores_of(x=runs(-10, 100), y=runs(-60, 30))
    [found] = answer([claim()], scores)["one"]
    assert (found.look, found.comparison.seeds) == (30, (30, 30))
    first = scores_of(x=scores.results["x"].part(slice(0, 30)), y=scores.results["y"])
    assert answer([claim()], first)["one"] == [found], "further seeds of one alone are no look"


def test_only_a_network_whose_outputs_start_small_starts_flat():
    """The claim can fail: with an ordinary output layer it is contradicted."""
    rng = np.random.default_rng(0)
    network, points = mlp((2, 32, 32, 4)), rng.random((100, 2))

    def layer(size_in, size_out, bound=None):
        limit = bound or np.sqrt(6 / (size_in + size_out))  # Xavier's
        return Layer(rng.uniform(-limit, limit, (30, size_in, size_out)), np.zeros((30, size_out)))

    @jax.jit
    @jax.vmap
    def slope(params):
        return mean_slope(lambda obs: network.apply(params, obs).max(), points)

    found = []
    for output_scale in (None, 3e-3):
        params = (layer(2, 32), layer(32, 32), layer(32, 4, output_scale))
        seen = {"slope_5000": np.asarray(slope(params))}
        there = Result(np.array([1]), np.zeros((30, 1)), np.zeros(30, bool), seen, {})
        scores = Scores(figure("fig1").cells(FULL), {"surface/1e-3": there}, RANGES)
        [starts_flat] = [x for x in CLAIM_LIST if x.id == "starts-flat"]
        found += answer([starts_flat], scores)["starts-flat"]
    assert [x.verdict for x in found] == [Verdict.CONTRADICTED, Verdict.REPRODUCED]


def test_the_verdicts_of_the_first_version_are_kept():
    history = json.loads((ROOT / "results/paper/history.json").read_text())
    versions = [each["version"] for each in yaml.safe_load(CLAIMS.read_text())["history"]]
    assert versions == [1, 2, 3, 4]
    assert [each["version"] for each in history] == versions[:-1]
    assert len(history[1]["verdicts"]) == 32
    assert history[1]["verdicts"]["half-is-best-tabular"] == {"–": "undecided (1 of 4)"}
    assert len(history[2]["verdicts"]) == 41
    assert history[2]["verdicts"]["half-is-best"]["1e-4"] == "undecided (2 of 4)"
    assert history[0]["verdicts"]["starts-flat"] == {"1e-4": "reproduced", "1e-3": "reproduced"}


def made_up(reproduction, returns):
    """A function that makes results up instead of training; and the cells it was asked for."""
    done = []

    def train(study, seconds):
        for cell in (asked.cell for asked in study.cells()):
            if not reproduction.store.has(cell):
                done.append(cell)
                count = cell.settings.training.steps // cell.settings.evaluation.every
                steps = cell.settings.evaluation.every * np.arange(1, count + 1)
                rng = np.random.default_rng(cell.first_seed)
                noise = rng.uniform(-300, 300, (cell.seeds, 1))
                made = returns(cell) + noise * np.ones((cell.seeds, count))
                found = Result(steps, made, np.zeros(cell.seeds, bool), {}, {})
                reproduction.store.save(cell, found)

    return train, done


def test_seeds_of_all_cells_and_then_of_undecided_claims(tmp_path):
    """DDPG with hill climbing is far ahead of DDPG, and a little of OnPolicy-Dyna."""

    def returns(cell):
        names = {"replay": -1_600, "on_policy": -550, "hill_climbing": -450}
        return names[settings_to_plain(cell.settings)["search_control"]["name"]]

    reproduction = Reproduction(tmp_path, "full", say=lambda line: None)
    train, done = made_up(reproduction, returns)
    assert train_figures(reproduction, ["fig6"], train) == 0
    assert [(x.first_seed, x.seeds) for x in done] == [(0, 30)] * 3
    done.clear()
    assert train_figures(reproduction, ["fig6"], train, seeds=100) == 0
    assert [(x.first_seed, x.seeds) for x in done] == [(30, 70)] * 3
    done.clear()
    assert train_figures(reproduction, ["fig6"], train, undecided=1_000) == 0
    assert {returns(x) for x in done} == {-450, -550}, "the far one is decided"
    seeds = {name: len(x.returns) for name, x in reproduction.results("fig6").items()}
    assert seeds["DDPG"] == 100
    assert seeds["DDPG-HC-Dyna"] == seeds["DDPG-OnPolicy-Dyna"] in (200, 400)
    done.clear()
    assert train_figures(reproduction, ["fig6"], train, undecided=1_000) == 0
    assert done == [], "all is decided"
    first = reproduction.store.load(reproduction.cells("fig6")["DDPG"])
    both = reproduction.results("fig6")["DDPG"]
    assert np.array_equal(both.returns[:30], first.returns)


def test_figures_with_missing_cells_are_named(tmp_path):
    reproduction = Reproduction(tmp_path, "full", say=lambda line: None)
    train, _ = made_up(reproduction, lambda cell: -500)
    assert reproduction.gaps(["fig2", "fig6"]) == "8 of 8 in fig2, 3 of 3 in fig6"
    train_figures(reproduction, ["fig6"], train)
    assert reproduction.gaps(["fig2", "fig6"]) == "8 of 8 in fig2"


def test_a_gap_ends_what_is_joined(tmp_path):
    reproduction = Reproduction(tmp_path, "full", say=lambda line: None)
    train, _ = made_up(reproduction, lambda cell: -500)
    train_figures(reproduction, ["fig6"], train, seeds=200)
    cell = reproduction.cells("fig6")["DDPG"]
    (reproduction.store.folder / f"{cell.blocks(100)[1].key}.json").unlink()
    assert {len(x.returns) for x in reproduction.results("fig6").values()} == {30, 200}


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
        "OnPolicy-Dyna, known ends": ("on_policy", "learned"),
        "HC-Dyna, known ends": ("hill_climbing", "learned"),
    }.items():
        preset = presets.settings("paper", domain, search_control=strategy, model=model)
        for n in (1, 10, 30):
            training = dataclasses.replace(preset.training, planning_steps=n)
            expected = dataclasses.replace(preset, training=training)
            assert cells[f"{domain}/{n}/{algorithm}/1e-4"].settings == expected
