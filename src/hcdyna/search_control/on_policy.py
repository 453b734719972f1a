"""OnPolicy-Dyna: visited states, but the action is what the current policy would take there."""

from dataclasses import dataclass

from hcdyna.numerics import ring
from hcdyna.search_control.base import drawn
from hcdyna.types import Environment, SearchControl


@dataclass(frozen=True)
class OnPolicy:
    """Plan from states drawn uniformly from the replay buffer."""

    def build(self, env: Environment) -> SearchControl:
        return drawn(lambda key, scene, n: ring.sample(key, scene.replay, n).obs)
