"""The tables of docs/choosing.md and docs/reproduction.md, from the cells in results/paper.

    python docs/pictures/scores.py

Prints the mean score after warm-up with its 95% interval, 0 for the worst return of a domain and 1
for about the best, by the number of planning steps n, by the mixing rate ρ, and for the
ablations, there with the difference to the paper's choices; and the ranking of strategies. On
TabularGridWorld the learning rate is chosen by the first third of the seeds, and the others are
shown. Trains nothing.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hcdyna.experiments.paper import ablations, fig3, strategies
from hcdyna.experiments.paper.reproduce import Reproduction
from hcdyna.experiments.paper.scale import FULL
from hcdyna.experiments.paper.verdicts import paper_scores
from hcdyna.experiments.scores import Scores
from hcdyna.statistics.bootstrap import Interval
from hcdyna.statistics.comparisons import holm, permutation_test
from hcdyna.statistics.draws import mean_within, sum_draws

ROOT = Path(__file__).parents[2]
UNIT = (0.0, 1.0)
"""Between what scores lie."""
DOMAINS = ("GridWorld", "MountainCar", "CartPole", "Acrobot")


def main() -> None:
    paper = Reproduction(ROOT / "results/paper", "full")

    def scores(figure: str) -> Scores:
        return paper_scores(paper.cells(figure), paper.results(figure))

    by_n = scores("fig4")
    for rate in FULL.rates:
        print(f"\nn, learning rate {rate}\n\n| domain | algorithm | n = 1 | n = 10 | n = 30 |")
        print("| --- | --- | --- | --- | --- |")
        for domain in DOMAINS:
            for algorithm in ("HC-Dyna", "DQN"):
                found = [cell(by_n, f"{domain}/{n}/{algorithm}/{rate}") for n in (1, 10, 30)]
                print(f"| {domain} | {algorithm} | {' | '.join(found)} |")

    by_rho = scores("fig3")
    print("\nρ\n\n| domain | " + " | ".join(f"ρ = {rho:g}" for rho in fig3.RHOS) + " |")
    print("| --- |" + " --- |" * len(fig3.RHOS))
    for domain, rate in (("GridWorld", "1e-4"), ("GridWorld", "1e-3"), ("TabularGridWorld", "*")):
        found = [cell(by_rho, f"{domain}/{rho}/{rate}") for rho in fig3.RHOS]
        print(f"| {domain}, {rate} | {' | '.join(found)} |")

    by_variant = scores("ablations")
    print("\nablations: score, difference to the paper's choices, and p with Holm's correction")
    headings = [f"{domain} | difference | p" for domain in ablations.DOMAINS]
    print("\n| | " + " | ".join(headings) + " |\n| --- |" + " --- |" * 3 * len(headings))
    judged = {domain: differences(by_variant, domain) for domain in ablations.DOMAINS}
    for variant in ablations.ORDER:
        found = [
            f"{cell(by_variant, f'{domain}/{variant}')} | {judged[domain].get(variant, ' | ')}"
            for domain in ablations.DOMAINS
        ]
        print(f"| {variant} | {' | '.join(found)} |")

    by_strategy, problems = scores("strategies"), strategies.worlds(FULL)
    for model in strategies.MODELS:
        print(f"\nstrategies, {model} model\n\n| | mean | rank | " + " | ".join(problems) + " |")
        print("| --- | --- | --- |" + " --- |" * len(problems))
        for each in strategies.ranked(by_strategy, model, problems):
            rank = str(each.best) if each.best == each.worst else f"{each.best} to {each.worst}"
            labels = [f"{world}/{strategies.names(model)[each.name]}" for world in problems]
            found = [mean_of(by_strategy, label) for label in labels]
            print(f"| {each.name} | {show(each.mean)} | {rank} | {' | '.join(found)} |")


def mean_of(scores: Scores, label: str) -> str:
    """The mean of a cell that was run, alone."""
    found = scores.of(label, "area")
    assert found is not None
    return f"{found[0].mean():.2f}"


def differences(scores: Scores, domain: str) -> dict[str, str]:
    """Each variant against the paper's choices: difference [95% interval] | p."""
    areas = {
        variant: found[0]
        for variant in ablations.ORDER
        if (found := scores.of(f"{domain}/{variant}", "area")) is not None
    }
    paper = areas.pop(ablations.BASELINE)
    corrected = holm([permutation_test(x, paper) for x in areas.values()])
    return {
        variant: f"{show(difference(x, paper), sign='+')} | {p:.2g}"
        for (variant, x), p in zip(areas.items(), corrected, strict=True)
    }


def difference(a: np.ndarray, b: np.ndarray) -> Interval:
    """Of the mean scores, with its interval."""
    low, high = sum_draws([(1, a), (-1, b)], UNIT).interval()
    return Interval(a.mean() - b.mean(), low, high)


def cell(scores: Scores, label: str) -> str:
    """Mean [low, high] of a cell, or nothing where it was not run."""
    found = scores.of(label, "area")
    if found is None:
        return ""
    return show(mean_within(found[0], UNIT))


def show(interval: Interval, sign: str = "") -> str:
    """Mean [low, high]."""
    mean, low, high = (f"{float(x):{sign}.2f}".replace("-", "−") for x in interval)
    return f"{mean} [{low}, {high}]"


if __name__ == "__main__":
    main()
