"""Simulations with a known truth: how often intervals miss it and verdicts are false.

benchmarks/known_truth.py has the cases, and prints the tables of docs/statistics.md, with more
trials.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from hcdyna.statistics.draws import sum_draws
from hcdyna.statistics.verdicts import LEVEL, p_values

SCRIPT = Path(__file__).parents[2] / "benchmarks/known_truth.py"
SPEC = importlib.util.spec_from_file_location("known_truth", SCRIPT)
known_truth = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(known_truth)


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("name", known_truth.SCORES)
def test_intervals_hold_the_truth(name, both):
    covered, width = known_truth.coverage(name, both, seeds=30, trials=500, draws=1_000)
    assert covered >= 0.95, "a standard error is 0.01"
    assert width < 0.55


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [30, 100])
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("name", known_truth.SCORES)
def test_intervals_hold_the_truth_in_thousands_of_trials(name, both, seeds):
    covered, _ = known_truth.coverage(name, both, seeds, trials=4_000)
    assert covered >= 0.945


def test_bca_does_not_where_one_run_in_thirty_fails():
    """Which is why verdicts rest on other intervals."""
    assert known_truth.coverage_of_bca("fails 1 in 30", False, 30, 500)[0] < 0.75


@pytest.mark.parametrize("name", ["normal", "skewed"])
def test_without_bounds_student_s_interval_holds_the_truth_of_what_is_nearly_normal(name):
    rng = np.random.default_rng(0)
    draw = {"normal": rng.normal, "skewed": lambda size: rng.lognormal(0, 0.5, size)}[name]
    a, b = (draw(size=(30, 1_000)) for _ in "ab")
    truth = 1.0
    low, high = sum_draws([(1, a + truth), (-1, b)], draws=1_000).interval()
    assert 0.91 <= np.mean((low <= truth) & (truth <= high)) <= 0.985


CASES = [
    (claim, name)
    for claim in known_truth.CLAIMS
    for name in ("normal", "two-peaked", "fails 1 in 30", "fails 1 in 10")
]


@pytest.mark.parametrize(
    ("claim", "name"),
    [
        ("better, where Δ = 0", "two-peaked"),
        ("not worse, where Δ = −m", "fails 1 in 30"),
        ("any better, where none is", "normal"),
    ],
)
def test_few_verdicts_are_false_over_all_looks(claim, name):
    assert known_truth.false_verdicts(claim, name, trials=60, draws=2_000) <= 0.1


@pytest.mark.slow
@pytest.mark.parametrize(("claim", "name"), CASES)
def test_few_verdicts_are_false_for_every_kind_of_claim(claim, name):
    """At most 5%; a standard error is 1% there."""
    assert known_truth.false_verdicts(claim, name, trials=400) <= 0.05


def test_a_difference_that_matters_is_mostly_found():
    draw, _ = known_truth.SCORES["normal"]
    rng = np.random.default_rng(2)
    a, b = draw(rng, (100, 300)) + 0.1, draw(rng, (100, 300))
    p = p_values(sum_draws([(1, np.minimum(a, 1)), (-1, b)], (0, 1), 2_000), "better", 0.02)
    assert np.mean(p.reproduced < LEVEL) > 0.85
    assert np.mean(p.contradicted < LEVEL) == 0
