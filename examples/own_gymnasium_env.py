"""Train HC-Dyna with a learned model on your own Gymnasium environment.

    python examples/own_gymnasium_env.py

The environment is plain Python. Its dynamics can't be queried at arbitrary states, so planning
needs a learned model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import tyro
from gymnasium import spaces

from hcdyna import DQN, Evaluation, LearnedModel, Settings, Training, train


class Hover(gymnasium.Env):
    """Keep a balloon at height 0: let gas out, do nothing or burn; −|height| a step."""

    limit = np.array([1.0, 0.2], np.float32)
    observation_space = spaces.Box(-limit, limit)
    action_space = spaces.Discrete(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.state = np.array([self.np_random.uniform(-0.9, 0.9), 0.0], np.float32)
        return self.state.copy(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        height, speed = self.state
        speed = np.clip(0.95 * speed + 0.02 * (action - 1), -0.2, 0.2)
        height = np.clip(height + speed, -1, 1)
        self.state = np.array([height, speed], np.float32)
        return self.state.copy(), -abs(float(height)), False, False, {}


gymnasium.register("Hover-v0", entry_point=f"{__name__}:Hover", max_episode_steps=100)


@dataclass(frozen=True)
class Options:
    """How much to train."""

    steps: int = 3_000
    """Environment steps, warm-up included."""
    warmup: int = 1_000
    """Steps with random actions before learning starts."""
    seeds: int = 2
    """Agents, each with its own environment."""


def main(options: Options) -> None:
    settings = Settings(
        environment="Hover-v0",
        agent=DQN(learning_rate=1e-3),
        model=LearnedModel(learning_rate=1e-3),
        search_control="hill_climbing",
        training=Training(
            steps=options.steps, warmup=options.warmup, planning_steps=5, replay_size=10_000
        ),
        evaluation=Evaluation(every=max(1, options.steps // 6), episodes=3),
    )
    run = train(settings, seeds=options.seeds)
    print("mean return of an evaluation episode, by step:")
    for step, returns in zip(run.steps, run.mean_returns().T, strict=True):
        each = ", ".join(f"{mine:.1f}" for mine in returns)
        print(f"  {step:6,}: {returns.mean():6.1f}  (each agent: {each})")


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
