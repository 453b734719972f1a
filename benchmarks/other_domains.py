"""Does the learned model pay, or at least not hurt, on domains that nothing was chosen on?

    python benchmarks/other_domains.py --seeds 10 --steps 30000

The default learned model with learned ends against replay alone, on a maze, on two goals of
different worth, with a single reward at the goal, with slippery moves, among eight variables of
which six are noise, with a fire on the way, where nothing matters but to stay out of a fire, where
one step in a hundred ends the episode by chance, on a maze that is seen as one-hot codes, with a
goal that is drawn for each episode, with four masses to be pushed, and with a near goal that hides
a better one. Returns are means after warm-up and over the last 20%, with 95% intervals.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from hcdyna import DQN, LearnedModel, Settings, Training, train
from hcdyna.environments.grid_world import DIRECTIONS
from hcdyna.statistics.summaries import last_share, mean_interval
from hcdyna.types import Array, Box, Environment, Key, Outcome, Spec

SUDDEN = 0x535544
"""Sets the random numbers of sudden ends apart."""


@dataclass(frozen=True)
class Square:
    """A square of side 1 with moves of 0.05, and whatever is not as usual."""

    walls: tuple[tuple[float, float, float, float], ...] = ()
    """(x0, x1, y0, y1) of each, closed to moves."""
    fire: tuple[tuple[float, float, float, float], ...] = ()
    """The same of areas in which an episode ends with a reward of −100."""
    step_reward: float = -1.0
    goal_reward: float = -1.0
    near_goal: float | None = None
    """Reward of a second goal, at the top left; None: there is none."""
    slip: float = 0.0
    """Chance that another move is made than was chosen."""
    noise: int = 0
    """Variables that are standard normal noise."""
    sudden: float = 0.0
    """Chance that a step ends the episode, wherever it leads."""
    time_limit: int = 1_000

    def build(self) -> Environment:
        d = 2 + self.noise
        low = np.array([0, 0] + [-4] * self.noise, np.float32)
        high = np.array([1, 1] + [4] * self.noise, np.float32)
        spec = Spec("Square", low, high, 0.99, self.time_limit, num_actions=4)
        box = Box(low, high)

        def noisy(key: Key, place: Array) -> Array:
            return jnp.concatenate([place, jax.random.normal(key, (self.noise,))])

        def inside(obs: Array, areas: tuple[tuple[float, float, float, float], ...]) -> Array:
            found = jnp.zeros((), bool)
            for x0, x1, y0, y1 in areas:
                found |= (obs[0] >= x0) & (obs[0] <= x1) & (obs[1] >= y0) & (obs[1] <= y1)
            return found

        def ends(obs: Array) -> Array:
            return (obs[0] >= 0.95) & (obs[1] >= 0.95) | near(obs) | inside(obs, self.fire)

        def near(obs: Array) -> Array:
            return (self.near_goal is not None) & (obs[0] <= 0.05) & (obs[1] >= 0.95)

        def dynamics(key: Key, obs: Array, action: Array) -> Outcome:
            slip_key, action_key, noise_key = jax.random.split(key, 3)
            slips = jax.random.uniform(slip_key) < self.slip
            made = jnp.where(slips, jax.random.randint(action_key, (), 0, 4), action)
            to = obs[:2] + 0.05 * jnp.asarray(DIRECTIONS)[made]
            blocked = inside(to, self.walls)
            next_obs = box(noisy(noise_key, jnp.where(blocked, obs[:2], to)))
            at_end = jnp.where(near(next_obs), self.near_goal or 0.0, self.goal_reward)
            at_end = jnp.where(inside(next_obs, self.fire), -100.0, at_end)
            reward = jnp.where(ends(next_obs), at_end, self.step_reward)
            over = jax.random.uniform(jax.random.fold_in(key, SUDDEN)) < self.sudden
            return Outcome(next_obs, reward, ends(next_obs) | over)

        def reset(key: Key) -> Array:
            place_key, noise_key = jax.random.split(key)
            return noisy(noise_key, jax.random.uniform(place_key, (2,), maxval=0.05))

        assert len(low) == d
        return Environment(spec, reset, dynamics, box, None if self.sudden else ends)


@dataclass(frozen=True)
class Codes:
    """A maze of 5 × 5 places, each of which is observed as a one-hot code."""

    side: int = 5
    time_limit: int = 200

    def build(self) -> Environment:
        n = self.side**2
        low, high = np.zeros(n, np.float32), np.ones(n, np.float32)
        spec = Spec("Codes", low, high, 0.99, self.time_limit, num_actions=4)
        walls = np.zeros((self.side, self.side), bool)
        walls[1, :-1] = walls[3, 1:] = True

        def ends(obs: Array) -> Array:
            return obs[-1] > 0.5

        def dynamics(key: Key, obs: Array, action: Array) -> Outcome:
            place = jnp.array(jnp.divmod(jnp.argmax(obs), self.side))
            move = jnp.asarray(DIRECTIONS)[action].astype(jnp.int32)
            to = jnp.clip(place + move, 0, self.side - 1)
            to = jnp.where(jnp.asarray(walls)[to[0], to[1]], place, to)
            next_obs = jax.nn.one_hot(to[0] * self.side + to[1], n)
            return Outcome(next_obs, jnp.float32(-1.0), ends(next_obs))

        return Environment(spec, lambda key: jax.nn.one_hot(0, n), dynamics, Box(low, high), ends)


@dataclass(frozen=True)
class DrawnGoals:
    """A square whose start and goal are drawn for each episode; the goal is observed."""

    time_limit: int = 500

    def build(self) -> Environment:
        low, high = np.zeros(4, np.float32), np.ones(4, np.float32)
        spec = Spec("DrawnGoals", low, high, 0.99, self.time_limit, num_actions=4)
        box = Box(low, high)

        def ends(obs: Array) -> Array:
            return jnp.all(jnp.abs(obs[:2] - obs[2:]) <= 0.05)

        def dynamics(key: Key, obs: Array, action: Array) -> Outcome:
            move = 0.05 * jnp.asarray(DIRECTIONS)[action]
            next_obs = box(jnp.concatenate([obs[:2] + move, obs[2:]]))
            return Outcome(next_obs, jnp.float32(-1.0), ends(next_obs))

        return Environment(spec, lambda key: jax.random.uniform(key, (4,)), dynamics, box, ends)


@dataclass(frozen=True)
class Masses:
    """Four masses on lines, each pushed by two of the eight actions; all must get to the end."""

    time_limit: int = 500

    def build(self) -> Environment:
        low = np.repeat(np.array([0.0, -0.2], np.float32), 4)
        high = np.repeat(np.array([1.0, 0.2], np.float32), 4)
        spec = Spec("Masses", low, high, 0.99, self.time_limit, num_actions=8)
        box = Box(low, high)

        def ends(obs: Array) -> Array:
            return jnp.all(obs[:4] > 0.8)

        def dynamics(key: Key, obs: Array, action: Array) -> Outcome:
            push = jnp.where(action % 2 == 1, 0.05, -0.05)
            velocity = 0.8 * obs[4:] + push * jax.nn.one_hot(action // 2, 4)
            velocity = jnp.clip(velocity, -0.2, 0.2)
            next_obs = box(jnp.concatenate([obs[:4] + velocity, velocity]))
            return Outcome(next_obs, jnp.float32(-1.0), ends(next_obs))

        def reset(key: Key) -> Array:
            return jnp.concatenate([jax.random.uniform(key, (4,), maxval=0.5), jnp.zeros(4)])

        return Environment(spec, reset, dynamics, box, ends)


DOMAINS: dict[str, Square | Codes | DrawnGoals | Masses] = {
    "maze": Square(walls=((0.25, 0.35, 0.0, 0.8), (0.65, 0.75, 0.2, 1.0))),
    "two goals": Square(step_reward=0.0, goal_reward=10.0, near_goal=1.0),
    "one reward": Square(step_reward=0.0, goal_reward=1.0),
    "slippery": Square(walls=((0.45, 0.55, 0.0, 0.7),), slip=0.3),
    "eight variables": Square(noise=6),
    "fire": Square(fire=((0.45, 0.55, 0.0, 0.7),)),
    "staying alive": Square(
        fire=((0.3, 1.0, 0.0, 1.0), (0.0, 1.0, 0.3, 1.0)), step_reward=1.0, slip=0.3, time_limit=200
    ),
    "sudden ends": Square(sudden=0.01),
    "codes": Codes(),
    "drawn goals": DrawnGoals(),
    "four masses": Masses(),
    "near and far": Square(near_goal=-1.0, goal_reward=100.0),
}
VARIANTS: dict[str, tuple[str, Any]] = {
    "replay alone": ("replay", None),
    "learned model": ("hill_climbing", LearnedModel(ends="learned")),
}


@dataclass(frozen=True)
class Options:
    """How much to run."""

    seeds: int = 10
    steps: int = 30_000
    only: tuple[str, ...] = tuple(DOMAINS)


def main(options: Options) -> None:
    title = f"mean return, {options.seeds} seeds, {options.steps:,} steps"
    table = Table("", "", "after warm-up", "last 20%", "seeds that got there", title=title)
    for domain in options.only:
        for name, (strategy, model) in VARIANTS.items():
            settings = Settings(
                environment=DOMAINS[domain],
                agent=DQN(1e-3),
                model=model,
                search_control=strategy,
                training=Training(steps=options.steps),
            )
            run = train(settings, options.seeds)
            returns = run.returns[0].mean(axis=-1)
            lengths = run.lengths[0].mean(axis=-1)
            words = [
                f"{x.mean:.2f} [{x.low:.2f}, {x.high:.2f}]"
                for x in (
                    mean_interval(returns[:, run.steps > settings.training.warmup].mean(axis=1)),
                    mean_interval(last_share(returns)),
                )
            ]
            got = int((last_share(lengths) < 0.5 * DOMAINS[domain].time_limit).sum())
            print(domain, name, *words, got, flush=True)
            table.add_row(domain, name, *words, str(got))
    Console(width=100).print(table)


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
