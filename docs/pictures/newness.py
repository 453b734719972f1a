"""The picture of docs/models.md: what a learned model takes for new while MountainCar is learned.

    python docs/pictures/newness.py --out docs/images

Writes newness.png: V̂, the states visited and what counts as new, at several moments of one agent.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import tyro
from matplotlib.axes import Axes

from hcdyna import DQN, LearnedModel, Settings, Training, train
from hcdyna.models import newness
from hcdyna.settings import agent_of

GRID = 141
VISITED, NEW = "#16324f", "#ff2d6f"


@dataclass(frozen=True)
class Options:
    """What to train, and where the picture goes."""

    moments: tuple[int, ...] = (5_000, 6_500, 8_500, 12_000)
    """Environment steps; the first 5,000 are random. The first steps of a longer run are the same,
    so that each moment is a run of its own."""
    seed: int = 3
    out: Path = Path("docs/images")


def main(options: Options) -> None:
    options.out.mkdir(parents=True, exist_ok=True)
    count = len(options.moments)
    figure, panels = plt.subplots(
        1, count, figsize=(3.4 * count, 3.3), sharey=True, layout="constrained", squeeze=False
    )
    for axes, steps in zip(panels[0], options.moments, strict=True):
        model = LearnedModel(ends="learned")
        settings = Settings(
            environment="MountainCar",
            agent=DQN(1e-3),
            model=model,
            training=Training(steps=steps),
        )
        run = train(settings, [options.seed])
        show(axes, settings, model, run.state(options.seed), steps)
    panels[0][0].set_ylabel("velocity")
    figure.savefig(options.out / "newness.png", dpi=130)


def show(axes: Axes, settings: Settings, model: LearnedModel, state: object, steps: int) -> None:
    """V̂ in colours, dots where the agent was, hatching where all is new."""
    env = settings.environment.build()
    agent = agent_of(settings, env.spec)
    x, v = (np.linspace(low, high, GRID) for low, high in zip(env.spec.low, env.spec.high))  # noqa: B905
    states = jnp.asarray(np.stack(np.meshgrid(x, v), axis=-1).reshape(-1, 2), jnp.float32)
    value = jax.vmap(partial(agent.value, state.agent))(states).reshape(GRID, GRID)
    rule = newness.Rule(model.cell_width, model.visits, model.new_share)
    doubt = jax.tree.map(jnp.asarray, state.model.doubt)
    new = jax.vmap(partial(newness.is_new, doubt, rule))(states).reshape(GRID, GRID)
    picture = axes.pcolormesh(x, v, value, cmap="viridis", shading="auto", rasterized=True)
    axes.figure.colorbar(picture, ax=axes, shrink=0.85, label="V̂" if steps > 10_000 else None)
    total = int(state.replay.total)
    visited = np.asarray(state.replay.data.obs)[:total:5]
    axes.plot(*visited.T, ".", color=VISITED, markersize=1, alpha=0.35)
    axes.contourf(x, v, new, levels=[0.5, 1.5], colors="none", hatches=["////"])
    axes.contour(x, v, new, levels=[0.5], colors=NEW, linewidths=1.2)
    axes.axvline(0.5, color="white", linestyle=":", linewidth=1)
    ends = int(state.model.hope.told)
    over = ", optimism is over" if ends >= model.until_told else ""
    axes.set_title(f"{steps:,} steps, {ends} {'end' if ends == 1 else 'ends'}{over}", fontsize=9)
    axes.set_xlabel("position")


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
