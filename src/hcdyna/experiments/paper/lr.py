"""The paper's procedure for the learning rate: DQN with n = 5, the best of three."""

from hcdyna.experiments.cells import Cell, Result
from hcdyna.experiments.paper import drawing
from hcdyna.experiments.paper.drawing import Figure
from hcdyna.experiments.paper.fig4 import DOMAINS
from hcdyna.experiments.paper.scale import Scale, settings

TITLE = "The learning rate that the paper's own procedure picks"
RATES = ("1e-3", "1e-4", "1e-5")
COLOURS = ("#d55e00", "#0072b2", "#7f7f7f")


def cells(scale: Scale) -> dict[str, Cell]:
    return {
        f"{domain}/{rate}": Cell(
            settings(scale, domain, "DQN", rate, planning_steps=5), scale.seeds
        )
        for domain in DOMAINS
        for rate in RATES
    }


def draw(results: dict[str, Result], scale: Scale) -> dict[str, Figure]:
    """A panel for each domain, with a curve for each learning rate."""
    if not results:
        return {}
    figure, panels = drawing.new_figure(2, 2, (10, 7), sharex=True)
    every = []
    for axes, domain in zip(panels.flat, DOMAINS, strict=True):
        lines = [
            drawing.Line(results[label], f"learning rate {rate}", colour)
            for rate, colour in zip(RATES, COLOURS, strict=True)
            if (label := f"{domain}/{rate}") in results
        ]
        drawing.curves(axes, lines, scale)
        axes.set_title(domain, weight="bold")
        every += lines
    for axes in panels[-1]:
        axes.set_xlabel(drawing.STEPS)
    for axes in panels[:, 0]:
        axes.set_ylabel(drawing.REWARDS)
    drawing.legend(figure, every, "DQN with 5 planning steps; ")
    return {"lr": drawing.marked(figure, scale)}
