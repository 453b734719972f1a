"""Figure 6: continuous actions: DDPG, and DDPG with OnPolicy-Dyna and HC-Dyna, n = 5."""

from hcdyna import Settings, Training
from hcdyna.experiments.cells import Cell, Result
from hcdyna.experiments.paper import drawing
from hcdyna.experiments.paper.drawing import Figure
from hcdyna.experiments.paper.scale import Scale

TITLE = "HC-Dyna for continuous control with DDPG, n = 5"
ALGORITHMS = {
    "DDPG": "replay",
    "DDPG-OnPolicy-Dyna": "on_policy",
    "DDPG-HC-Dyna": "hill_climbing",
}


def cells(scale: Scale) -> dict[str, Cell]:
    training = Training(steps=scale.steps, warmup=scale.warmup, planning_steps=5)
    return {
        name: Cell(
            Settings(
                environment="GridWorldContinuous",
                agent="ddpg",
                search_control=strategy,
                training=training,
            ),
            scale.seeds,
        )
        for name, strategy in ALGORITHMS.items()
    }


def draw(results: dict[str, Result], scale: Scale) -> dict[str, Figure]:
    """One panel with three curves."""
    lines = drawing.named_lines(results, "{}", ALGORITHMS)
    if not lines:
        return {}
    figure, ((axes,),) = drawing.new_figure(1, 1, (6.6, 4.4))
    drawing.curves(axes, lines, scale)
    axes.set(xlabel=drawing.STEPS, ylabel=drawing.REWARDS)
    drawing.legend(figure, lines)
    return {"fig6": drawing.marked(figure, scale)}
