"""Frequency (Pan et al., ICLR 2020): plan from states around which V̂ varies fast."""

from collections.abc import Callable
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp

from hcdyna.numerics import ring
from hcdyna.search_control.base import Queued, with_value
from hcdyna.search_control.hill_climbing import HillClimbing
from hcdyna.settings import check
from hcdyna.settings.errors import SettingsError
from hcdyna.types import Array, Environment, Info, Key, Scene, SearchControl


@dataclass(frozen=True)
class Frequency:
    """Climb ‖∇V̂‖² + ‖∇²V̂‖² from a queue state, or V̂ from a replay state; needs tanh units.

    With ReLU ∇²V̂ is 0 and ‖∇V̂‖² has no slope, so that half of the climbs are moved by noise alone.
    """

    climbing: HillClimbing = field(default=HillClimbing())
    """How to climb, and which states to queue."""

    def __post_init__(self) -> None:
        check(self)

    def build(self, env: Environment) -> SearchControl:
        if env.spec.num_states is not None:
            raise SettingsError(f"search_control = frequency: {env.spec.name} has discrete states")
        climbing = self.climbing.build(env)

        def update(key: Key, state: Queued, scene: Scene) -> tuple[Queued, Info]:
            coin_key, replay_key, queue_key, climb_key = jax.random.split(key, 4)
            on_value = jax.random.bernoulli(coin_key)
            surface = ValueOrFrequency(scene.value, on_value)
            row = ring.sample(replay_key, scene.replay, 1)
            from_queue = ~on_value & (state.queue.total > 0)
            start = jnp.where(from_queue, ring.sample(queue_key, state.queue, 1), row.obs)
            alone = scene._replace(replay=ring.Ring(row._replace(obs=start), jnp.int32(1)))
            return with_value(climbing, surface).update(climb_key, state, alone)

        return climbing._replace(update=update)


@dataclass(frozen=True, eq=False)
class ValueOrFrequency:
    """What a climb is on, as the coin fell."""

    value: Callable[[Array], Array]
    on_value: Array

    def __call__(self, obs: Array) -> Array:
        return jax.lax.cond(self.on_value, self.value, frequency(self.value), obs)


def frequency(value: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """obs [d] → ‖∇V‖² + ‖∇²V‖², in reverse mode, since networks may have a `custom_vjp`."""
    slope, bend = jax.grad(value), jax.jacrev(jax.grad(value))
    return lambda obs: jnp.sum(jnp.square(slope(obs))) + jnp.sum(jnp.square(bend(obs)))
