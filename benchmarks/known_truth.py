"""How often intervals hold a known truth, and how often verdicts are false.

    python benchmarks/known_truth.py

Prints two tables of docs/statistics.md: coverage and mean width of 95% intervals of a difference of
means, beside those of BCa, and the share of claims that get a false verdict at any of the five
looks. Under two minutes of CPU time; standard errors are at most one percent.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hcdyna.statistics.comparisons import bca_interval
from hcdyna.statistics.draws import sum_draws
from hcdyna.statistics.verdicts import LOOKS, Comparison, Kind, Verdict, combine, p_values

MARGIN = 0.02
BOUNDS = (0.0, 1.0)
Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def failing(share: float) -> Draw:
    """Runs that score about 0.9, but for a share that never learns."""

    def draw(rng: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
        learned = np.clip(rng.normal(0.9, 0.02, size), 0.8, 0.98)
        return np.where(rng.random(size) < share, 0.0, learned)

    return draw


SCORES: dict[str, tuple[Draw, float]] = {
    "normal": (lambda rng, size: np.clip(rng.normal(0.5, 0.1, size), 0.02, 0.98), 0.5),
    "two-peaked": (
        lambda rng, size: rng.choice([0.15, 0.85], size) + rng.uniform(-0.1, 0.1, size),
        0.5,
    ),
    "skewed": (lambda rng, size: 0.98 * rng.beta(0.5, 4, size), 0.98 * 0.5 / 4.5),
    "fails 1 in 30": (failing(1 / 30), 0.9 * 29 / 30),
    "fails 1 in 10": (failing(1 / 10), 0.9 * 9 / 10),
    "fails 1 in 2": (failing(1 / 2), 0.9 / 2),
}
"""How scores of independent seeds are drawn, and their mean."""
STEADY: tuple[Draw, float] = (lambda rng, size: rng.uniform(0.55, 0.65, size), 0.6)
"""The other arm, where only one is of the kind named."""


def samples(
    name: str, both: bool, seeds: int, trials: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, float]:
    """Scores [seeds, trials] of two arms, and the true difference of their means."""
    (draw, mean), (other, other_mean) = SCORES[name], SCORES[name] if both else STEADY
    return draw(rng, (seeds, trials)), other(rng, (seeds, trials)), mean - other_mean


def coverage(
    name: str, both: bool, seeds: int, trials: int, draws: int = 2_000
) -> tuple[float, float]:
    """Share of 95% intervals that hold the truth, and their mean width."""
    a, b, truth = samples(name, both, seeds, trials, np.random.default_rng(0))
    low, high = sum_draws([(1, a), (-1, b)], BOUNDS, draws).interval()
    return float(np.mean((low <= truth) & (truth <= high))), float(np.mean(high - low))


def coverage_of_bca(name: str, both: bool, seeds: int, trials: int) -> tuple[float, float]:
    """The same for BCa."""
    a, b, truth = samples(name, both, seeds, trials, np.random.default_rng(0))
    _, low, high = bca_interval(a, b, resamples=1_000)
    return float(np.mean((low <= truth) & (truth <= high))), float(np.mean(high - low))


CLAIMS: dict[str, tuple[Kind, str, list[float], set[str]]] = {
    "better, where Δ = 0": ("better", "all", [0.0], {"reproduced", "contradicted"}),
    "better, where Δ = m": ("better", "all", [MARGIN], {"equivalent", "contradicted"}),
    "better, where Δ = −m": (
        "better",
        "all",
        [-MARGIN],
        {"reproduced", "equivalent", "contradicted"},
    ),
    "not worse, where Δ = −m": ("not worse", "all", [-MARGIN], {"reproduced", "contradicted"}),
    "similar, where Δ = m": ("similar", "all", [MARGIN], {"reproduced", "contradicted"}),
    "all better, where one is not": (
        "better",
        "all",
        [0.0, 0.3, 0.3, 0.3, 0.3],
        {"reproduced", "contradicted"},
    ),
    "any better, where none is": ("better", "any", [0.0] * 5, {"reproduced", "contradicted"}),
    "all not worse, at −m": ("not worse", "all", [-MARGIN] * 5, {"reproduced", "contradicted"}),
    "contrast better, where Δ = 0": ("better", "contrast", [0.0], {"reproduced", "contradicted"}),
}
"""Kind, how comparisons are put together, the true differences, and which verdicts are false."""


def false_verdicts(claim: str, name: str, trials: int, draws: int = 4_000) -> float:
    """Share of trials in which the claim gets a false verdict at any look."""
    kind, how, truths, false = CLAIMS[claim]
    rng = np.random.default_rng(1)
    draw = SCORES[name][0]
    count = 4 if how == "contrast" else 2
    arms = [[draw(rng, (LOOKS[-1], trials)) for _ in range(count)] for _ in truths]
    wrong = np.zeros(trials, bool)
    for look in LOOKS:
        found = [
            p_of(kind, [x[:look] for x in some], truth, draws, seed)
            for seed, (some, truth) in enumerate(zip(arms, truths, strict=True))
        ]
        for trial in range(trials):
            each = [judged(p[:, trial], look) for p in found]
            verdict = combine(each, "any" if how == "any" else "all")
            wrong[trial] |= verdict in {Verdict(word) for word in false}
    return float(wrong.mean())


def judged(p: np.ndarray, look: int) -> Comparison:
    reproduced, contradicted, equivalent = p
    return Comparison(0, 0, 0, reproduced, contradicted, equivalent, (look, look))


def p_of(kind: Kind, arms: list[np.ndarray], truth: float, draws: int, seed: int) -> np.ndarray:
    """The three p-values [3, trials] of arms with the same mean, one of them moved up by the true
    difference, and the upper bound with it."""
    moved = arms.copy()
    better = 0 if truth > 0 else 1
    moved[better] = moved[better] + abs(truth)
    signed_arms = [*zip((1, -1, -1, 1), moved, strict=False)]
    found = sum_draws(signed_arms, (0.0, 1.0 + abs(truth)), draws, seed)
    return np.array(p_values(found, kind, MARGIN))


def main() -> None:
    print("| scores | arms | seeds | coverage | width | coverage of BCa | its width |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in SCORES:
        for both in (False, True):
            for seeds in (30, 100):
                ours = coverage(name, both, seeds, 4_000)
                theirs = coverage_of_bca(name, both, seeds, 2_000)
                numbers = " | ".join(f"{x:.0%} | {width:.2f}" for x, width in (ours, theirs))
                print(f"| {name} | {'both' if both else 'one'} | {seeds} | {numbers} |")
    kinds = ("normal", "two-peaked", "fails 1 in 30", "fails 1 in 10")
    print("\n| claim | " + " | ".join(kinds) + " |\n| --- |" + " --- |" * len(kinds))
    for claim in CLAIMS:
        shares = [f"{false_verdicts(claim, name, 500):.1%}" for name in kinds]
        print(f"| {claim} | {' | '.join(shares)} |", flush=True)


if __name__ == "__main__":
    main()
