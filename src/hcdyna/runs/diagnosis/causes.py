"""Why planning did, or didn't, help: the numbers of a diagnosis in one or two sentences.

`CAUSES` is in order of precedence. What comes first makes the rest irrelevant (nothing is planned)
or does more harm: a model without ends spoils every value, a wrong next state those around it, and
a model that is wrong only where planning asks it leaves the replayed part of a mini-batch right.
Ends that are missed because the next states are wrong count as wrong next states.
"""

import math
from collections.abc import Callable

import numpy as np

from hcdyna.runs.diagnosis.evidence import (
    WRONG,
    Evidence,
    about_error,
    about_reward,
    beyond_chance,
    mean_of,
    where,
    why,
    worst,
)
from hcdyna.settings import registry
from hcdyna.settings.plain import fields_of
from hcdyna.settings.words import count

MANY_IMAGINED = 0.02
"""Share of the steps that go on which a sound model may take for ends."""
MOST_DOUBTFUL = 0.5
"""Share of the planned outcomes that a model which planning can use may not know."""
BEYOND = 0.1
"""How far values may lie outside the possible returns, as a share of their range."""


def judged(evidence: Evidence) -> tuple[str, str]:
    """The name of the cause, and one or two sentences about it."""
    found = [
        (name, said) for name, cause in CAUSES.items() if (said := cause(evidence)) is not None
    ]
    name, first = found[0] if found else ("sound", sound(evidence))
    if name == "nothing planned":
        return name, first
    # What is wrong everywhere is wrong where it plans: that goes without saying.
    others = [said for other, said in found[1:] if other != "planned states"]
    return name, " ".join([first, *others[:1]])


def nothing_planned(evidence: Evidence) -> str | None:
    """No row of a mini-batch came from search-control, or it was a replayed one."""
    settings, measured = evidence.settings, evidence.measured
    training, strategy = settings.training, settings.search_control
    name = registry.name_of("search_control", strategy)
    if (measured.steps <= training.warmup).all():
        return (
            f"Planning has not begun: all of the {int(measured.steps.max()):,} steps so far were "
            f"warm-up (training.warmup = {training.warmup:,})."
        )
    if training.planning_steps == 0:
        return "Planning had no effect: there are no updates (training.planning_steps = 0)."
    if training.mixing_rate == 0:
        return (
            "Planning had no effect: no row of a mini-batch comes from search-control "
            "(training.mixing_rate = 0)."
        )
    if measured.replayed.all() and (measured.share > 0).all():
        return f"Nothing is planned: search_control = {name} replays real steps, in its own order."
    if (measured.share > 0).any():
        return None
    if (measured.queue == 0).all():
        zeros = [x for x in ("steps", "max_accepted") if fields_of(strategy).get(x) == 0]
        why = f" (search_control.{zeros[0]} = 0)" if zeros else ""
        return f"Planning had no effect: no state ever entered the queue{why}."
    limit = fields_of(settings.model).get("reward_limit")
    if (measured.doubtful == 1).all() and evidence.instead and limit is not None:
        if measured.constant_reward.all() and not measured.visited.ends.any():
            return (
                "Planning had no effect: all rewards were the same and no episode ended, so there "
                "was nothing to plan for, and replay took its place."
            )
        return (
            "Planning had no effect: the model predicts rewards with too large an error "
            f"(model.reward_limit = {limit:g}), so replay took its place."
        )
    if (measured.doubtful > 0).any():
        return (
            "Planning had no effect: the model does not know the planned outcomes, and replayed "
            "steps took the place of all of them."
        )
    return f"Nothing is planned: search_control = {name} only replays real steps."


def diverged(evidence: Evidence) -> str | None:
    """Values are not finite."""
    broken = int(evidence.measured.diverged.sum())
    if not broken:
        return None
    agents = count(len(evidence.measured.diverged), "agent")
    return f"Learning diverged in {broken} of {agents}: the values are no longer finite numbers."


def ends(evidence: Evidence) -> str | None:
    """The model misses ends, or imagines them, on real steps, and not because its next states are
    wrong."""
    side = evidence.measured.visited
    if evidence.spec.discount == 0 or np.isnan(side.missed).all():
        return None
    if evidence.measured.ends_follow.all() and next_state(evidence) is not None:
        return None
    seen, steps = int(side.ends.sum()), int(side.rows.sum())
    missed, imagined = beyond_chance(side)
    if missed > seen / 2:
        real = count(steps, "real step")
        what = f"misses {missed:,} of the {seen:,} ends among {real}"
        if missed == seen:
            what = f"never predicts an end, though {seen:,} of {real} ended an episode"
        return (
            f"The model {what}: planning makes every state look as bad (or good) as going on for "
            "ever."
        )
    if imagined > MANY_IMAGINED * (steps - seen):
        return (
            f"The model imagines ends: it takes {imagined:,} of {count(steps - seen, 'real step')} "
            "for an end that were none, and planning sees nothing beyond."
        )
    return None


def next_state(evidence: Evidence) -> str | None:
    """The model's next states are wrong where the agent has been."""
    found = worst(evidence.measured.visited)
    if found is None or found[1] <= WRONG:
        return None
    variable, excess = found
    said = about_error(evidence, variable, excess)
    return f"The model's next states are wrong: {said}{why(evidence)}."


def reward(evidence: Evidence) -> str | None:
    """The model's reward is wrong where the agent has been."""
    said = about_reward(evidence, evidence.measured.visited)
    return None if said is None else f"The model's reward is wrong: {said}."


def where_it_plans(evidence: Evidence) -> str | None:
    """The model is right where the agent has been, but not where it plans from."""
    side = evidence.measured.planned
    found, said = worst(side), about_reward(evidence, side)
    if found is not None and found[1] > WRONG:
        said = "of the next states, " * evidence.tabular + about_error(evidence, *found)
    elif said is None:
        rows, seen = (int(np.nansum(x)) for x in (side.rows, side.ends))
        missed, imagined = beyond_chance(side)
        if missed > max(seen / 2, MANY_IMAGINED * rows):
            said = f"it misses {missed / seen:.0%} of the ends"
        elif imagined > MANY_IMAGINED * rows:
            said = f"{imagined / rows:.1%} of the outcomes are taken for ends, but are none"
    if said is None:
        return None
    return f"The model is wrong where it is asked: at planned states{where(evidence)}, {said}."


def doubt(evidence: Evidence) -> str | None:
    """The model does not know most of what planning asks."""
    share = mean_of(evidence.measured.doubtful)
    if not share > MOST_DOUBTFUL:
        return None
    taken = "replayed steps took their place"
    if evidence.instead:
        taken = "they were taken for ends as good as any reward so far"
    return f"The model does not know {share:.0%} of the planned outcomes: {taken}."


def values(evidence: Evidence) -> str | None:
    """Values lie outside of what returns can be."""
    measured = evidence.measured
    low, high = measured.lowest_return.min(), measured.highest_return.max()
    margin = BEYOND * (high - low)
    if not math.isfinite(margin):
        return None
    for side, of in ((measured.planned, "planned"), (measured.visited, "visited")):
        value = mean_of(side.value)
        if value > high + margin or value < low - margin:
            word = "overestimated" if value > high else "underestimated"
            return (
                f"Values are {word}: {value:.3g} on average at {of} states, where the rewards "
                f"allow returns from {low:.3g} to {high:.3g}."
            )
    return None


def sound(evidence: Evidence) -> str:
    """Nothing is wrong with what planning learns from."""
    measured = evidence.measured
    found = worst(measured.visited)
    error = "" if found is None else f" (largest error: {found[1]:.2g} of the real change)"
    places = "visited and at planned states"
    if np.isnan(measured.planned.reward).all():
        places = "visited states"
    first = f"The model is sound at {places}{error}"
    if places == "visited states":
        name = evidence.spec.name
        first += f"; at planned ones it can't be checked, since {name} can't be queried there"
    return (
        f"{first}. Whether planning helps depends on where it plans{where(evidence)}, on n, ρ and "
        "the learning rate."
    )


CAUSES: dict[str, Callable[[Evidence], str | None]] = {
    "nothing planned": nothing_planned,
    "diverged": diverged,
    "ends": ends,
    "next state": next_state,
    "reward": reward,
    "doubt": doubt,
    "planned states": where_it_plans,
    "values": values,
}
"""Name → what to say if it is one, in order of precedence; if none is, the model is sound."""
