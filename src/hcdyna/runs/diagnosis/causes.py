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
    whose_ends,
    why,
    worst,
)
from hcdyna.runs.diagnosis.nothing import codes, nothing_planned, too_late, unable
from hcdyna.settings.plain import fields_of
from hcdyna.settings.words import count

MANY_IMAGINED = 0.02
"""Share of the steps that go on which a sound model may take for ends."""
MOST_DOUBTFUL = 0.5
"""Share of the planned outcomes that a model which planning can use may not know."""
UNLEARNED = 0.5
"""Values of actions taken that are smaller than this share of the mean reward are those of a new
network: once learned, they are that reward and what comes after it."""
MANY_UPDATES = 2_000
"""After so many, an agent has learned at least what a single step pays."""
RATES = ("learning_rate", "actor_learning_rate", "critic_learning_rate")
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
            f"The model {what}{whose_ends(evidence)}: planning makes every state look as bad (or "
            "good) as going on for ever."
        )
    if imagined > MANY_IMAGINED * (steps - seen):
        return (
            f"The model imagines ends: it takes {imagined:,} of {count(steps - seen, 'real step')} "
            f"for an end that were none{whose_ends(evidence)}, and planning sees nothing beyond."
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
    able = evidence.measured.competent
    if not able.all():
        agents = count(len(able), "agent")
        return (
            f"In {int((~able).sum())} of {agents} planning has no effect: {unable(evidence)}, and "
            "replay takes its place."
        )
    if mean_of(evidence.measured.impossible) > MOST_DOUBTFUL:
        return f"Planning has little effect: {codes(evidence)}."
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


def hardly_learned(evidence: Evidence) -> str | None:
    """Values are smaller than the reward of a single step, as in a new network."""
    measured, training = evidence.measured, evidence.settings.training
    reward, value = mean_of(measured.mean_reward), mean_of(measured.taken)
    if not value < UNLEARNED * reward:
        return None
    steps = (int(measured.steps.max()) - training.warmup) // training.update_every
    updates = steps * training.planning_steps
    if updates < MANY_UPDATES:
        return None
    rates = {name: fields_of(evidence.settings.agent).get(name) for name in RATES}
    known = [f"agent.{name} = {x:g}" for name, x in rates.items() if isinstance(x, float)]
    said = f" ({', '.join(known)})" if known else ""
    return (
        f"The agent has hardly learned: its values are {value:.2g} in size on average, where a "
        f"single step pays {reward:.2g}, after {updates:,} updates{said}."
    )


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
    "warm-up": too_late,
    "learning": hardly_learned,
    "values": values,
}
"""Name → what to say if it is one, in order of precedence; if none is, the model is sound."""
