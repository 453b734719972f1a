"""A page about a store, while it is still growing: curves, intervals and verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from pathlib import Path

import numpy as np

from hcdyna.figures.report import write_report
from hcdyna.runs.run import Run
from hcdyna.settings.errors import RunError
from hcdyna.statistics.verdicts import LEVEL
from hcdyna.sweeps.apart import by_name
from hcdyna.sweeps.outcomes import Judged, Outcome, everything, judged
from hcdyna.sweeps.status import status
from hcdyna.sweeps.store import SweepStore
from hcdyna.sweeps.study import Study
from hcdyna.sweeps.tasks import in_words, short

MOST_CURVES = 24
"""More can't be told apart; those with the highest return at the end are shown."""


def report(store: SweepStore, path: Path, studies: Sequence[Study] | None = None) -> Path:
    """Write the page; of all studies, or of some."""
    chosen = store.studies() if studies is None else studies
    found = everything(store, chosen)
    answers = [
        answer
        for some in by_name(chosen)
        for answer in judged(asking(some), [x for x in found if x.study == some[0].name])
    ]
    best = shown(found)
    several = len({outcome.study for outcome in found}) > 1
    labels = [(f"{x.study}: " if several else "") + in_words(x.case) for x in best]
    runs = [run_of(outcome) for outcome in best]
    return write_report(runs, path, labels, more=[progress(store, found, best), verdicts(answers)])


def asking(some: Sequence[Study]) -> Study:
    """One of some studies of a name, with the comparisons of all of them, each once."""
    every = {in_words(dict(each)): each for study in some for each in study.compare}
    return replace(some[0], compare=list(every.values()))


def shown(found: list[Outcome]) -> list[Outcome]:
    """The cases to draw, in the order of the study."""

    def end(outcome: Outcome) -> float:
        return float(np.nan_to_num(outcome.scores("last").mean(), nan=-np.inf))

    best = sorted(found, key=end, reverse=True)[:MOST_CURVES]
    return [outcome for outcome in found if any(outcome is each for each in best)]


def run_of(outcome: Outcome) -> Run:
    """A case in the form that pictures are made of. Cells keep the mean return of an evaluation,
    not its episodes, nor the agents themselves."""
    returns = outcome.returns[None, :, :, None]
    evaluations = outcome.returns.shape[1]

    def no_agents() -> None:
        raise RunError("a cell keeps curves, not agents; train this setting with hcdyna train")

    return Run(
        settings=[outcome.settings],
        seeds=[int(seed) for seed in outcome.seeds],
        steps=outcome.steps,
        returns=returns,
        lengths=np.full_like(returns, np.nan),
        info=[{} for _ in range(evaluations)],
        diverged=np.repeat(outcome.diverged[None, :, None], evaluations, axis=2),
        final=no_agents,
    )


def progress(store: SweepStore, found: list[Outcome], best: list[Outcome]) -> str:
    """How far the sweep is, and which cases lack seeds."""
    now = status(store)
    lines = [escape(now.line())]
    missing = [outcome for outcome in found if len(outcome.seeds) < outcome.wanted]
    if missing:
        lines.append(f"{len(missing)} cases still lack seeds.")
    if len(best) < len(found):
        lines.append(f"Shown are the {len(best)} best of {len(found)} cases.")
    lines += [escape(line) for line in now.failed_lines()]
    return f"<section><h2>The sweep</h2>{''.join(f'<p>{line}</p>' for line in lines)}</section>"


def verdicts(answers: list[Judged]) -> str:
    """A table of all comparisons."""
    if not answers:
        return ""
    heads = ("where", "claim", "difference [95%]", "p for, against", "seeds", "verdict")
    rows = "".join(f"<tr>{cells(heads, row(answer))}</tr>" for answer in answers)
    head = "".join(f"<th>{name}</th>" for name in heads)
    return f"""<section><h2>Comparisons</h2><div class="scroll"><table id="verdicts">
<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>
<p class="note">By the rule of docs/statistics.md, fixed beforehand; p with Holm's correction, and a
verdict needs p &lt; {LEVEL:g}. Agents that diverged count with the lowest return.</p></section>"""


def cells(heads: tuple[str, ...], values: list[str]) -> str:
    pairs = zip(heads, values, strict=True)
    return "".join(f'<td data-head="{head}">{value}</td>' for head, value in pairs)


def row(answer: Judged) -> list[str]:
    """One comparison, as cells of a table."""
    comparison = answer.comparison
    a, b = answer.a.case, answer.b.case
    path = next((name for name in a if short(a[name]) != short(b.get(name))), "")
    words = f"{short(a.get(path))} {answer.claim} {than(answer)} {short(b.get(path))}"
    return [
        escape(answer.what),
        f"{escape(words)} ({answer.metric})",
        f"{comparison.difference:.4g} [{comparison.low:.4g}, {comparison.high:.4g}]",
        f"{comparison.p_reproduced:.2g}, {comparison.p_contradicted:.2g}",
        f"{comparison.seeds[0]}, {comparison.seeds[1]}",
        escape(str(answer.verdict)),
    ]


def than(answer: Judged) -> str:
    return "to" if answer.claim == "similar" else "than"
