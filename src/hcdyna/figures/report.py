"""A run, or several compared, as one interactive page that needs nothing but a browser."""

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from plotly.offline import get_plotlyjs

from hcdyna.figures import charts, tables
from hcdyna.figures.curves import Curve, curves_of
from hcdyna.figures.panels import MOST_PANELS, panels
from hcdyna.numerics.files import write
from hcdyna.runs.run import Run
from hcdyna.statistics.summaries import Statistic

PARTS = Path(__file__).parent / "page"

# The policy makes the browser itself refuse anything from outside the file.
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data: blob:;
 style-src 'unsafe-inline'; script-src 'unsafe-inline'; form-action 'none'; base-uri 'none'">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
<header>
<h1>{title}</h1>
{facts}
</header>
{sections}
</main>
<script>{plotly}</script>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def write_report(
    runs: Run | Sequence[Run],
    path: str | Path,
    labels: Sequence[str] | None = None,
    statistic: Statistic = "mean",
    more: Sequence[str] = (),
) -> Path:
    """Write a self-contained HTML page of some runs; `labels` and `statistic` as in `plot_curves`.

    It holds learning curves, a table with 95% intervals, what the first agent of each run sees as
    learning proceeds (for runs kept in a folder), diagnostics, and the settings. It loads nothing.
    `more` are sections of HTML to put before the settings.
    """
    path = Path(path)
    curves = curves_of([runs] if isinstance(runs, Run) else runs, labels)
    shown, small = panels(curves), charts.diagnostics(curves)
    learning = charts.learning_curves(curves, statistic)
    data = {
        "curves": learning,
        "diagnostics": small,
        "panels": shown,
        "steps": sorted({shot["step"] for panel in shown for shot in panel["snapshots"]}),
        "font": charts.LAYOUT["font"],
    }
    sections = [
        _learning(learning, curves, statistic),
        _panels(shown, curves),
        _diagnostics(small),
        *more,
        tables.settings_section(curves),
    ]
    text = json.dumps(data, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    page = PAGE.format(
        title=escape(tables.title(curves)),
        facts=tables.facts(curves),
        style=(PARTS / "report.css").read_text(encoding="utf-8"),
        sections="\n".join(sections),
        plotly=get_plotlyjs(),
        data=text.replace("<", "\\u003c"),  # it must not end the script element it stands in
        script=(PARTS / "report.js").read_text(encoding="utf-8"),
    )
    write(path, page.encode())
    return path


def _learning(learning: list[dict[str, Any]], curves: list[Curve], statistic: Statistic) -> str:
    if not learning:
        shown = '<p class="note">No evaluations yet.</p>'
    else:
        shown = (
            '<div class="controls"><label><input type="checkbox" id="seeds"> single seeds</label>'
            "</div>"
        )
        for number, chart in enumerate(learning):
            heading = f"<h3>{chart['title']}</h3>" if len(learning) > 1 else ""
            shown += f'<div>{heading}<div id="curves-{number}" class="chart"></div></div>'
    return f"""<section><h2>Learning curves</h2>{shown}
{tables.results(curves, statistic)}</section>"""


def _panels(shown: list[dict[str, Any]], curves: list[Curve]) -> str:
    if not shown:
        return ""
    surfaces = any(panel["surface"] for panel in shown)
    fixed = '<label><input type="checkbox" id="fixed" checked> same height scale throughout</label>'
    places = "".join(_panel(number, panel) for number, panel in enumerate(shown))
    last = len({shot["step"] for panel in shown for shot in panel["snapshots"]}) - 1
    note = "A sample of the states that the first agent of each run learns and plans from. " + (
        "Climbs are without noise, to show where the surface leads. Drag to turn." * surfaces
    )
    if len(shown) == MOST_PANELS and len({id(curve.run) for curve in curves}) > MOST_PANELS:
        note += f" The first {MOST_PANELS} runs are shown."
    return f"""<section><h2>Values, replay and queue during training</h2>
<div class="controls"><button id="play" type="button">▶ play</button>
<input type="range" id="slider" min="0" max="{last}" value="{last}" aria-label="environment steps">
<span id="step"></span>{fixed if surfaces else ""}</div>
<div class="panels{" one" if len(shown) == 1 else ""}">{places}</div>
<p class="note">{note}</p></section>"""


def _panel(number: int, panel: dict[str, Any]) -> str:
    choices = ""
    if not panel["surface"]:
        names = list(enumerate(panel["variables"]))
        selects = []
        for axis, word, chosen in (("x", "x axis", 0), ("y", "y axis", 1)):
            options = "".join(
                f'<option value="{v}"{" selected" * (v == chosen)}>{escape(name)}</option>'
                for v, name in names
            )
            select = f'<select class="pair" id="{axis}-{number}">{options}</select>'
            selects.append(f"<label>{word} {select}</label>")
        choices = f'<div class="controls">{"".join(selects)}</div>'
    heading = f"<h3>{escape(panel['label'])}, seed {panel['seed']}</h3>"
    return f'<div>{heading}{choices}<div id="panel-{number}" class="chart"></div></div>'


def _diagnostics(small: list[dict[str, Any]]) -> str:
    if not small:
        return ""
    places = "".join(
        f'<div><h3>{chart["title"]}</h3><div id="diagnostic-{number}" class="chart"></div></div>'
        for number, chart in enumerate(small)
    )
    return f"""<section><h2>Diagnostics</h2><div class="grid">{places}</div>
<p class="note">Median and quartiles over the agents, against environment steps; each point is the
mean since the previous evaluation. Values that are not finite are left out.</p></section>"""
