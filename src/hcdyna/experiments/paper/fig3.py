"""Figure 3: the mixing rate ρ, on GridWorld with DQN and on TabularGridWorld."""

from hcdyna import TabularHillClimbing
from hcdyna.experiments.cells import Cell, Result
from hcdyna.experiments.paper import drawing
from hcdyna.experiments.paper.drawing import Figure
from hcdyna.experiments.paper.scale import Scale, settings, tabular_settings
from hcdyna.experiments.paper.verdicts import paper_scores

TITLE = "The effect of the mixing rate ρ"
RHOS = (0.0, 0.25, 0.5, 0.75, 1.0)
COLOURS = (drawing.COLOURS["DQN"], "#56b4e9", drawing.COLOURS["HC-Dyna"], "#e69f00", "#8a5fbf")
"""Replay alone is black as elsewhere, and the paper's choice, ρ = 0.5, red."""


def cells(scale: Scale) -> dict[str, Cell]:
    found = {}
    for rho in RHOS:
        for rate in scale.rates:
            run = settings(scale, "GridWorld", "HC-Dyna", rate, mixing_rate=rho)
            found[f"GridWorld/{rho}/{rate}"] = Cell(run, scale.seeds)
        for step_size in scale.tabular_rates:
            run = tabular_settings(scale, TabularHillClimbing(), step_size, rho)
            found[f"TabularGridWorld/{rho}/{step_size}"] = Cell(run, scale.seeds)
    return found


def draw(results: dict[str, Result], scale: Scale) -> dict[str, Figure]:
    """One picture for each learning rate on GridWorld; TabularGridWorld takes its best ones."""
    found = {}
    scores = paper_scores(cells(scale), results)
    for rate in scale.rates:
        world = lines([results.get(f"GridWorld/{rho}/{rate}") for rho in RHOS])
        chosen = [scores.best(f"TabularGridWorld/{rho}/") for rho in RHOS]
        table = lines([None if found is None else found[1] for found in chosen])
        if world or table:
            found[f"fig3-{rate}"] = picture(world, table, rate, scale)
    return found


def lines(results: list[Result | None]) -> list[drawing.Line]:
    """A line for each ρ that has a result."""
    return [
        drawing.Line(result, f"ρ = {rho:g}", colour)
        for result, rho, colour in zip(results, RHOS, COLOURS, strict=True)
        if result is not None
    ]


def picture(
    world: list[drawing.Line], table: list[drawing.Line], rate: str, scale: Scale
) -> Figure:
    """Both panels, with one legend."""
    figure, ((left, right),) = drawing.new_figure(1, 2, (10, 4.2))
    drawing.curves(left, world, scale)
    drawing.curves(right, table, scale, drawing.NEIGHBOURS)
    left.set(xlabel=drawing.STEPS, ylabel=drawing.REWARDS)
    right.set(xlabel=drawing.STEPS, ylabel=drawing.AVERAGED)
    left.set_title(f"GridWorld, learning rate {rate}", size="medium")
    right.set_title("TabularGridWorld, best learning rate for each ρ", size="medium")
    drawing.legend(figure, world + table)
    return drawing.marked(figure, scale)
