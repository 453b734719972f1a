"""The charts of a report over steps, as plain data that plotly.js reads.

A number that is not finite becomes null, which plotly draws as a gap.
"""

import math
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from hcdyna.figures.curves import Curve, by_world
from hcdyna.statistics.summaries import Statistic, interval

# Points in a page, of all curves together; beyond, evaluations are left out evenly.
MOST_OF_SEEDS = 40_000
MOST_OF_MEANS = 12_000
MOST_OF_A_DIAGNOSTIC = 1_500


def _title(text: str) -> dict[str, Any]:
    return {"title": {"text": text, "font": {"size": 13}, "standoff": 12}}


AXIS = {"gridcolor": "#e8eaed", "linecolor": "#9aa0a6", "zeroline": False, "automargin": True}
STEPS = AXIS | {"tickformat": ",d", "rangemode": "tozero"}
LAYOUT: dict[str, Any] = {
    "font": {"family": "system-ui, sans-serif", "size": 13, "color": "#202124"},
    "paper_bgcolor": "#ffffff",
    "plot_bgcolor": "#ffffff",
    "hoverlabel": {"namelength": -1, "bgcolor": "#ffffff"},
    "hovermode": "x unified",
}
CURVES: dict[str, Any] = LAYOUT | {
    "xaxis": STEPS | _title("environment steps"),
    "yaxis": AXIS | _title("return of an evaluation episode"),
    # The toolbar is above the curves, so the legend is below them.
    "margin": {"l": 70, "r": 16, "t": 34, "b": 50},
    "legend": {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom"},
}
DIAGNOSTICS = {
    "loss": "Loss",
    "mean_q": "Mean Q(s, a)",
    "epsilon_a": "ε<sub>a</sub>, the mean distance of a real move",
    "accepted": "Share of climbed states that are accepted",
    "hit_edge": "Share of climbs that meet the edge of the box",
    "queue_size": "States in the search-control queue",
    "model_loss": "Loss of the model",
    "model_error": "Error of the model's next state, in units of the real change",
    "doubtful": "Share of planned outcomes that the model does not know",
    "ends_seen": "Ends of episodes in 512 replayed steps",
    "ends_missed": "Ends that the model misses",
    "ends_imagined": "Ends that the model imagines",
}
"""What training reports, in words; anything else goes by its own name."""
ON_LOG_SCALE = ("loss", "model_loss", "model_error")


def learning_curves(curves: Sequence[Curve], statistic: Statistic) -> list[dict[str, Any]]:
    """A chart for each environment that has evaluations."""
    total = sum(len(curve.run.steps) for curve in curves)
    lines = sum(curve.returns.size for curve in curves)
    charts = []
    for world, group in by_world(curves).items():
        traces = _curves_of_a_world(group, statistic, total, lines)
        if traces:
            charts.append({"title": escape(world), "traces": traces, "layout": CURVES})
    return charts


def _curves_of_a_world(
    curves: Sequence[Curve], statistic: Statistic, total: int, lines: int
) -> list[dict[str, Any]]:
    """Mean and band of each curve, its single seeds (hidden at first) and where agents diverged."""
    traces: list[dict[str, Any]] = []
    for number, curve in enumerate(curves):
        if len(curve.run.steps) == 0:
            continue
        parts = [
            *_mean_and_band(curve, statistic, _thinned(curve, total, MOST_OF_MEANS)),
            _seeds(curve, _thinned(curve, lines, MOST_OF_SEEDS)),
            *_divergences(curve),
        ]
        name = {"legendgroup": str(number), "name": escape(curve.label, quote=False)}
        traces += [name | part for part in parts]
    return traces


def diagnostics(curves: Sequence[Curve]) -> list[dict[str, Any]]:
    """Small charts of what training reports: one for each number and environment."""
    worlds = by_world(curves)
    charts = []
    for world, group in worlds.items():
        for chart in _diagnostics_of_a_world(group):
            if len(worlds) > 1:
                chart["title"] = f"{escape(world)}: {chart['title']}"
            charts.append(chart)
    return charts


def _diagnostics_of_a_world(curves: Sequence[Curve]) -> list[dict[str, Any]]:
    """Median and quartiles over agents."""
    tables = [curve.run.diagnostics() for curve in curves]
    total = sum(len(curve.run.steps) for curve in curves)
    names = {name for table in tables for name in list(table)[3:]}
    known = [name for name in DIAGNOSTICS if name in names]
    charts = []
    for name in known + sorted(names.difference(known)):
        traces: list[dict[str, Any]] = []
        for curve, table in zip(curves, tables, strict=True):
            if name in table:
                values = table[name].reshape(curve.run.returns.shape[:3])[curve.setting]
                traces += _spread(curve, values, _thinned(curve, total, MOST_OF_A_DIAGNOSTIC))
        if not traces:
            continue
        layout = LAYOUT | {
            "xaxis": STEPS | {"nticks": 5},
            "yaxis": AXIS | {"nticks": 6} | _scale(name, traces),
            "margin": {"l": 48, "r": 12, "t": 8, "b": 30},
            "showlegend": False,
        }
        layout["font"] = layout["font"] | {"size": 11}
        title = DIAGNOSTICS.get(name, escape(name.replace("_", " ")))
        charts.append({"name": name, "title": title, "traces": traces, "layout": layout})
    return charts


def as_json(numbers: np.ndarray, digits: int = 6) -> list[float | None]:
    """As a list for JSON: rounded to some digits that count, null where not finite."""
    return [float(f"{x:.{digits}g}") if math.isfinite(x) else None for x in numbers.tolist()]


def _mean_and_band(curve: Curve, statistic: Statistic, kept: slice) -> list[dict[str, Any]]:
    steps, returns = curve.run.steps[kept], curve.returns[:, kept]
    mean, low, high = interval(returns, statistic)
    line = _line(steps, mean, curve.colour) | {"meta": "mean"}
    if len(returns) == 1:
        return [line]
    edges = zip(as_json(low), as_json(high), strict=True)
    line["customdata"] = [list(pair) for pair in edges]
    line["hovertemplate"] = "%{y:.5g} [%{customdata[0]:.5g}, %{customdata[1]:.5g}]"
    return [_band(steps, low, high, curve.colour), line]


def _seeds(curve: Curve, kept: slice) -> dict[str, Any]:
    """All single seeds as one trace, with gaps between them."""
    steps = curve.run.steps[kept].tolist()
    heights = [y for row in curve.returns[:, kept] for y in [*as_json(row), None]]
    return {
        "meta": "seeds",
        "x": [*steps, None] * len(curve.returns),
        "y": heights,
        "mode": "lines",
        "line": {"color": curve.colour, "width": 0.8},
        "opacity": 0.5,
        "hoverinfo": "skip",
        "showlegend": False,
        "visible": False,
    }


def _divergences(curve: Curve) -> list[dict[str, Any]]:
    """A × on its curve where an agent diverged."""
    seeds = np.flatnonzero(curve.diverged.any(axis=1))
    if len(seeds) == 0:
        return []
    first = curve.diverged[seeds].argmax(axis=1)
    return [
        {
            "meta": "diverged",
            "x": curve.run.steps[first].tolist(),
            "y": as_json(curve.returns[seeds, first]),
            "mode": "markers",
            "marker": {"symbol": "x", "size": 10, "color": curve.colour},
            "hovertemplate": "seed %{customdata} diverged",
            "customdata": [curve.run.seeds[seed] for seed in seeds],
            "showlegend": False,
        }
    ]


def _spread(curve: Curve, values: np.ndarray, kept: slice) -> list[dict[str, Any]]:
    """Median and quartiles over the agents [seeds, evaluations] that report a finite number."""
    steps, values = curve.run.steps[kept], np.where(np.isfinite(values), values, np.nan)[:, kept]
    some = np.isfinite(values).any(axis=0)
    if not some.any():
        return []
    low, middle, high = np.nanpercentile(values[:, some], (25, 50, 75), axis=0)
    line = _line(steps[some], middle, curve.colour) | {"name": escape(curve.label, quote=False)}
    line["line"] = {"color": curve.colour, "width": 1.8}
    return [_band(steps[some], low, high, curve.colour), line]


def _line(steps: np.ndarray, heights: np.ndarray, colour: str) -> dict[str, Any]:
    return {
        "x": steps.tolist(),
        "y": as_json(heights),
        # A line through a single point would not be seen.
        "mode": "lines" if len(steps) > 1 else "markers",
        "line": {"color": colour, "width": 2.5},
        "marker": {"color": colour},
        "hovertemplate": "%{y:.5g}",
    }


def _band(steps: np.ndarray, low: np.ndarray, high: np.ndarray, colour: str) -> dict[str, Any]:
    known = np.isfinite(low) & np.isfinite(high)
    steps, low, high = steps[known], low[known], high[known]
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return {
        "meta": "band",
        "x": [*steps.tolist(), *steps[::-1].tolist()],
        "y": [*as_json(high), *as_json(low[::-1])],
        "mode": "lines",
        "line": {"width": 0},
        "fill": "toself",
        "fillcolor": f"rgba({red},{green},{blue},0.18)",
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _scale(name: str, traces: list[dict[str, Any]]) -> dict[str, Any]:
    """Logarithmic for errors, with a label at every decade, or at 1, 2 and 5 if they are few."""
    heights = [y for trace in traces for y in trace["y"] if y is not None]
    if name not in ON_LOG_SCALE or not heights or min(heights) <= 0:
        return {}
    few = max(heights) / min(heights) < 300
    return {"type": "log", "dtick": "D2" if few else 1, "minorloglabels": "complete"}


def _thinned(curve: Curve, total: int, most: int) -> slice:
    """Every so many evaluations, the last among them, if `total` points are more than `most`."""
    stride = max(1, -(-total // most))
    return slice((len(curve.run.steps) - 1) % stride, None, stride)
