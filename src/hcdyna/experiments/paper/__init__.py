"""The figures of the paper, one file each: their cells, and how they are drawn."""

import importlib
from types import ModuleType

FIGURES = (
    *("fig1", "fig2", "fig3", "fig4", "fig5", "fig6", "fig7", "fig8"),
    *("lr", "ablations", "strategies"),
)


def figure(name: str) -> ModuleType:
    """The module of a figure: `TITLE`, `cells(scale)` and `draw(results, scale)`."""
    return importlib.import_module(f"hcdyna.experiments.paper.{name}")
