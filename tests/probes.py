"""Worlds so small that their values are known."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from hcdyna.types import Environment, Outcome, Spec


@dataclass(frozen=True)
class Probe:
    """One state, two actions, reward 1, γ = ½; every step terminates, or none does."""

    terminates: bool
    time_limit: int = 10

    def build(self):
        spec = Spec(
            name="Probe",
            low=np.zeros(1, np.float32),
            high=np.ones(1, np.float32),
            discount=0.5,
            time_limit=self.time_limit,
            num_actions=2,
        )
        return Environment(
            spec,
            reset=lambda key: jnp.zeros(1),
            dynamics=lambda key, obs, action: Outcome(
                jnp.zeros(1), jnp.float32(1.0), jnp.asarray(self.terminates)
            ),
            project=lambda obs: jnp.clip(obs, 0, 1),
            terminal=lambda obs: jnp.asarray(self.terminates),
        )


@dataclass(frozen=True)
class Bandit:
    """One state, one step, an action in [−1, 1]²; reward −‖action − best‖²."""

    best = (0.4, -0.6)

    def build(self):
        spec = Spec(
            name="Bandit",
            low=np.zeros(1, np.float32),
            high=np.ones(1, np.float32),
            discount=0.9,
            time_limit=10,
            action_size=2,
        )
        return Environment(
            spec,
            reset=lambda key: jnp.zeros(1),
            dynamics=lambda key, obs, action: Outcome(
                jnp.zeros(1), -jnp.sum(jnp.square(action - jnp.array(self.best))), jnp.asarray(True)
            ),
            project=lambda obs: jnp.clip(obs, 0, 1),
            terminal=lambda obs: jnp.asarray(True),
        )
