"""The true model: the environment's own dynamics."""

from __future__ import annotations

from dataclasses import dataclass

from hcdyna.types import Environment, Model


@dataclass(frozen=True)
class TrueModel:
    """Ask the environment itself; nothing to learn."""

    def build(self, env: Environment) -> Model:
        return Model(
            init=lambda key: (),
            predict=lambda key, state, obs, action: env.dynamics(key, obs, action),
            update=lambda key, state, replay: (state, {}),
        )
