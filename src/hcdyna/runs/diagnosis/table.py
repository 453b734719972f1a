"""The numbers of a diagnosis as a table for people: one column for visited states, one for those
that planning starts from."""

import math
from collections.abc import Callable

import numpy as np

from hcdyna.runs.diagnosis.evidence import Evidence, mean_of
from hcdyna.settings.plain import fields_of

WIDTH = 100
COLUMNS = (42, 28, 28)
MOST_VARIABLES = 8
"""Where a state has more, those with the largest errors are shown."""
NOTICEABLE = 0.005
"""A world with less noise than that is shown as one without."""
UNKNOWN = "–"

Row = tuple[str, ...]
"""What, at visited states, at planned states."""


def rows_of(evidence: Evidence) -> list[Row]:
    """All rows but those that are known of neither kind of states."""
    rows = [
        *model_rows(evidence),
        *end_rows(evidence),
        *planning_rows(evidence),
        *value_rows(evidence),
    ]
    return [row for row in rows if row[1:] != (UNKNOWN, UNKNOWN)]


def in_lines(rows: list[Row], agents: int) -> str:
    """The rows under a heading, in lines of at most `WIDTH` characters."""
    lines = [in_a_line(("", "visited states", "planned states")), "─" * (sum(COLUMNS) + 2)]
    lines += map(in_a_line, rows)
    if agents > 1:
        lines.append(f"Means of {agents} agents [lowest, highest]; counts are of all together.")
    return "\n".join(lines)


def in_a_line(row: Row) -> str:
    """One row, its cells one below the other."""
    name, visited, planned = row
    widest, right, last = COLUMNS
    return f"{name:<{widest}} {visited:>{right}} {planned:>{last}}".rstrip()


def model_rows(evidence: Evidence) -> list[Row]:
    """How wrong the model is on next states and rewards, and how unsure."""
    sides = evidence.measured[:2]
    rows: list[Row] = [("steps looked at", *(total(side.rows) for side in sides))]
    if evidence.tabular:
        rows.append(("wrong next states", *(share(side.next_state[:, 0] ** 2) for side in sides)))
        noise = [side.next_state_noise[:, 0] ** 2 for side in sides]
    else:
        shown = with_largest_errors(evidence)
        if shown:
            rows.append(("error of the next state (1: real change)", "", ""))
        for i in shown:
            errors = (number(side.next_state[:, i]) for side in sides)
            rows.append((f"  {evidence.names[i]}", *errors))
        noise = [np.fmax.reduce(side.next_state_noise, axis=1) for side in sides]
    if any((x > NOTICEABLE).any() for x in noise):
        rows.append(
            ("  the world itself, asked twice", *map(share if evidence.tabular else number, noise))
        )
    unit = "in units of 1" if evidence.measured.constant_reward.all() else "1: its spread"
    rows.append((f"error of the reward ({unit})", *(number(side.reward) for side in sides)))
    rows.append(("disagreement of the ensemble", *(number(side.spread) for side in sides)))
    return rows


def end_rows(evidence: Evidence) -> list[Row]:
    """Ends that there are, and those that the model and planning see."""
    sides = evidence.measured[:2]
    return [
        ("steps that end an episode", *(total(side.ends) for side in sides)),
        ("  missed by the model", *(total(side.missed) for side in sides)),
        ("  imagined by the model", *(total(side.imagined) for side in sides)),
        ("share learned from as an end", *(share(side.taken_for_ends) for side in sides)),
    ]


def planning_rows(evidence: Evidence) -> list[Row]:
    """How much is planned, from where, and what the model does not know of it."""
    measured, training = evidence.measured, evidence.settings.training
    learns = training.planning_steps > 0
    return [
        (
            "share of a mini-batch",
            share(1 - measured.share) if learns else UNKNOWN,
            share(measured.share),
        ),
        ("outcomes that the model does not know", UNKNOWN, share(measured.doubtful)),
        ("  what planning takes instead", UNKNOWN, rule(evidence)),
        ("states in the queue", UNKNOWN, number(measured.queue)),
        (
            "states never visited"
            if evidence.tabular
            else "real steps to the nearest visited state",
            UNKNOWN,
            (share if evidence.tabular else number)(measured.distance),
        ),
    ]


def value_rows(evidence: Evidence) -> list[Row]:
    """Values, and the returns that they may be."""
    measured = evidence.measured
    sides = measured[:2]
    low, high = measured.lowest_return.min(), measured.highest_return.max()
    return [
        ("value, mean", *(number(side.value) for side in sides)),
        ("value, highest", *(number(side.highest_value) for side in sides)),
        ("returns that the rewards seen allow", f"{in_short(low)} to {in_short(high)}", UNKNOWN),
    ]


def rule(evidence: Evidence) -> str:
    """What planning takes where the model does not know."""
    if np.isnan(evidence.measured.doubtful).all():
        return UNKNOWN
    replays = fields_of(evidence.settings.model).get("trust") == "replay"
    if replays or not evidence.measured.competent.any():
        return "a replayed step"
    return "the best reward so far"


def with_largest_errors(evidence: Evidence) -> list[int]:
    """Numbers of the variables to show; none, if nobody asks the model."""
    errors = {i: mean_of(x) for i, x in enumerate(evidence.measured.visited.next_state.T)}
    known = [i for i, error in errors.items() if not math.isnan(error)]
    return sorted(sorted(known, key=lambda i: -errors[i])[:MOST_VARIABLES])


def total(each: np.ndarray) -> str:
    """Of all agents together."""
    return UNKNOWN if np.isnan(each).all() else f"{int(np.nansum(each)):,}"


def number(each: np.ndarray) -> str:
    """The mean over agents, and between which numbers they lie."""
    return with_range(each, in_short)


def share(each: np.ndarray) -> str:
    """As `number`, in percent."""
    return with_range(each, lambda x: f"{100 * x:.2g}%" if x < 0.1 else f"{x:.0%}")


def with_range(each: np.ndarray, words: Callable[[float], str]) -> str:
    known = each[~np.isnan(each)]
    if len(known) == 0:
        return UNKNOWN
    mean, low, high = (words(float(x)) for x in (known.mean(), known.min(), known.max()))
    return mean if low == high else f"{mean} [{low}, {high}]"


def in_short(x: float) -> str:
    """Two or three digits, or all of a large number."""
    if math.isinf(x):
        return "∞" if x > 0 else "−∞"
    if abs(x) >= 100:
        return (f"{x:,.0f}" if abs(x) < 1e7 else f"{x:.1e}").replace("-", "−")
    return f"{x:.3g}".replace("-", "−") if abs(x) >= 1 else f"{x:.2g}".replace("-", "−")
