"""Write your own search-control strategy, and compare it with replay and hill climbing.

    python examples/own_strategy.py

`Steepest` draws more states around those of replay than it needs, and plans from the ones where the
value estimate is steepest. The class is all you need; nothing has to be registered.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import tyro

from hcdyna import DQN, Evaluation, MountainCar, Settings, Training, drawn, ring, testing, train
from hcdyna.settings import check, number
from hcdyna.statistics.summaries import mean_interval
from hcdyna.types import Array, Environment, Key, Scene, SearchControl


@dataclass(frozen=True)
class Steepest:
    """Replay states, moved a little, where V̂ is steepest."""

    candidates: int = number(4, at_least=1)
    """States to draw for each one kept."""
    spread: float = number(0.05, at_least=0)
    """Standard deviation of the move, in units of the box. Traced: may vary within one program."""

    def __post_init__(self) -> None:
        check(self)

    def build(self, env: Environment) -> SearchControl:
        width = env.spec.high - env.spec.low

        def draw(key: Key, scene: Scene, n: int) -> Array:
            replay_key, noise_key = jax.random.split(key)
            obs = ring.sample(replay_key, scene.replay, self.candidates * n).obs
            noise = self.spread * width * jax.random.normal(noise_key, obs.shape)
            obs = jax.vmap(env.project)(obs + noise)
            slope = jnp.linalg.norm(width * jax.vmap(jax.grad(scene.value))(obs), axis=-1)
            _, best = jax.lax.top_k(slope, n)
            return obs[best]

        return drawn(draw)


@dataclass(frozen=True)
class Options:
    """How much to train."""

    steps: int = 10_000
    """Environment steps, warm-up included."""
    warmup: int = 2_000
    """Steps with random actions before learning starts."""
    seeds: int = 5
    """Agents for each strategy."""
    beside: tuple[str, ...] = ("hill_climbing", "replay")
    """Strategies to train too, by name."""


def main(options: Options) -> None:
    env = MountainCar().build()
    testing.check_search_control(Steepest(), env)
    print("all checks passed; mean return after warm-up [95% interval over seeds]:")
    for strategy in (Steepest(), *options.beside):
        settings = Settings(
            environment="MountainCar",
            agent=DQN(learning_rate=1e-3),
            search_control=strategy,
            training=Training(steps=options.steps, warmup=options.warmup, replay_size=20_000),
            evaluation=Evaluation(every=max(1, options.steps // 20)),
        )
        run = train(settings, seeds=options.seeds)
        learned = run.mean_returns()[:, run.steps > options.warmup].mean(axis=1)
        mean, low, high = (float(x) for x in mean_interval(learned))
        print(f"  {strategy}: {mean:.0f} [{low:.0f}, {high:.0f}]")


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
