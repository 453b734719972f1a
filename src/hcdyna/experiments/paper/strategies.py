"""Beyond the paper: which states should one plan from? Every strategy on six problems, n = 10."""

from dataclasses import replace
from typing import Any

import numpy as np

from hcdyna import DQN, LearnedModel, Maze, Settings
from hcdyna.experiments.cells import Cell, Result
from hcdyna.experiments.paper import drawing
from hcdyna.experiments.paper.drawing import Axes, Figure
from hcdyna.experiments.paper.fig4 import DOMAINS
from hcdyna.experiments.paper.scale import PICKED, Scale, settings
from hcdyna.experiments.paper.verdicts import paper_scores
from hcdyna.experiments.scores import Scores
from hcdyna.statistics.ranking import Ranked, ranking

TITLE = "Which states should one plan from? Nine strategies, six problems, n = 10"
WORLDS: dict[str, Any] = {name: name for name in DOMAINS} | {
    f"Maze, {layout}": Maze(layout=layout) for layout in ("three holes", "zigzag")
}
ALONE = {"replay": "replay", "prioritised replay": "prioritised_replay"}
"""Strategies that ask no model."""
PLANNING = {
    "on-policy": "on_policy",
    "uniform": "uniform",
    "hill climbing": "hill_climbing",
    "Gibbs": "continuous_gibbs",
    "TD error": "td_error",
    "frequency": "frequency",
    "rollouts": "rollouts",
}
TANH = ("frequency", "replay, tanh")
"""Frequency needs tanh units, as in its paper. Replay alone tells what these are worth."""
MODELS: dict[str, Any] = {"true": "true", "learned": LearnedModel()}
BAR = "#9fb3c8"
COLOURS = {"replay": "#222222", "on-policy": "#2f6fb5", "hill climbing": "#c8342c"}


def names(model: str) -> dict[str, str]:
    """The strategies that are ranked with a model, and the ends of their labels."""
    alone = {name: name for name in (*ALONE, "replay, tanh")}
    return alone | {name: f"{name}/{model}" for name in PLANNING}


def worlds(scale: Scale) -> list[str]:
    """The problems; two of them at the quick scale."""
    return list(WORLDS) if scale.name == "full" else ["GridWorld", "Maze, zigzag"]


def cells(scale: Scale) -> dict[str, Cell]:
    found = {}
    for world in worlds(scale):
        environment = WORLDS[world]
        base = settings(scale, environment, "DQN", PICKED)
        for name, strategy in (*ALONE.items(), ("replay, tanh", "replay")):
            found[f"{world}/{name}"] = Cell(with_units(base, name, strategy), scale.seeds)
        for model, chosen in MODELS.items():
            for name, strategy in PLANNING.items():
                run = replace(with_units(base, name, strategy), model=chosen)
                found[f"{world}/{name}/{model}"] = Cell(run, scale.seeds)
    return found


def with_units(base: Settings, name: str, strategy: str) -> Settings:
    """The settings of a strategy, with the units that it is used with."""
    agent = DQN(learning_rate=float(PICKED), activation="tanh") if name in TANH else base.agent
    return replace(base, search_control=strategy, agent=agent)


def ranked(scores: Scores, model: str, problems: list[str]) -> list[Ranked]:
    """Strategies by their mean score over all problems, of those that were run on all of them, with
    as many seeds as all have."""
    labels = {name: [f"{world}/{end}" for world in problems] for name, end in names(model).items()}
    there = {name: some for name, some in labels.items() if scores.seeds(some)}
    seeds = scores.seeds([label for some in there.values() for label in some])
    if len(there) < 2:
        return []
    found = {name: [areas(scores, label, seeds) for label in some] for name, some in there.items()}
    return ranking(found, (0.0, 1.0))


def areas(scores: Scores, label: str, seeds: int) -> np.ndarray:
    """Mean scores after warm-up [seeds]."""
    found = scores.of(label, "area", seeds)
    assert found is not None
    return found[0]


def draw(results: dict[str, Result], scale: Scale) -> dict[str, Figure]:
    """One picture: for each model the ranking, and the scores on every problem."""
    if not results:
        return {}
    scores = paper_scores(cells(scale), results)
    figure, panels = drawing.new_figure(2, 2, (14, 9.6), width_ratios=(1, 1.5))
    for row, model in zip(panels, MODELS, strict=True):
        order = ranked(scores, model, worlds(scale))
        draw_ranking(row[0], order, model)
        shown = [each.name for each in order] or list(names(model))
        draw_scores(row[1], scores, shown, model, worlds(scale))
    return {"strategies": drawing.marked(figure, scale)}


def draw_ranking(axes: Axes, order: list[Ranked], model: str) -> None:
    """Means over the problems with their intervals, and the interval of each rank."""
    for place, each in enumerate(order):
        mean, low, high = (float(x) for x in each.mean)
        axes.barh(place, mean, height=0.7, color=COLOURS.get(each.name, BAR), alpha=0.75)
        axes.plot([low, high], [place, place], color="black", linewidth=1.3)
        rank = str(each.best) if each.best == each.worst else f"{each.best}–{each.worst}"
        axes.text(high + 0.012, place, f"{mean:.2f}, rank {rank}", va="center", size="small")
    axes.set_yticks(range(len(order)), [each.name for each in order])
    if order:
        axes.invert_yaxis()
    else:
        axes.text(0.5, 0.5, "not run", transform=axes.transAxes, ha="center", color=drawing.GREY)
    axes.set_title(f"{model} model: ranks, simultaneous at 95%", size="medium")
    axes.set_xlabel("mean score over all problems (0: worst, 1: best), 95% interval")
    axes.set_xlim(0, 1.25)
    drawing.tidy(axes)
    axes.grid(visible=False, axis="y")


def draw_scores(
    axes: Axes, scores: Scores, shown: list[str], model: str, problems: list[str]
) -> None:
    """The mean score of each strategy on each problem, as a table of colours."""
    ends = names(model)
    means = np.full((len(shown), len(problems)), np.nan)
    for row, name in enumerate(shown):
        for column, world in enumerate(problems):
            found = scores.of(f"{world}/{ends[name]}", "area")
            if found is not None:
                means[row, column] = found[0].mean()
                word = f"{means[row, column]:.2f}"
                axes.text(column, row, word, ha="center", va="center", size="small")
    axes.imshow(means, cmap="YlGn", vmin=0, vmax=1.2, aspect="auto")
    axes.set_yticks(range(len(shown)), shown)
    axes.set_xticks(range(len(problems)), [world.replace(", ", ",\n") for world in problems])
    axes.set_title(
        f"{model} model: mean score after warm-up, learning rate {PICKED}", size="medium"
    )
