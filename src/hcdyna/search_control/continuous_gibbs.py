"""Gibbs for continuous states: plan from states with the density exp(V̂/T).

In two dimensions the box is cut into cells, and the probability of each is exact but for the
variation of V̂ within it. In others, Langevin chains run along as V̂ changes.
"""

from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.numerics import ring
from hcdyna.numerics.randomness import below
from hcdyna.search_control import moments
from hcdyna.search_control.base import drawn
from hcdyna.search_control.climbing import climb
from hcdyna.settings import check, number
from hcdyna.settings.errors import SettingsError
from hcdyna.types import Array, Environment, Info, Key, Scene, SearchControl, Transition


@dataclass(frozen=True)
class ContinuousGibbs:
    """Plan from states drawn ∝ exp(V̂/T), anew for every mini-batch."""

    temperature: float = number(1.0, above=0)
    """T: the higher, the more evenly states are spread."""
    method: Literal["auto", "grid", "langevin"] = "auto"
    """auto: a grid in two dimensions, Langevin chains in others."""
    cells: int = number(20, at_least=1, at_most=1_000)
    """Grid: cells along each of the two axes."""
    chains: int = number(10, at_least=1, at_most=10_000)
    """Langevin: number of parallel chains."""
    steps: int = number(10, at_least=1, at_most=10_000)
    """Langevin: steps of each chain per time step; planning draws from the last steps of all."""
    step_size: float = number(0.001, above=0)
    """Langevin: α. The smaller, the closer to exp(V̂/T) in the long run, and the longer that run."""

    def __post_init__(self) -> None:
        check(self)

    def build(self, env: Environment) -> SearchControl:
        if env.spec.num_states is not None:
            raise SettingsError(
                f"search_control = continuous_gibbs: {env.spec.name} has a discrete state space, "
                "and this strategy needs a continuous one"
            )
        d = env.spec.low.shape[0]
        if self.method == "grid" and d != 2:
            raise SettingsError(
                f"search_control = continuous_gibbs: method = grid needs two state variables, and "
                f"{env.spec.name} has {d}; use langevin"
            )
        if self.method == "langevin" or d != 2:
            return self._along_chains()
        return drawn(self._on_grid)

    def _on_grid(self, key: Key, scene: Scene, n: int) -> Array:
        cell_key, jitter_key = jax.random.split(key)
        spec = scene.env.spec
        lower = np.stack(np.meshgrid(*[np.arange(self.cells)] * 2), axis=-1).reshape(-1, 2)
        width = (spec.high - spec.low) / self.cells
        centres = jnp.asarray(spec.low + (lower + 0.5) * width, jnp.float32)
        log_density = jax.vmap(scene.value)(jax.vmap(scene.env.project)(centres)) / self.temperature
        cell = draw_from(jax.random.uniform(cell_key, (n,)), log_density)
        corner = jnp.asarray(spec.low + lower * width, jnp.float32)[cell]
        jitter = jax.random.uniform(jitter_key, (n, 2)) * jnp.asarray(width, jnp.float32)
        return jax.vmap(scene.env.project)(corner + jitter)

    def _along_chains(self) -> SearchControl:
        def init(obs: Array) -> Chains:
            states = jnp.zeros((self.chains, self.steps, *obs.shape), jnp.float32)
            return Chains(states, jnp.zeros((), bool), moments.init(obs))

        def observe(chains: Chains, transition: Transition) -> Chains:
            return chains._replace(moments=moments.update(chains.moments, transition.obs))

        def update(key: Key, chains: Chains, scene: Scene) -> tuple[Chains, Info]:
            start_key, climb_key = jax.random.split(key)
            fresh = ring.sample(start_key, scene.replay, self.chains).obs
            start = jnp.where(chains.started, chains.states[:, -1], fresh)
            go_on = partial(
                climb,
                criterion=lambda obs: scene.value(obs) / self.temperature,
                steps=self.steps,
                covariance=moments.covariance(chains.moments),
                step_size=self.step_size,
                normalise=False,
                noise="langevin",
                project=scene.env.project,
            )
            states, _ = jax.vmap(go_on)(jax.random.split(climb_key, self.chains), start)
            return Chains(states, jnp.ones((), bool), chains.moments), {}

        def sample(key: Key, chains: Chains, scene: Scene, n: int) -> Array:
            states = chains.states.reshape(-1, chains.states.shape[-1])
            return states[below(jax.random.bits(key, (n,)), len(states))]

        return SearchControl(init, observe, update, None, sample)


class Chains(NamedTuple):
    """Langevin chains, which live on from one time step to the next."""

    states: Array
    """[chains, steps, d], the last steps of each"""
    started: Array
    """whether they run yet; they start from replay states"""
    moments: moments.Moments
    """of the visited states: Σ̂, the preconditioner"""


def draw_from(uniform: Array, log_density: Array) -> Array:
    """Indices [n] with probability ∝ exp(log_density) [m], from numbers uniform on [0, 1). The
    largest is taken off first, so that values of −1000 do not all become zero."""
    heights = jnp.cumsum(jnp.exp(log_density - jnp.max(log_density)))
    index = jnp.searchsorted(heights, uniform * heights[-1], side="right")
    return jnp.minimum(index, len(heights) - 1)
