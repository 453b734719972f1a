"""All claims of the paper with their answers, as data, as a table, and in Markdown."""

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hcdyna.experiments.claims import Answer, Claim, Scores, answer, combined, read_claims
from hcdyna.experiments.paper.scale import Scale

CLAIMS = Path(__file__).parent / "claims.yaml"
NO_RATE = "–"
"""Where a claim has nothing to do with DQN's learning rate."""


def judged(name: str, cells: dict, results: dict, scale: Scale) -> list[dict[str, Any]]:
    """The claims of one figure as plain data."""
    claims, ranges = read_claims(CLAIMS)
    mine = [claim for claim in claims if claim.figure == name]
    scores = Scores(cells, results, ranges)
    answers = answer(mine, scores)
    by_area = [claim for claim in mine if claim.metric == "area" and " @ " not in claim.a]
    beside = answer(by_area, scores, "last")
    return [described(claim, answers[claim.id], beside.get(claim.id, []), scale) for claim in mine]


def described(
    claim: Claim, answers: list[Answer], beside: list[Answer], scale: Scale
) -> dict[str, Any]:
    """A claim, its verdict at each learning rate, and the comparisons behind it."""
    plain = dataclasses.asdict(claim)
    by_rate = {
        rate: {
            "verdict": str(combined(found, claim.combine)),
            "held": sum(x.verdict.startswith("reproduced") for x in found),
            "of": len(found),
        }
        for rate, found in grouped(answers).items()
    }
    at_the_end = {
        rate: str(combined(found, claim.combine)) for rate, found in grouped(beside).items()
    }
    return plain | {
        "scale": scale.name,
        "verdicts": by_rate,
        "verdicts_last_20_percent": at_the_end,
        "comparisons": [comparison(x) for x in answers],
        "comparisons_last_20_percent": [comparison(x) for x in beside],
    }


def grouped(answers: Sequence[Answer]) -> dict[str, list[Answer]]:
    """By learning rate, the printed one first."""
    found: dict[str, list[Answer]] = {}
    for each in answers:
        found.setdefault(each.case.get("rate", NO_RATE), []).append(each)
    return found


def comparison(found: Answer) -> dict[str, Any]:
    """The numbers behind one verdict, with six digits."""
    numbers = dataclasses.asdict(found.comparison)
    return {
        "case": found.case,
        "a": found.a,
        "b": found.b,
        "metric": found.metric,
        "means": [digits(x) for x in found.means],
        "verdict": str(found.verdict),
    } | {name: digits(value) for name, value in numbers.items()}


def digits(value: Any) -> Any:
    """Six digits are enough, and JSON has no infinity."""
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return [digits(x) for x in value] if isinstance(value, list | tuple) else value


def markdown(claims: list[dict[str, Any]], scale: Scale) -> str:
    """A table of one line for each claim."""
    rates = [rate for rate in ("1e-4", "1e-3") if rate in scale.rates]
    heads = " | ".join(f"at {rate}" for rate in rates)
    lines = [
        f"| | what the paper says | {heads} |",
        f"| --- | --- |{' --- |' * len(rates)}",
    ]
    for claim in claims:
        words = [in_words(claim, rate) for rate in rates]
        lines.append(f"| {claim['figure']} | {claim['quote']} | {' | '.join(words)} |")
    note = "" if scale.name == "full" else f"\nQuick scale: {scale.seeds} seeds, few steps.\n"
    return "\n".join(lines) + "\n" + note


def in_words(claim: dict[str, Any], rate: str) -> str:
    """The verdict, in how many comparisons the claim held, and what the end of the runs says."""
    found = at_rate(claim["verdicts"], rate)
    if not found:
        return why_no_verdict(claim)
    word = found["verdict"]
    emphasis = quick_mark(claim) + (f"**{word}**" if word == "contradicted" else word)
    count = "" if found["of"] == 1 else f" ({found['held']} of {found['of']})"
    late = otherwise_at_the_end(claim, rate)
    return emphasis + count + (f"; last 20%: {late}" if late else "")


def otherwise_at_the_end(claim: dict[str, Any], rate: str) -> str | None:
    """The verdict on the last 20% of evaluations, where it is not that on all of them."""
    whole, late = (at_rate(claim[key], rate) for key in ("verdicts", "verdicts_last_20_percent"))
    return late if late is not None and late != whole["verdict"] else None


def at_rate(verdicts: dict[str, Any], rate: str) -> Any:
    """The verdict at a learning rate, or that of a claim which has nothing to do with it."""
    return verdicts.get(rate) or verdicts.get(NO_RATE)


def quick_mark(claim: dict[str, Any]) -> str:
    """Stands before a verdict of the quick scale, so that nobody takes it for the paper's."""
    return "" if claim["scale"] == "full" else f"{claim['scale']}: "


def why_no_verdict(claim: dict[str, Any]) -> str:
    """Not run, or no case that the claim is about: a gain can't persist where none was found."""
    return "nothing to compare" if claim["comparisons"] or claim["where"] else "not run"
