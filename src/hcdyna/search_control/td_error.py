"""TD error (Pan et al., UAI 2022): plan from states whose values the model contradicts most."""

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
class TDError:
    """Climb log|TD error| instead of V̂; a climb that leaves the box restarts from replay."""

    climbing: HillClimbing = field(default=HillClimbing(normalise=False, eta=0.01))
    """How to climb, and which states to queue."""

    def __post_init__(self) -> None:
        check(self)

    def build(self, env: Environment) -> SearchControl:
        if env.spec.num_states is not None:
            raise SettingsError(f"search_control = td_error: {env.spec.name} has discrete states")
        climbing = self.climbing.build(env)

        def update(key: Key, state: Queued, scene: Scene) -> tuple[Queued, Info]:
            climb_key, model_key, replay_key = jax.random.split(key, 3)
            restart = ring.sample(replay_key, scene.replay, 1).obs[0]

            def project(obs: Array) -> Array:
                left = jnp.any((obs < env.spec.low) | (obs > env.spec.high))
                return jnp.where(left, restart, env.project(obs))

            on_error = with_value(climbing, LogTDError(model_key, scene))
            restarting = scene._replace(env=env._replace(project=project))
            return on_error.update(climb_key, state, restarting)

        return climbing._replace(update=update)


@dataclass(frozen=True, eq=False)
class LogTDError:
    """log(|ŷ − V̂(s)| + 1e-5); ŷ = r + γV′(s′) of the greedy action is held constant in s."""

    key: Key
    scene: Scene

    def __call__(self, obs: Array) -> Array:
        scene = self.scene
        assert scene.greedy is not None
        held, target = jax.lax.stop_gradient(obs), scene.target or scene.value
        outcome = scene.predict(self.key, held, scene.greedy(held))
        later = scene.env.spec.discounts(outcome.terminated) * target(outcome.next_obs)
        return jnp.log(jnp.abs(outcome.reward + later - scene.value(obs)) + 1e-5)
