"""What a diagnosis judges by, and the half sentences that it is made of."""

import math
from typing import NamedTuple

import numpy as np

from hcdyna.environments.variables import named_variables
from hcdyna.runs.diagnosis.measuring import Measured, Side
from hcdyna.settings import Settings
from hcdyna.settings.fields import shown
from hcdyna.settings.importing import place_of
from hcdyna.settings.plain import fields_of
from hcdyna.settings.words import count
from hcdyna.types import Spec

WRONG = 0.5
"""An error above half of the real change, or of the spread of rewards, beyond the world's noise."""
WRONG_CONSTANT = 0.1
"""The same for a constant reward, as a share of it."""


class Evidence(NamedTuple):
    """What there is to judge by."""

    settings: Settings
    spec: Spec
    measured: Measured
    """[agents, …]"""
    instead: bool
    """whether planning takes another outcome where the model does not know it; else a replayed step
    takes its place"""

    @property
    def tabular(self) -> bool:
        return self.spec.num_states is not None

    @property
    def names(self) -> tuple[str, ...]:
        """Of the variables."""
        return named_variables(self.settings.environment, self.spec.low.size)


def mean_of(x: np.ndarray) -> float:
    """Mean over agents of what is known; NaN: nothing is."""
    known = x[~np.isnan(x)]
    return float(known.mean()) if len(known) else math.nan


def beyond(error: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """The part of an error that is not the noise of the world; both are root mean squares.

    Noise that is not known counts as none.
    """
    left = np.square(error) - np.square(np.nan_to_num(noise))
    return np.sqrt(np.maximum(left, 0.0))


def beyond_chance(side: Side) -> tuple[int, int]:
    """How many ends of all agents the model misses, and imagines, more than the world itself would
    where it is stochastic."""
    missed = np.nansum(side.missed) - np.nansum(side.missed_noise)
    imagined = np.nansum(side.imagined) - np.nansum(side.imagined_noise)
    return max(int(missed), 0), max(int(imagined), 0)


def worst(side: Side) -> tuple[int, float] | None:
    """The variable with the largest error, and that error beyond noise; None: not known."""
    each = beyond(side.next_state, side.next_state_noise)
    errors = np.array([mean_of(column) for column in each.T])
    if np.isnan(errors).all():
        return None
    variable = int(np.nanargmax(errors))
    return variable, float(errors[variable])


def about_error(evidence: Evidence, variable: int, error: float) -> str:
    """Half a sentence."""
    if evidence.tabular:
        return f"{error**2:.0%} are not the real ones, beyond what the world leaves to chance"
    number, name = f"variable {variable}", evidence.names[variable]
    which = number if name == number else f"{number} ({name})"
    return f"the error of {which} is {error:.2f} of its real change"


def about_reward(evidence: Evidence, side: Side) -> str | None:
    """Half a sentence; None: it is not wrong."""
    error = mean_of(beyond(side.reward, side.reward_noise))
    if evidence.measured.constant_reward.all():
        limit = WRONG_CONSTANT * (evidence.measured.largest_reward.max() or 1.0)
        return f"it is off by {error:.2g}, and the real one is constant" if error > limit else None
    return f"its error is {error:.2f} of the spread of real rewards" if error > WRONG else None


def why(evidence: Evidence) -> str:
    """What may lie behind it, if the settings tell."""
    model = evidence.settings.model
    if fields_of(model).get("normalise") is False:
        return "; its inputs are not normalised (model.normalise = False)"
    steps = count(int(evidence.measured.steps.max()), "step")
    rate = fields_of(model).get("learning_rate")
    if not isinstance(rate, float):
        return f" after {steps}"
    return f"; it has learned from {steps}, with model.learning_rate = {rate:g}"


def whose_ends(evidence: Evidence) -> str:
    """In brackets, where the model has its ends from, if it did not learn them."""
    settings = evidence.settings
    given, name = fields_of(settings.model).get("terminated"), "model.terminated"
    if given is None and fields_of(settings.model).get("ends", "learned") != "learned":
        given, name = fields_of(settings.environment).get("terminal"), "environment.terminal"
    return "" if given is None else f" ({name} = {place_of(given) or shown(given)})"


def where(evidence: Evidence) -> str:
    """How far planning is from what was visited, in brackets."""
    distance = mean_of(evidence.measured.distance)
    if math.isnan(distance):
        return ""
    if evidence.tabular:
        return f" ({distance:.0%} of its states were never visited)"
    return f" ({distance:.2g} real steps from the nearest visited state)"
