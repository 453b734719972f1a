"""A learned model that need not learn where episodes end."""

from __future__ import annotations

from dataclasses import dataclass

from hcdyna.models.learned import LearnedModel
from hcdyna.settings.errors import SettingsError
from hcdyna.types import Array, Environment, Key, Model, Outcome


@dataclass(frozen=True)
class KnownEnd(LearnedModel):
    """As `learned`, but the environment says whether a predicted state ends the episode.

    Few real steps end an episode, so that a model learns this last, if at all where the agent has
    not been; but what the goal is, is often known.
    """

    def build(self, env: Environment) -> Model:
        model = super().build(env)
        terminal, name = env.terminal, env.spec.name
        if terminal is None:
            raise SettingsError(
                f"model = known_end: {name} does not tell which states end an episode; use "
                f"model = learned, or give it a function: Hosted({name!r}, terminal=…)"
            )

        def predict(key: Key, state: object, obs: Array, action: Array) -> Outcome:
            outcome = model.predict(key, state, obs, action)
            return outcome._replace(terminated=terminal(outcome.next_obs))

        return model._replace(predict=predict)
