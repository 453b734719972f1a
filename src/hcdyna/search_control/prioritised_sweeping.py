"""Prioritised sweeping (Moore & Atkeson, 1993): plan where a successor's value has changed most."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

from hcdyna.models.counted import Counts, count, no_counts, refuse_continuous
from hcdyna.search_control.surfaces import values_of
from hcdyna.settings import check, number
from hcdyna.types import Array, Environment, Info, Key, Pair, Scene, SearchControl, Transition


class SweepState(NamedTuple):
    """The queue as a table of priorities, and what is to be planned from at this time step."""

    counts: Counts
    """Real steps: from which pairs (s, a), and how likely, a state is reached."""
    values: Array
    """[states], as they were at the last time step."""
    priority: Array
    """[states, actions]; 0: not in the queue."""
    chosen: Pair
    """[sweeps], the highest priority first; only the first `size` are in use."""
    size: Array


@dataclass(frozen=True)
class PrioritisedSweeping:
    """Plan from the pairs of highest priority, taken off a queue once per time step.

    Where V̂(s′) has changed by Δ, each pair (s, a) seen to lead there gets the priority
    P(s′ | s, a)·|Δ| if that is higher than its own. The pair just visited comes first.
    """

    sweeps: int = number(10, at_least=1, at_most=1_000_000)
    """How many pairs leave the queue per time step, as many as there are planning updates."""
    threshold: float = number(0.0, at_least=0)
    """Only pairs with a priority above this are planned from."""
    successors: int = number(5, at_least=1, at_most=1_000)
    """Successors stored per state and action (5 suffice on a grid); the rarest is replaced."""

    def __post_init__(self) -> None:
        check(self)

    def build(self, env: Environment) -> SearchControl:
        spec = env.spec
        refuse_continuous(spec, "search_control = prioritised_sweeping")
        states, actions = spec.num_states or 0, spec.num_actions or 0
        sweeps = min(self.sweeps, states * actions)

        def init(obs: Array) -> SweepState:
            none = jnp.zeros(sweeps, jnp.int32)
            return SweepState(
                counts=no_counts(spec, self.successors),
                values=jnp.zeros(states),
                priority=jnp.zeros((states, actions)),
                chosen=Pair(none, none.copy()),
                size=jnp.zeros((), jnp.int32),
            )

        def observe(state: SweepState, transition: Transition) -> SweepState:
            return state._replace(counts=count(state.counts, transition))

        def update(key: Key, state: SweepState, scene: Scene) -> tuple[SweepState, Info]:
            counts, values, step = state.counts, values_of(scene), scene.transition
            changed = jnp.abs(values - state.values)[counts.next_states]
            share = counts.times / jnp.maximum(counts.times.sum(axis=-1, keepdims=True), 1)
            # Nothing is bootstrapped from beyond the end of an episode.
            promoted = jnp.max(jnp.where(counts.terminated, 0.0, share * changed), axis=-1)
            priority = jnp.maximum(state.priority, promoted)
            priority = priority.at[step.obs, step.action].set(jnp.inf)
            highest, index = jax.lax.top_k(priority.reshape(-1), sweeps)
            in_use = highest > self.threshold
            priority = priority.reshape(-1).at[index].set(jnp.where(in_use, 0.0, highest))
            priority = priority.reshape(states, actions)
            chosen = Pair((index // actions).astype(jnp.int32), (index % actions).astype(jnp.int32))
            waiting = jnp.mean(priority > self.threshold)
            after = SweepState(counts, values, priority, chosen, jnp.sum(in_use, dtype=jnp.int32))
            return after, {"swept": after.size.astype(jnp.float32), "waiting": waiting}

        def sample(key: Key, state: SweepState, scene: Scene, n: int) -> Pair:
            turn = (scene.batch * n + jnp.arange(n)) % jnp.maximum(state.size, 1)
            return jax.tree.map(lambda x: x[turn], state.chosen)

        return SearchControl(init, observe, update, ready=None, sample=sample)
