"""As good as it gets: what a new state is taken to be worth (R-max; Brafman & Tennenholtz, 2002).

Where no end has been seen, a model says "never", and planning there makes every state as bad as
going on for ever. So a state that is new counts as an end of the best worth seen so far.
"""

from typing import NamedTuple

import jax.numpy as jnp

from hcdyna.types import Array, Outcome, Transition


class Best(NamedTuple):
    """The best discounted return of a stretch of experience: no single reward is better.

    With a cost for each step that is the smallest cost, with one reward at a goal it is this
    reward, and with a reward for each step it is the return of the longest episode.
    """

    stretch: Array
    """Discounted sum of the rewards of the present stretch; a new one begins when it is not above
    zero, or when the next reward alone is as much …"""
    discount: Array
    """… and the discount of its next reward."""
    at: Array
    """[d] where that reward will be earned, if the episode goes on"""
    best: Array
    some: Array
    """Whether any reward was not zero."""
    usual: Array
    """The first reward."""
    told: Array
    """How many steps have ended an episode, or paid otherwise than the first one."""


def init(d: int) -> Best:
    """No reward seen yet."""
    zero = jnp.zeros(())
    return Best(
        zero,
        jnp.ones(()),
        jnp.full(d, jnp.nan),
        jnp.full((), -jnp.inf),
        jnp.zeros((), bool),
        jnp.full((), jnp.nan),
        jnp.zeros((), jnp.int32),
    )


def update(best: Best, step: Transition, discount: float) -> Best:
    """Take in one more real step."""
    longer = best.stretch + best.discount * step.reward
    # A reward far down a long stretch counts for little, but a new stretch may begin with it.
    goes_on = jnp.all(step.obs == best.at) & (best.stretch > 0) & (longer > step.reward)
    weight = jnp.where(goes_on, best.discount, 1.0)
    stretch = jnp.where(goes_on, longer, step.reward)
    ended = step.discount == 0
    usual = jnp.where(jnp.isnan(best.usual), step.reward, best.usual)
    return Best(
        stretch,
        weight * discount,
        jnp.where(ended, jnp.nan, step.next_obs),
        jnp.maximum(best.best, stretch),
        best.some | (step.reward != 0),
        usual,
        best.told + (ended | (step.reward != usual)),
    )


def as_good_as_it_gets(best: Best, outcome: Outcome) -> Outcome:
    """The end of the episode, with the best return so far; 1 where all rewards were zero, since
    any number above that will do."""
    worth = jnp.where(best.some, best.best, 1.0)
    return Outcome(outcome.next_obs, worth, jnp.ones((), bool))
