"""The classic Dyna (Algorithm 2): plan from the state-action pairs seen so far."""

from dataclasses import dataclass

from hcdyna.numerics import ring
from hcdyna.search_control.base import drawn
from hcdyna.settings.errors import SettingsError
from hcdyna.types import Environment, Key, Pair, Scene, SearchControl


@dataclass(frozen=True)
class VisitedPairs:
    """Plan from pairs (s, a) drawn uniformly from the replay buffer."""

    def build(self, env: Environment) -> SearchControl:
        if env.spec.num_actions is None:
            raise SettingsError(
                f"search_control = visited_pairs: {env.spec.name} has continuous actions"
            )

        def draw(key: Key, scene: Scene, n: int) -> Pair:
            rows = ring.sample(key, scene.replay, n)
            return Pair(rows.obs, rows.action)

        return drawn(draw)
