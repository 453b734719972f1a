"""The true model: the environment's own dynamics."""

from dataclasses import dataclass

import jax

from hcdyna.types import Environment, Model


@dataclass(frozen=True)
class TrueModel:
    """Use the environment's own dynamics; nothing is learned."""

    def build(self, env: Environment) -> Model:
        # An environment that can't be asked for any state refuses here, before anything runs.
        jax.eval_shape(
            env.dynamics, jax.random.key(0), env.spec.example_obs(), env.spec.example_action()
        )
        return Model(
            init=lambda key: (),
            predict=lambda key, state, obs, action: env.dynamics(key, obs, action),
            update=lambda key, state, replay: (state, {}),
        )
