"""A tabular model learned by counting where each action has led (Algorithm 2)."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

from hcdyna.numerics import ring
from hcdyna.numerics.randomness import below
from hcdyna.settings import check, number
from hcdyna.settings.errors import SettingsError
from hcdyna.types import Array, Environment, Info, Key, Model, Outcome, Spec, Transition


class Counts(NamedTuple):
    """What was seen after each state and action, each [states, actions, successors]."""

    next_states: Array
    times: Array
    """How often that successor was seen; 0 marks a free place."""
    reward: Array
    """Mean reward on the way there."""
    terminated: Array


@dataclass(frozen=True)
class CountedModel:
    """Sample a successor in proportion to its count, with its mean reward.

    A pair that was never tried leads back to its own state, with reward 0.
    """

    successors: int = number(5, at_least=1, at_most=1_000)
    """Successors stored per state and action (5 suffice on a grid); the rarest is replaced."""

    def __post_init__(self) -> None:
        check(self)

    def build(self, env: Environment) -> Model:
        refuse_continuous(env.spec, "model = counted")

        def predict(key: Key, counts: Counts, obs: Array, action: Array) -> Outcome:
            seen = jax.tree.map(lambda x: x[obs, action], counts)
            cumulative = jnp.cumsum(seen.times)
            tried = cumulative[-1] > 0
            draw = below(jax.random.bits(key), jnp.maximum(cumulative[-1], 1))
            place = jnp.argmax(cumulative > draw)
            next_obs = jnp.where(tried, seen.next_states[place], obs)
            return Outcome(next_obs, seen.reward[place], tried & seen.terminated[place])

        def update(key: Key, counts: Counts, replay: ring.Ring) -> tuple[Counts, Info]:
            return count(counts, ring.newest(replay)), {}

        return Model(lambda key: no_counts(env.spec, self.successors), predict, update)


def no_counts(spec: Spec, successors: int) -> Counts:
    """Nothing seen yet."""
    shape = (spec.num_states or 0, spec.num_actions or 0, successors)
    whole = jnp.zeros(shape, jnp.int32)
    return Counts(whole, whole.copy(), jnp.zeros(shape), jnp.zeros(shape, bool))


def count(counts: Counts, step: Transition) -> Counts:
    """Count one more real step."""
    at = (step.obs, step.action)
    seen = jax.tree.map(lambda x: x[at], counts)
    same = (seen.next_states == step.next_obs) & (seen.times > 0)
    known = jnp.any(same)
    place = jnp.where(known, jnp.argmax(same), jnp.argmin(seen.times))
    times = jnp.where(known, seen.times[place], 0) + 1
    old_reward = jnp.where(known, seen.reward[place], 0.0)
    to = (*at, place)
    return Counts(
        counts.next_states.at[to].set(step.next_obs),
        counts.times.at[to].set(times),
        counts.reward.at[to].set(old_reward + (step.reward - old_reward) / times),
        counts.terminated.at[to].set(step.discount == 0.0),
    )


def refuse_continuous(spec: Spec, what: str) -> None:
    """Raise SettingsError unless states and actions are discrete."""
    if spec.num_actions is None or spec.num_states is None:
        raise SettingsError(
            f"{what}: {spec.name} has continuous actions or a continuous state space; "
            "counting needs discrete ones"
        )
