"""Plain experience replay (ER): every update replays a transition that really happened."""

from dataclasses import dataclass

from hcdyna.types import Environment, SearchControl


@dataclass(frozen=True)
class Replay:
    """Replay real transitions only, without a model."""

    def build(self, env: Environment) -> SearchControl:
        return SearchControl(
            init=lambda obs: (),
            observe=lambda state, transition: state,
            update=lambda key, state, scene: (state, {}),
            ready=None,
            sample=None,
        )
