"""Reasons why nothing, or hardly anything, was planned."""

import numpy as np

from hcdyna.models.skill import MOST_IMAGINED
from hcdyna.runs.diagnosis.evidence import Evidence, mean_of
from hcdyna.settings import registry
from hcdyna.settings.plain import fields_of
from hcdyna.settings.words import count

MOSTLY = 0.9
"""A warm-up of more than this share of all steps leaves planning no time, and with more planned
states that can't be, there is no planning."""


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
    if not measured.competent.any():
        if measured.constant_reward.all() and not measured.visited.ends.any():
            return (
                "Planning had no effect: all rewards were the same and no episode ended, so there "
                "was nothing to plan for, and replay took its place."
            )
        return f"Planning had no effect: {unable(evidence)}, so replay took its place."
    if mean_of(measured.impossible) > MOSTLY:
        return f"Planning had no effect: {codes(evidence)}."
    if (measured.doubtful > 0).any():
        return (
            "Planning had no effect: the model does not know the planned outcomes, and replayed "
            "steps took the place of all of them."
        )
    return f"Nothing is planned: search_control = {name} only replays real steps."


def unable(evidence: Evidence) -> str:
    """What the model can't predict, so that planning does not use it."""
    side = evidence.measured.visited
    imagined, others = np.nansum(side.imagined), np.sum(side.rows) - np.nansum(side.ends)
    if imagined > MOST_IMAGINED * others:
        return (
            f"the model takes {int(imagined):,} of {count(int(others), 'real step')} for an end "
            "that were none, as it does where ends depend on chance or on what is not observed"
        )
    if evidence.measured.constant_reward.all():
        return (
            f"the model took more than {MOST_IMAGINED:.0%} of the real steps of late for an end "
            "that were none, though it no longer does"
        )
    limit = fields_of(evidence.settings.model).get("reward_limit")
    said = "by its own judgement" if limit is None else f"model.reward_limit = {limit:g}"
    return f"the model predicts rewards with too large an error ({said})"


def codes(evidence: Evidence) -> str:
    """That planning starts where nothing can be."""
    name = registry.name_of("search_control", evidence.settings.search_control)
    return (
        "most observed variables only ever take two values, as codes and flags do, and "
        f"{mean_of(evidence.measured.impossible):.0%} of the states of search_control = {name} "
        "lie between them, so replayed steps took their place"
    )


def too_late(evidence: Evidence) -> str | None:
    """Nearly all steps were warm-up."""
    steps, warmup = int(evidence.measured.steps.max()), evidence.settings.training.warmup
    if steps <= warmup or warmup < MOSTLY * steps:
        return None
    return (
        f"Planning has hardly begun: only {steps - warmup:,} of {steps:,} steps came after the "
        f"warm-up (training.warmup = {warmup:,})."
    )
