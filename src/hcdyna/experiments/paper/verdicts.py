"""All claims of the paper with their answers, as data, as a table, and in Markdown."""

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hcdyna.experiments.claims import (
    Answer,
    Claim,
    answer,
    combined,
    not_run,
    open_cells,
    read_claims,
)
from hcdyna.experiments.paper.scale import Scale
from hcdyna.experiments.scores import Scores
from hcdyna.statistics.power import seeds_after_correction
from hcdyna.statistics.verdicts import LOOKS, SILENT, Combine, Verdict

CLAIMS = Path(__file__).parent / "claims.yaml"
NO_RATE = "–"
"""Where a claim has nothing to do with DQN's learning rate."""
MOST_SEEDS = 100_000
"""More are not told apart: the truth is the margin itself, as far as anybody will see."""


def judged(name: str, cells: dict, results: dict, scale: Scale) -> list[dict[str, Any]]:
    """The claims of one figure as plain data."""
    mine, scores = claims_of(name, cells, results)
    answers = answer(mine, scores)
    by_area = [claim for claim in mine if claim.metric == "area" and " @ " not in claim.a + claim.b]
    beside = answer(by_area, scores, "last")
    return [
        described(
            *(claim, answers[claim.id], beside.get(claim.id, []), scale),
            missing=Counter(rate_of(case) for case in not_run(claim, answers)),
        )
        for claim in mine
    ]


def undecided(name: str, cells: dict, results: dict) -> dict[str, int]:
    """The cells of a figure that need further seeds, each with those that it has."""
    mine, scores = claims_of(name, cells, results)
    found: dict[str, int] = {}
    for claim, answers in zip(mine, answer(mine, scores).values(), strict=True):
        for some in grouped(answers).values():
            for label, seeds in open_cells(some, claim.combine).items():
                found[label] = min(seeds, found.get(label, seeds))
    return found


def claims_of(name: str, cells: dict, results: dict) -> tuple[list[Claim], Scores]:
    """The claims of one figure, and the scores that answer them."""
    mine = [claim for claim in read_claims(CLAIMS)[0] if claim.figure == name]
    return mine, paper_scores(cells, results)


def paper_scores(cells: dict, results: dict) -> Scores:
    """Scores of cells, on the scale of the claims."""
    return Scores(cells, results, read_claims(CLAIMS)[1])


def described(
    claim: Claim,
    answers: list[Answer],
    beside: list[Answer],
    scale: Scale,
    missing: Mapping[str, int] = MappingProxyType({}),
) -> dict[str, Any]:
    """A claim, its verdict at each learning rate, and the comparisons behind it; `missing` says how
    many of these were not run."""
    at_the_end = {
        rate: str(verdict)
        for rate, found in grouped(beside).items()
        if (verdict := combined(found, claim.combine, missing.get(rate, 0))) is not None
    }
    verdicts = {
        rate: summary(found, claim, missing.get(rate, 0))
        for rate, found in grouped(answers).items()
    }
    return dataclasses.asdict(claim) | {
        "bounds": digits(claim.bounds),
        "scale": scale.name,
        "verdicts": verdicts,
        "not_run": dict(missing),
        "verdicts_last_20_percent": at_the_end,
        "comparisons": [comparison(x) for x in answers],
        "comparisons_last_20_percent": [comparison(x) for x in beside],
    }


def summary(answers: list[Answer], claim: Claim, missing: int = 0) -> dict[str, Any]:
    """The verdict at one learning rate, how many comparisons are behind it, and, where it is
    undecided, the seeds that it needs, or how many comparisons were not run."""
    verdict = combined(answers, claim.combine, missing)
    counts = {word: sum(x.verdict is word for x in answers) for word in Verdict}
    found: dict[str, Any] = {
        "verdict": None if verdict is None else str(verdict),
        "held": counts[Verdict.REPRODUCED],
        "of": len(answers) - sum(counts[word] for word in SILENT),
        "seeds": min(x.look for x in answers),
    }
    found |= {str(word): counts[word] for word in SILENT if counts[word]}
    if missing:
        found["not run"] = missing
    elif verdict is Verdict.UNDECIDED:
        found["needed"] = digits(seeds_needed(answers, claim.combine))
    return found


def seeds_needed(answers: list[Answer], how: Combine) -> float:
    """Seeds that will probably decide an undecided claim: those of the first comparison that can
    settle it alone, or else those of all."""
    alone = Verdict.CONTRADICTED if how == "all" else Verdict.REPRODUCED
    shown = [x for x in answers if x.verdict is alone]
    if shown:  # but for Holm's correction it would be decided
        loud = sum(x.verdict not in SILENT for x in answers)
        return min(
            seeds_after_correction(getattr(x.comparison, f"p_{alone}"), loud, x.look) for x in shown
        )
    ahead = [x.outlook for x in answers if x.outlook is not None]
    settling = [x.seeds for x in ahead if x.verdict is alone]
    return min(settling) if settling else max((x.seeds for x in ahead), default=math.inf)


def grouped(answers: Sequence[Answer]) -> dict[str, list[Answer]]:
    """By learning rate, the printed one first."""
    found: dict[str, list[Answer]] = {}
    for each in answers:
        found.setdefault(rate_of(each.case), []).append(each)
    return found


def rate_of(case: dict[str, str]) -> str:
    """The learning rate of a comparison."""
    return case.get("rate", NO_RATE)


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
        "seeds_needed": None if found.outlook is None else digits(found.outlook.seeds),
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
        lines.append(f"| {claim['figure']} | {quoted(claim)} | {' | '.join(words)} |")
    note = "" if scale.name == "full" else f"\nQuick scale: {scale.seeds} seeds, few steps.\n"
    return "\n".join(lines) + "\n" + note


def quoted(claim: dict[str, Any]) -> str:
    """The sentence, and how it is read where there are several ways."""
    reading = claim.get("reading")  # claims that were written before have none
    return f"{claim['quote']} [{reading}]" if reading else claim["quote"]


def in_words(claim: dict[str, Any], rate: str) -> str:
    """The verdict, in how many comparisons the claim held, how many seeds would decide it, and what
    the end of the runs says."""
    found = at_rate(claim["verdicts"], rate)
    if not found:
        return why_no_verdict(claim)
    word = found["verdict"] or "says nothing"
    emphasis = quick_mark(claim) + (f"**{word}**" if word == "contradicted" else word)
    late = otherwise_at_the_end(claim, rate)
    more = [f"last 20%: {late}"] if late else []
    return "; ".join([emphasis + counted(found), *seeds_in_words(found), *more])


def counted(found: dict[str, Any]) -> str:
    """In brackets, in how many comparisons a claim held, and how many say nothing."""
    held = [] if found["of"] < 2 else [f"{found['held']} of {found['of']}"]
    inside = held + silent(found)
    return f" ({', '.join(inside)})" if inside else ""


def silent(found: dict[str, Any]) -> list[str]:
    """How many comparisons say nothing, and why."""
    edges = [f"{found[word]} at the {word}" for word in SILENT if word in found]
    return edges + ([f"{found['not run']} not run"] if "not run" in found else [])


def seeds_in_words(found: dict[str, Any]) -> list[str]:
    """How many seeds would probably decide an undecided claim."""
    if "needed" not in found:
        return []
    return [f"needs {enough(found['needed'])} seeds"]


def enough(needed: float | None) -> str:
    """So many seeds, in words."""
    if needed is None:
        return f"over {LOOKS[-1]:,}"
    return f"over {MOST_SEEDS:,}" if needed > MOST_SEEDS else f"about {needed:,}"


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
    if claim.get("not_run"):
        return "not run"
    return "nothing to compare" if claim["comparisons"] or claim["where"] else "not run"
