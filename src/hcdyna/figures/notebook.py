"""What a notebook shows of runs, agents and settings: pictures and tables as HTML."""

import base64
import io
import sys
from html import escape
from typing import Any

from matplotlib.figure import Figure

from hcdyna.figures.curves import curves_of
from hcdyna.figures.plots import plot_curves
from hcdyna.figures.tables import results
from hcdyna.runs.run import Run
from hcdyna.runs.trained import TrainedAgent
from hcdyna.settings import CHOICES, Settings
from hcdyna.settings.fields import is_part
from hcdyna.settings.short import in_short, short_repr, unusual
from hcdyna.statistics.summaries import Statistic

WIDTH, HEIGHT, DOTS = 6.0, 3.0, 80
"""Of a picture, in inches, and its dots per inch."""


def plot(run: Run, statistic: Statistic = "mean") -> Figure:
    """The learning curves of a run, as a figure that a notebook shows."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    if shell is not None:  # only pyplot would tell it how to show a figure
        from IPython.core.pylabtools import select_figure_formats

        select_figure_formats(shell, {"png"})
    return plot_curves(run, statistic=statistic)


def run_html(run: Run) -> str:
    """Words, curves and a table of returns."""
    words = f"<p>{escape(repr(run))}</p>"
    if not len(run.steps):
        return words
    curves = curves_of([run])
    return f"{words}{picture(plot_curves(run))}{results(curves, 'mean')}"


def picture(figure: Figure) -> str:
    """An image that needs no file."""
    figure.set_size_inches(WIDTH, HEIGHT)
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=DOTS)
    return f'<img src="data:image/png;base64,{base64.b64encode(content.getvalue()).decode()}">'


def agent_html(agent: TrainedAgent) -> str:
    """Which agent it is, and what goes in and out."""
    spec = agent.spec
    if spec.num_states is not None:
        seen = f"one of {spec.num_states} states"
    else:
        seen = f"{spec.low.shape[0]} numbers"
    if spec.num_actions is not None:
        does = f"one of {spec.num_actions} actions"
    else:
        does = f"{spec.action_size} numbers"
    rows = {"which": agent.about, "observation": seen, "action": does}
    words = {name: escape(text) for name, text in rows.items() if text}
    return f"<p>{escape(repr(agent))}</p>{table(words)}"


def settings_html(settings: Settings) -> str:
    """A row per part, with the fields that are not as usual."""
    rows = {
        name.replace("_", " "): part_html(getattr(settings, name))
        for name in (*CHOICES, "training", "evaluation")
    }
    return f"<p>{escape(in_short(settings))}</p>{table(rows)}"


def part_html(part: Any) -> str:
    """The class of a part, and the fields that are not as usual."""
    if not is_part(part):
        return escape(repr(part))
    given = ", ".join(f"{name} = {short_repr(value)}" for name, value in unusual(part).items())
    return f"<b>{escape(type(part).__name__)}</b> {escape(given)}"


def table(rows: dict[str, str]) -> str:
    """Two columns; what is in the second is HTML."""
    cells = "".join(f"<tr><th>{escape(name)}</th><td>{x}</td></tr>" for name, x in rows.items())
    return f'<table style="text-align: left">{cells}</table>'
