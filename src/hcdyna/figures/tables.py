"""The words and tables of a report, as HTML; everything that comes from a user is escaped."""

import shlex
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from hcdyna.figures.curves import NAMES, Curve, by_world, flat, varying
from hcdyna.runs.run import Run
from hcdyna.runs.store import Store
from hcdyna.settings.words import count
from hcdyna.statistics.summaries import Statistic, area_under_curve, interval


def title(curves: Sequence[Curve]) -> str:
    """The worlds and, if they are few, the curves."""
    labels = dict.fromkeys(curve.label for curve in curves)
    what = " · ".join(labels) if len(labels) <= 4 else f"{len(labels)} settings compared"
    return f"{', '.join(by_world(curves))}: {what}"


def facts(curves: Sequence[Curve]) -> str:
    """How much was trained, in a line."""
    agents = sum(len(curve.returns) for curve in curves)
    steps = sorted({int(curve.run.steps[-1]) if len(curve.run.steps) else 0 for curve in curves})
    span = f"{steps[0]:,}" if len(steps) == 1 else f"{steps[0]:,} to {steps[-1]:,}"
    words = [count(agents, "agent"), f"{span} environment steps each"]
    unfinished = sum(not run.finished for run in _runs(curves))
    if unfinished:
        words.append(count(unfinished, "unfinished run"))
    failures = sum(curve.num_diverged for curve in curves)
    if failures:
        words.append(f'<span class="bad">{failures} diverged</span>')
    return f'<p class="facts">{" · ".join(words)}</p>'


def results(curves: Sequence[Curve], statistic: Statistic) -> str:
    """Return halfway, at the end and on average, each with its 95% interval over agents."""
    same = len({tuple(curve.run.steps.tolist()) for curve in curves}) == 1
    steps = curves[0].run.steps
    if same and len(steps):
        heads = [f"after {steps[i]:,} steps" for i in (_middle(curves[0].run), -1)]
    else:
        heads = ["halfway", "at the end"]
    heads = ["agents", "diverged", *heads, "over the whole run"]
    rows = []
    for curve in curves:
        agents, failures = len(curve.returns), curve.num_diverged
        broken = f'<span class="bad">{failures} of {agents}</span>' if failures else "none"
        values = [str(agents), broken, *_cells(curve, statistic, same)]
        cells = "".join(
            f'<td class="number" data-head="{head}">{value}</td>'
            for head, value in zip(heads, values, strict=True)
        )
        rows.append(f"<tr><td>{_swatch(curve)}{escape(curve.label)}</td>{cells}</tr>")
    numbers = "".join(f'<th class="number">{head}</th>' for head in heads)
    name = NAMES[statistic].capitalize()
    note = (
        f"{name} return of an evaluation episode over agents, with its 95% bootstrap interval; "
        "over the whole run it is the area under the curve, divided by its length. Agents that "
        "diverged count like all others."
    )
    if any(len(curve.returns) == 1 for curve in curves):
        note += " One seed has no interval."
    return f"""<div class="scroll"><table id="results"><thead><tr><th>algorithm</th>{numbers}</tr>
</thead><tbody>{"".join(rows)}</tbody></table></div><p class="note">{note}</p>"""


def settings_section(curves: Sequence[Curve]) -> str:
    """What differs between the curves, and the whole record of each run behind a click."""
    runs = "".join(
        _details(run, [curve for curve in curves if curve.run is run]) for run in _runs(curves)
    )
    return f"<section><h2>Settings</h2>{_differences(curves)}{runs}</section>"


def _differences(curves: Sequence[Curve]) -> str:
    different = varying([curve.settings for curve in curves])
    paths = list(dict.fromkeys(path for each in different for path in each))
    if not paths:
        return ""
    everything = [flat(curve.settings) for curve in curves]
    head = "".join(f"<th>{_swatch(curve)}{escape(curve.label)}</th>" for curve in curves)
    rows = ""
    for path in paths:
        cells = "".join(
            f'<td data-head="{escape(curve.label)}">{escape(str(each.get(path, "–")))}</td>'
            for curve, each in zip(curves, everything, strict=True)
        )
        rows += f"<tr><td>{escape(path)}</td>{cells}</tr>"
    return f"""<div class="scroll"><table id="differences"><thead><tr><th>what differs</th>{head}
</tr></thead><tbody>{rows}</tbody></table></div>"""


def _details(run: Run, curves: Sequence[Curve]) -> str:
    """One run: where it is, how to repeat it and go on with it, and all its settings."""
    total = run.settings[0].training.steps
    done = int(run.steps[-1]) if len(run.steps) else 0
    state = "finished" if run.finished else f"{done:,} of {total:,} steps"
    record: dict[str, Any] = {}
    commands = "<p>Kept in memory only.</p>"
    if run.folder is not None:
        record = Store.open(run.folder).record
        folder = shlex.quote(str(run.folder))
        lines = {
            "Started by": command(record.get("command")),
            "Resume with": "" if run.finished else f"hcdyna resume {folder}",
            "Load in Python": f"hcdyna.load({str(run.folder)!r})",
        }
        commands = "".join(
            f"<h3>{what}</h3><pre>{escape(line)}</pre>" for what, line in lines.items() if line
        )
    settings = record.get("settings") or [_nested(each) for each in run.settings]
    about = {k: v for k, v in record.items() if k not in ("settings", "command", "format")}
    shown = "\n".join(_yaml(each) for each in settings)
    name = escape(" · ".join(dict.fromkeys(curve.label for curve in curves)))
    place = f" · {escape(str(run.folder))}" if run.folder is not None else ""
    return f"""<details><summary>{name} <span>· {state}{place}</span></summary>
<div class="two"><div><h3>Settings</h3><pre>{escape(shown)}</pre></div>
<div>{commands}<h3>Seeds, versions and device</h3>
<pre>{escape(_yaml(about or {"seeds": run.seeds}))}</pre></div></div></details>"""


def command(arguments: Any) -> str:
    """What was typed to start a run, as far as Python knows; nothing for an interactive session."""
    if not isinstance(arguments, list) or not arguments:
        return ""
    program, *rest = map(str, arguments)
    if program in ("", "-c", "-m"):
        return ""
    if program.endswith("__main__.py"):
        words = ["python", "-m", Path(program).parent.name]
    elif program.endswith(".py"):
        words = ["python", program]
    else:
        words = [Path(program).name]
    return shlex.join([*words, *rest])


def _cells(curve: Curve, statistic: Statistic, same: bool) -> list[str]:
    steps, returns = curve.run.steps, curve.returns
    if len(steps) == 0:
        return ["–"] * 3
    area = area_under_curve(steps, returns)
    columns = (returns[:, _middle(curve.run)], returns[:, -1], area)
    cells = [_number(column, statistic) for column in columns]
    if not same:
        for column, step in enumerate((steps[_middle(curve.run)], steps[-1])):
            cells[column] += f'<br><span class="interval">after {step:,} steps</span>'
    return cells


def _number(per_seed: np.ndarray, statistic: Statistic) -> str:
    mean, low, high = (float(x) for x in interval(per_seed, statistic))
    if not np.isfinite(mean):
        return '<span class="bad">not finite</span>'
    digits = 1 if abs(mean) < 100 else 0
    mean_, low_, high_ = (f"{x:,.{digits}f}".replace("-", "−") for x in (mean, low, high))
    if len(per_seed) == 1:
        return f"<b>{mean_}</b>"
    return f'<b>{mean_}</b> <span class="interval">[{low_}, {high_}]</span>'


def _middle(run: Run) -> int:
    """The evaluation nearest to half of the steps taken."""
    return int(np.abs(run.steps - run.steps[-1] / 2).argmin())


def _runs(curves: Sequence[Curve]) -> list[Run]:
    return list({id(curve.run): curve.run for curve in curves}.values())


def _swatch(curve: Curve) -> str:
    return f'<span class="swatch" style="background:{curve.colour}"></span>'


def _nested(settings: Any) -> dict[str, dict[str, Any]]:
    nested: dict[str, dict[str, Any]] = {}
    for path, value in flat(settings).items():
        part, _, field = path.partition(".")
        nested.setdefault(part, {})[field] = list(value) if isinstance(value, tuple) else value
    return nested


def _yaml(content: Any) -> str:
    return yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True)


class _Dumper(yaml.SafeDumper):
    """Mappings line by line, lists in a line."""


_Dumper.add_representer(
    list, lambda dumper, x: dumper.represent_sequence("tag:yaml.org,2002:seq", x, flow_style=True)
)
