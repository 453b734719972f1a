"""Figure 4: four domains, three numbers of planning steps, three algorithms, and four models."""

from functools import partial

from hcdyna.experiments.cells import Cell, Result
from hcdyna.experiments.paper import drawing
from hcdyna.experiments.paper.drawing import Figure
from hcdyna.experiments.paper.scale import ALGORITHMS, Scale, settings

TITLE = "Evaluation curves on four domains; learned models dotted"
READINGS = {
    "fig4": "known ends",
    "fig4_learned_ends": "learned ends",
    "fig4_our_model": "our model",
}
"""Pictures, and which learned model each shows beside the true one."""
DOMAINS = ("GridWorld", "MountainCar", "CartPole", "Acrobot")
PLANNING_STEPS = (1, 10, 30)


def algorithms(scale: Scale) -> list[str]:
    """Those that are run; at the quick scale with the paper's learned model alone."""
    kinds = tuple(READINGS.values()) if scale.name == "full" else ("known ends",)
    return [name for name in ALGORITHMS if "," not in name or name.endswith(kinds)]


def cells(scale: Scale) -> dict[str, Cell]:
    return {
        f"{domain}/{n}/{algorithm}/{rate}": Cell(
            settings(scale, domain, algorithm, rate, planning_steps=n), scale.seeds
        )
        for domain in DOMAINS
        for algorithm in algorithms(scale)
        for n in PLANNING_STEPS
        for rate in scale.rates
    }


def draw(results: dict[str, Result], scale: Scale) -> dict[str, Figure]:
    """One picture for each learning rate and learned model: a row for each domain, a column for
    each n."""
    found: dict[str, Figure] = {}
    for name, kind in READINGS.items():
        shown = [x for x in ALGORITHMS if "," not in x or x.endswith(f", {kind}")]
        there = any(f", {kind}/" in label for label in results)
        if there or (name == "fig4" and results):
            drawn = partial(picture, shown)
            found |= drawing.for_each_rate(name, results, scale, drawn)
    return found


def picture(shown: list[str], results: dict[str, Result], rate: str, scale: Scale) -> Figure:
    """All twelve panels, with one legend."""
    figure, panels = drawing.new_figure(4, 3, (10, 10.4), sharex=True, sharey="row")
    every = []
    for row, domain in zip(panels, DOMAINS, strict=True):
        for axes, n in zip(row, PLANNING_STEPS, strict=True):
            lines = [
                line(results[label], algorithm)
                for algorithm in shown
                if (label := f"{domain}/{n}/{algorithm}") in results
            ]
            drawing.curves(axes, lines, scale)
            every += lines
        row[0].set_ylabel(f"$\\bf{{{domain}}}$\n{drawing.REWARDS}")
    for axes, letter in zip(panels.flat, "abcdefghijkl", strict=True):
        axes.text(0.015, 0.93, f"({letter})", transform=axes.transAxes, color=drawing.GREY)
    for axes, n in zip(panels[0], PLANNING_STEPS, strict=True):
        axes.set_title(f"{n} planning step{'s' if n > 1 else ''}")
    for axes in panels[-1]:
        axes.set_xlabel(drawing.STEPS)
    figure.align_ylabels(panels[:, 0])
    drawing.legend(figure, every, f"learning rate {rate}; ")
    return drawing.marked(figure, scale)


def line(result: Result, algorithm: str) -> drawing.Line:
    """In the paper's colours; dotted where the model is learned."""
    name, _, learned = algorithm.partition(", ")
    label = f"{name}, learned model ({learned})" if learned else name
    return drawing.Line(result, label, drawing.COLOURS[name], ":" if learned else "-")
