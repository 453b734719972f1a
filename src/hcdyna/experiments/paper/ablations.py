"""Beyond the paper: which of the choices in HC-Dyna carry the gain?"""

from typing import Any

from hcdyna import HillClimbing
from hcdyna.agents.dqn import OUTPUT_SCALE
from hcdyna.experiments.cells import Cell, Result
from hcdyna.experiments.paper import drawing
from hcdyna.experiments.paper.drawing import Axes, Figure
from hcdyna.experiments.paper.scale import PICKED, Scale, changed, settings
from hcdyna.experiments.paper.verdicts import paper_scores
from hcdyna.experiments.scores import Scores
from hcdyna.settings import presets
from hcdyna.statistics.draws import mean_within

TITLE = "What in HC-Dyna carries the gain? One choice changed at a time, n = 10"
DOMAINS = ("GridWorld", "MountainCar")
VARIANTS: dict[str, dict[str, Any]] = {
    "as in the paper": {},
    "k = 10": {"steps": 10},
    "k = 30": {"steps": 30},
    "k = 300": {"steps": 300},
    "η = 0": {"eta": 0.0},
    "η = 0.01": {"eta": 0.01},
    "η = 1": {"eta": 1.0},
    "ε_a plain average": {"threshold": "average"},
    "at most 20 accepted": {"max_accepted": 20},
    "queue of 10,000": {"queue_size": 10_000},
    "queue of 100,000": {"queue_size": 100_000},
    "regular gradient": {"natural_gradient": False, "noise_covariance": "visited"},
    "noise ηI": {"noise_covariance": "identity"},
    "regular gradient, noise ηI": {"natural_gradient": False},
    "no terminal states": {"skip_terminal": True},
}
BASELINE = "as in the paper"
AUTHORS, NO_RESTARTS = "authors' preset", "authors' preset, no restarts"
FIRST = {"steps": 100, "skip_terminal": False, "restart": False, "accept_first": True}
"""What the preset `authors` was at first: without its restarts and all that goes with them."""
ORDER = (*VARIANTS, AUTHORS, NO_RESTARTS, "OnPolicy-Dyna", "DQN")
BAR = "#9fb3c8"
COLOURS = drawing.COLOURS | {BASELINE: drawing.COLOURS["HC-Dyna"]}


def cells(scale: Scale) -> dict[str, Cell]:
    found = {}
    for domain in DOMAINS:
        for name, options in VARIANTS.items():
            strategy = HillClimbing(**options)
            run = settings(scale, domain, "HC-Dyna", PICKED, search_control=strategy)
            found[f"{domain}/{name}"] = Cell(run, scale.seeds)
        for algorithm in ("DQN", "OnPolicy-Dyna"):
            run = settings(scale, domain, algorithm, PICKED)
            found[f"{domain}/{algorithm}"] = Cell(run, scale.seeds)
        run = changed(
            presets.settings("authors", domain),
            agent={"learning_rate": float(PICKED)},
            training={"steps": scale.steps, "warmup": scale.warmup},
        )
        found[f"{domain}/{AUTHORS}"] = Cell(run, scale.seeds)
        run = changed(run, agent={"output_scale": OUTPUT_SCALE}, search_control=FIRST)
        found[f"{domain}/{NO_RESTARTS}"] = Cell(run, scale.seeds)
    return found


def draw(results: dict[str, Result], scale: Scale) -> dict[str, Figure]:
    """One panel for each domain, with a bar for each variant."""
    if not results:
        return {}
    scores = paper_scores(cells(scale), results)
    shown = [name for name in ORDER if any(f"{domain}/{name}" in results for domain in DOMAINS)]
    height = 1.2 + 0.34 * len(shown)
    figure, (panels,) = drawing.new_figure(1, len(DOMAINS), (12, height), sharey=True)
    for axes, domain in zip(panels, DOMAINS, strict=True):
        draw_bars(axes, scores, domain, shown)
    panels[0].set_yticks(range(len(shown)), [name.replace("ε_a", "εₐ") for name in shown])
    panels[0].invert_yaxis()
    return {"ablations": drawing.marked(figure, scale)}


def draw_bars(axes: Axes, scores: Scores, domain: str, shown: list[str]) -> None:
    """Mean area of the score for each variant, with its 95% interval; the paper's as a line."""
    for place, variant in enumerate(shown):
        found = scores.of(f"{domain}/{variant}", "area")
        if found is None:
            continue
        areas, diverged = found
        mean, low, high = (float(x) for x in mean_within(areas, (0, 1)))
        colour = COLOURS.get(variant, BAR)
        axes.barh(place, mean, height=0.7, color=colour, alpha=0.75)
        axes.plot([low, high], [place, place], color="black", linewidth=1.3)
        if variant == BASELINE:
            axes.axvline(mean, color=colour, linewidth=1.2, linestyle="--")
            axes.axvspan(low, high, color=colour, alpha=0.1, linewidth=0)
        note = f"{mean:.2f}" + (f" ({diverged} diverged)" if diverged else "")
        axes.text(high + 0.012, place, note, va="center", size="small")
    axes.set_title(domain, weight="bold")
    axes.set_xlabel("mean score after warm-up (0: worst, 1: best), 95% interval")
    axes.set_xlim(0, 1.05)
    drawing.tidy(axes)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
