"""GridWorld as the peers see it: NumPy, and Gymnasium's interface."""

from typing import Any

import gymnasium
import numpy as np

STATE_DIM = 2
MOVES = np.array([[0, 0.05], [0, -0.05], [-0.05, 0], [0.05, 0]], dtype=np.float32)
NUM_ACTIONS = len(MOVES)
TIME_LIMIT = 2000

EPSILON = 0.1
GAMMA = 0.99
LEARNING_RATE = 1e-3
BATCH_SIZE = 32
FROM_QUEUE = 16
TARGET_EVERY = 1000
REPLAY_CAPACITY = 100_000
QUEUE_CAPACITY = 1_000_000
ALPHA = 0.1
ETA = 0.1
BETA = 0.001


def initial_state(rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(0.0, 0.05, STATE_DIM).astype(np.float32)


def model(s: np.ndarray, a: np.ndarray | int) -> tuple[np.ndarray, float, Any]:
    """Next state, reward and termination, for one state or a batch of them."""
    end = s + MOVES[a]
    x, y = end[..., 0], end[..., 1]
    in_wall = (x >= 0.5) & (x <= 0.6) & ((y < 0.4) | (y > 0.5))
    s_next = np.where(in_wall[..., None], s, end).clip(0.0, 1.0)
    return s_next, -1.0, (s_next >= 0.95).all(axis=-1)


class PeerGridWorld(gymnasium.Env):
    """The same GridWorld behind Gymnasium's interface."""

    observation_space = gymnasium.spaces.Box(0.0, 1.0, (STATE_DIM,), np.float32)
    action_space = gymnasium.spaces.Discrete(NUM_ACTIONS)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.s, self.age = initial_state(self.np_random), 0
        return self.s, {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.s, reward, terminal = model(self.s, action)
        self.age += 1
        return self.s, reward, bool(terminal), self.age >= TIME_LIMIT, {}
