"""TabularGridWorld: a square of cells with slippery moves and no wall, for the sampling study."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.environments.base import with_reward_noise
from hcdyna.environments.table import Table
from hcdyna.numerics.randomness import below, chance
from hcdyna.settings import check, number
from hcdyna.settings.fields import MOST
from hcdyna.types import Array, Environment, Key, Outcome, Spec

DIRECTIONS = np.array([[0, 1], [0, -1], [-1, 0], [1, 0]], np.int32)
"""Up, down, left, right, as (column, row)."""


@dataclass(frozen=True)
class TabularGridWorld:
    """size × size cells, from bottom left to top right, −1 a step.

    A state is the integer column·size + row: numbered bottom to top, then left to right.
    """

    size: int = number(20, at_least=2, at_most=200)
    """Cells along each side."""
    success: float = number(0.8, at_least=0, at_most=1)
    """Probability that the intended move is made; else a uniformly random one is."""
    reward_noise: float = number(0.0, at_least=0)
    """Standard deviation of the noise on every reward."""
    time_limit: int = number(1_000, at_least=1, at_most=MOST)
    """Steps after which an episode is truncated."""
    discount: float = number(1.0, at_least=0, at_most=1)
    """γ, the discount factor."""

    def __post_init__(self) -> None:
        check(self)

    def build(self) -> Environment:
        states = self.size**2
        spec = Spec(
            name="TabularGridWorld",
            low=np.zeros((), np.int32),
            high=np.array(states - 1, np.int32),
            discount=self.discount,
            time_limit=self.time_limit,
            num_actions=4,
            num_states=states,
            table=self._table(),
        )

        def dynamics(key: Key, obs: Array, action: Array) -> Outcome:
            success, slip = jax.random.bits(key, (2,))
            action = jnp.where(chance(success, self.success), action, below(slip, len(DIRECTIONS)))
            cell = jnp.stack([obs // self.size, obs % self.size])
            cell = jnp.clip(cell + jnp.asarray(DIRECTIONS)[action], 0, self.size - 1)
            next_obs = (cell[0] * self.size + cell[1]).astype(jnp.int32)
            return Outcome(next_obs, jnp.float32(-1.0), next_obs == states - 1)

        env = Environment(
            spec,
            reset=lambda key: jnp.zeros((), jnp.int32),
            dynamics=dynamics,
            project=lambda obs: jnp.clip(obs, 0, states - 1),
            terminal=lambda obs: obs == states - 1,
        )
        return with_reward_noise(env, self.reward_noise)

    def _table(self) -> Table:
        """One outcome for each direction that the agent may end up moving in."""
        states, directions = self.size**2, len(DIRECTIONS)
        cells = np.stack(np.divmod(np.arange(states), self.size), axis=-1)
        ends = np.clip(cells[:, None] + DIRECTIONS, 0, self.size - 1)
        next_states = ends[..., 0] * self.size + ends[..., 1]
        shape = (states, directions, directions)
        slip = (1 - self.success) / directions
        return Table(
            lattice=(self.size, self.size),
            next_states=np.broadcast_to(next_states[:, None], shape).astype(np.int32),
            probability=np.broadcast_to(slip + self.success * np.eye(directions), shape),
            reward=np.full(shape, -1.0),
            terminal=np.arange(states) == states - 1,
        )
