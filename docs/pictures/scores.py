"""The tables of docs/choosing.md, from the cells in results/paper.

    python docs/pictures/scores.py

Prints the mean score after warm-up with its 95% interval, 0 for the worst return of a domain and 1
for about the best, by the number of planning steps n, by the mixing rate ρ, and for whatever there
is of the ablations. Trains nothing.
"""

from __future__ import annotations

from pathlib import Path

from hcdyna.experiments.claims import Scores, read_claims
from hcdyna.experiments.paper import ablations, fig3
from hcdyna.experiments.paper.reproduce import Reproduction
from hcdyna.experiments.paper.scale import FULL
from hcdyna.statistics.summaries import mean_interval

ROOT = Path(__file__).parents[2]
DOMAINS = ("GridWorld", "MountainCar", "CartPole", "Acrobot")


def main() -> None:
    paper = Reproduction(ROOT / "results/paper", "full")
    ranges = read_claims(ablations.CLAIMS)[1]

    def scores(figure: str) -> Scores:
        return Scores(paper.cells(figure), paper.results(figure), ranges)

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
    print("\nablations\n\n| | " + " | ".join(ablations.DOMAINS) + " |\n| --- | --- | --- |")
    for variant in ablations.ORDER:
        found = [cell(by_variant, f"{domain}/{variant}") for domain in ablations.DOMAINS]
        if any(found):
            print(f"| {variant} | {' | '.join(found)} |")


def cell(scores: Scores, label: str) -> str:
    """Mean [low, high] of a cell, or nothing where it was not run."""
    found = scores.of(label, "area")
    if found is None:
        return ""
    mean, low, high = (float(x) for x in mean_interval(found[0]))
    return f"{mean:.2f} [{low:.2f}, {high:.2f}]"


if __name__ == "__main__":
    main()
