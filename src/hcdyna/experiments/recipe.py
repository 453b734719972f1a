"""V* of a tabular world by the paper's recipe: long training with ER, averaged over seeds."""

from functools import partial
from typing import Any

import numpy as np

from hcdyna.agents.tabular import Tabular
from hcdyna.search_control.optimal_values import (
    LEARNING_RATE,
    SEEDS,
    STEPS,
    cached,
    digest,
    made_by_recipe,
)
from hcdyna.settings import Evaluation, Settings, Training
from hcdyna.training.train import train


def recipe(
    environment: Any,
    steps: int = STEPS,
    seeds: int = SEEDS,
    learning_rate: float = LEARNING_RATE,
    together: int = 25,
) -> np.ndarray:
    """max_a Q [states] at the end of tabular ER, averaged over seeds; `together` train at a time.
    What is finished stays in the cache, so that an interrupted call goes on where it was."""
    world = digest(environment.build().spec)
    settings = Settings(
        environment=environment,
        agent=Tabular(learning_rate),
        search_control="replay",
        training=Training(steps=steps, warmup=0, epsilon=0.2, batch_size=1),
        evaluation=Evaluation(every=steps),
    )

    def some(chosen: list[int]) -> np.ndarray:
        run = train(settings, chosen, progress=False)
        return np.stack([run.state(seed).agent.max(axis=-1) for seed in chosen])

    found = []
    for first in range(0, seeds, together):
        chosen = list(range(first, min(first + together, seeds)))
        part = made_by_recipe(world, steps, chosen, learning_rate)
        found.append(cached("replay", part, partial(some, chosen)))
    made_by = made_by_recipe(world, steps, list(range(seeds)), learning_rate)
    return cached("recipe", made_by, lambda: np.concatenate(found).mean(axis=0, dtype=np.float64))
