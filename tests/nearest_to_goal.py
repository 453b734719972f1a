"""A strategy that a user wrote in a file of their own: plan near the upper corner."""

from dataclasses import dataclass

import jax

from hcdyna import drawn


@dataclass(frozen=True)
class NearestToGoal:
    """Gaussian around the upper end of the state box, brought back inside by Π."""

    spread: float = 0.2

    def build(self, env):
        def draw(key, scene, n):
            noise = self.spread * jax.random.normal(key, (n, *env.spec.high.shape))
            return jax.vmap(env.project)(env.spec.high + noise)

        return drawn(draw)
