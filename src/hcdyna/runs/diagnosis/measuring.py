"""The numbers of a diagnosis, of one agent: errors, ends, values, distances. NaN: not known."""

import math
from typing import Any, NamedTuple

import numpy as np

from hcdyna.runs.diagnosis.distances import all_among, way_to_visited
from hcdyna.runs.diagnosis.looking import Planned, Said
from hcdyna.search_control.base import queue_of
from hcdyna.types import Outcome, Transition

CONSTANT = 1e-6
"""A deviation below this share of the mean is rounding: the number is a constant."""
BEYOND_CHANCE = 3.0
"""A mean that is more standard errors from 0 than this is not 0."""


class Side(NamedTuple):
    """Of the visited states, or of the planned ones."""

    rows: Any
    """how many were looked at"""
    next_state: Any
    """[d] root mean square error of the model, in units of the real change; where states are
    discrete [1], the root of the share of wrong ones"""
    next_state_noise: Any
    """[d] the same of the world itself, asked again"""
    reward: Any
    """root mean square error, in units of the spread of real rewards, if they have one"""
    reward_noise: Any
    ends: Any
    """steps that really end an episode …"""
    missed: Any
    """… of which the model says that they do not …"""
    imagined: Any
    """… and steps that it takes for ends, but are none"""
    missed_noise: Any
    imagined_noise: Any
    """the same of the world itself, asked again"""
    taken_for_ends: Any
    """share of the steps that the agent learns from as ends"""
    spread: Any
    value: Any
    highest_value: Any


class Measured(NamedTuple):
    """All numbers of one agent, or of several [agents, …]."""

    visited: Side
    planned: Side
    steps: Any
    """real steps taken"""
    constant_reward: Any
    """whether all rewards were the same; then errors of the reward are in units of 1"""
    largest_reward: Any
    """its size, whatever its sign"""
    mean_reward: Any
    """the size of the mean; 0 if it is 0 but for chance"""
    taken: Any
    """mean size of Q̂(s, a) at visited steps"""
    lowest_return: Any
    highest_return: Any
    """between which returns lie, by the rewards seen"""
    share: Any
    """of a mini-batch that is planned"""
    doubtful: Any
    """share of planned rows whose outcome the model does not know"""
    queue: Any
    """states in the queue"""
    distance: Any
    """from planned states to the nearest visited ones, in real steps; where states are discrete,
    the share that was never visited"""
    replayed: Any
    """whether search-control hands out nothing but real steps, with their real outcomes"""
    ends_follow: Any
    """whether the model's ends are those of its next states, as the environment tells them"""
    competent: Any
    """whether planning uses the model at all"""
    impossible: Any
    """share of planned states that can't be"""
    diverged: Any
    """whether values are no longer finite"""


class Units(NamedTuple):
    """What errors are measured in."""

    change: np.ndarray
    """[d] root mean square of s′ − s"""
    reward: float
    """standard deviation of the reward; 0: it is constant"""


def measure(
    visited: Transition, said: Said, planned: Planned | None, discount: float, state: Any
) -> Measured:
    """The numbers of one agent: its `visited` steps [rows, …], what was said about them and about
    the planned ones, and its DynaState."""
    tabular = visited.obs.ndim == 1
    deviation = float(np.std(visited.reward, dtype=np.float64))
    largest = float(np.abs(visited.reward).max())
    unit = deviation if deviation > CONSTANT * largest else 0.0
    change = np.ones(1) if tabular else rms(visited.next_obs, visited.obs)
    units = Units(change, unit)
    ended = visited.discount == 0
    real = Outcome(visited.next_obs, visited.reward, ended)
    lowest, highest = possible_returns(visited.reward, ended, discount)
    queue = queue_of(state.search_control)
    every = np.ones(len(ended), bool)
    of_planned, share, replayed = empty(len(change)), 0.0, False
    competent, impossible = True, 0.0
    doubtful = distance = math.nan
    if planned is not None and planned.used.any():
        rows, used, about = planned.rows, planned.used, planned.said
        known = used if about.doubtful is None else used & ~about.doubtful
        of_planned = side(about, about.world, about.again, known, used, rows.discount == 0, units)
        share = float(planned.share)
        distance = way_to_visited(rows.obs[used], visited)
        replayed = bool(planned.whole) and all_among(rows, visited)
    if planned is not None:
        competent, impossible = bool(planned.competent), float(planned.impossible)
    if planned is not None and planned.said.doubtful is not None:
        doubtful = float(planned.said.doubtful.mean())
    return Measured(
        visited=side(said, real, said.world, every, every, ended, units),
        planned=of_planned,
        steps=int(state.replay.total),
        constant_reward=unit == 0,
        largest_reward=largest,
        mean_reward=mean_beyond_chance(visited.reward),
        taken=math.nan if said.taken is None else float(np.abs(said.taken).mean()),
        lowest_return=lowest,
        highest_return=highest,
        share=share,
        doubtful=doubtful,
        queue=math.nan if queue is None else min(int(queue.total), len(queue.data)),
        distance=distance,
        replayed=replayed,
        ends_follow=ends_follow(said),
        competent=competent,
        impossible=impossible,
        diverged=not np.isfinite(said.value).all(),
    )


def side(
    said: Said,
    real: Outcome | None,
    again: Outcome | None,
    known: Any,
    used: Any,
    ended: Any,
    units: Units,
) -> Side:
    """The model against the `real` outcomes where it is believed (`known` [rows]), and what the
    agent makes of all rows that it learns from (`used` [rows])."""
    value = said.value[used].astype(np.float64)
    about = empty(len(units.change))._replace(
        rows=int(used.sum()),
        ends=math.nan if real is None else int(real.terminated[used].sum()),
        taken_for_ends=float(ended[used].mean()),
        spread=math.nan if said.spread is None else float(said.spread[used].mean()),
        value=float(value.mean()),
        highest_value=float(value.max()),
    )
    if real is None or said.model is None or not known.any():
        return about
    model, real = (Outcome(*(x[known] for x in outcome)) for outcome in (said.model, real))
    about = about._replace(
        next_state=error_of(model.next_obs, real.next_obs, units),
        reward=rms(model.reward, real.reward) / (units.reward or 1.0),
        missed=int((real.terminated & ~model.terminated).sum()),
        imagined=int((~real.terminated & model.terminated).sum()),
    )
    if again is None:
        return about
    again = Outcome(*(x[known] for x in again))
    return about._replace(
        next_state_noise=error_of(again.next_obs, real.next_obs, units),
        reward_noise=rms(again.reward, real.reward) / (units.reward or 1.0),
        missed_noise=int((real.terminated & ~again.terminated).sum()),
        imagined_noise=int((~real.terminated & again.terminated).sum()),
    )


def mean_beyond_chance(rewards: Any) -> float:
    """The size of their mean [rows]; 0 if it may be 0."""
    mean = float(np.mean(rewards, dtype=np.float64))
    error = float(np.std(rewards, dtype=np.float64)) / math.sqrt(len(rewards))
    return abs(mean) if abs(mean) > BEYOND_CHANCE * error else 0.0


def ends_follow(said: Said) -> bool:
    """Whether the model says that an episode ends exactly where its next state is a terminal one:
    then it can only be as right about ends as about next states."""
    if said.model is None or said.ends_there is None:
        return False
    return bool((said.model.terminated == said.ends_there.astype(bool)).all())


def empty(d: int) -> Side:
    """Nothing is known of states with `d` variables."""
    unknown = np.full(d, math.nan)
    return Side(0, unknown, unknown, *[math.nan] * (len(Side._fields) - 3))


def error_of(found: Any, real: Any, units: Units) -> np.ndarray:
    """[d] in units of the real change; NaN for what never changes."""
    if found.ndim == 1:
        return np.sqrt(np.mean(found != real, keepdims=True))
    moves = units.change > 0
    return np.where(moves, rms(found, real) / np.where(moves, units.change, 1.0), math.nan)


def rms(a: Any, b: Any) -> Any:
    """Root mean square of the difference, over rows; infinite where a number is not finite."""
    found = np.sqrt(np.mean(np.square(a.astype(np.float64) - b), axis=0))
    return np.where(np.isfinite(found), found, math.inf)


def possible_returns(reward: Any, ended: Any, discount: float) -> tuple[float, float]:
    """The lowest and highest discounted return that rewards like these can add up to.

    An episode can go on for ever with the reward of steps that do not end it, or end at once with
    that of a step that does; for nothing, if no end was seen.
    """
    last = reward[ended] if ended.any() else np.zeros(1)
    first = reward[~ended] if (~ended).any() else np.zeros(1)

    def for_ever(each: float) -> float:
        if each == 0:
            return 0.0
        return each / (1 - discount) if discount < 1 else math.copysign(math.inf, each)

    lowest = min(float(last.min()), for_ever(float(first.min())))
    return lowest, max(float(last.max()), for_ever(float(first.max())))
