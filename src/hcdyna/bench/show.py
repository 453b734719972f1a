"""The record of a benchmark run for people: tables, and a figure of how speed scales."""

from statistics import median
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from rich.markup import escape
from rich.table import Table

from hcdyna.figures.curves import COLOURS, PAPER_NAMES, tidy
from hcdyna.numerics.memory import amount
from hcdyna.settings.words import count

PANELS = {
    "k": "climb steps k",
    "n": "planning updates n",
    "agents": "agents",
    "environment": "state variables d",
    "width": "units a hidden layer",
}
CENTRE = {"k": 100, "n": 10, "agents": 30, "environment": "GridWorld", "width": 32}
"""Where nothing is varied."""
VARIABLES = {"GridWorld": 2, "MountainCar": 2, "CartPole": 4, "Acrobot": 6}


def tables(record: dict[str, Any]) -> list[Table]:
    """All that was measured."""
    found = [grid_table(record), scaling_table(record)]
    return [*found, peers_table(record)] if record["peers"] else found


def headed(title: str, *headings: str, left: int = 1) -> Table:
    """A table whose first columns are words and whose others are numbers."""
    table = Table(title=escape(title), title_justify="left")
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="left" if place < left else "right")
    return table


def grid_table(record: dict[str, Any]) -> Table:
    """Strategies × n × agents; with kernels, beside the plain program."""
    both = any("plain_steps_per_second" in row for row in record["grid"])
    table = headed(
        f"GridWorld on {record['device']}",
        *("strategy", "n", "agents", "steps/s", "compiles in", "memory", "of peak"),
        *(("plain", "compiles in", "fused over plain") if both else ()),
    )
    for row in record["grid"]:
        name = PAPER_NAMES[row["strategy"]]
        plain: tuple[str, ...] = ()
        if "plain_steps_per_second" in row:
            plain = (
                f"{row['plain_steps_per_second']:,.0f}",
                f"{row['plain_compile_seconds']:.1f} s",
                f"{row['fused_over_plain']:.1f}",
            )
        table.add_row(name, str(row["n"]), f"{row['agents']:,}", *measured(row), *plain)
    return table


def scaling_table(record: dict[str, Any]) -> Table:
    """One number varied at a time."""
    table = headed(
        "HC-Dyna on GridWorld, k = 100, n = 10, 30 agents, width 32, with one of them varied",
        *("varied", "value", "steps/s", "compiles in", "memory", "of peak"),
        left=2,
    )
    for field, rows in record["scaling"].items():
        for place, row in enumerate(rows):
            value = row[field]
            if field == "environment":
                value = f"{VARIABLES[value]} ({value})"
            table.add_row("" if place else PANELS[field], str(value), *measured(row))
    return table


def measured(row: dict[str, Any]) -> tuple[str, ...]:
    """What was measured, as the cells of a table."""
    if "skipped" in row:
        return (f"skipped: {row['skipped']}", "", "", "")
    climbs = row["strategy"] == "hill_climbing"
    return (
        f"{row['steps_per_second']:,.0f}",
        f"{row['compile_seconds']:.1f} s",
        amount(row["peak_bytes"]),
        f"{100 * row['share_of_peak']:.2g}%" if climbs else "",
    )


def peers_table(record: dict[str, Any]) -> Table:
    """Ours over theirs."""
    table = headed(
        "Beside peers on one CPU thread, in turn: median of the rounds [range]",
        *("ours", "peer", "steps/s", "theirs", "ours over theirs"),
        left=2,
    )
    for row in record["peers"]:
        if "missing" in row:
            table.add_row("", row["peer"], "not installed", "", row["missing"])
            continue
        ours = row["ours"]
        agents = count(ours["agents"], "agent")
        table.add_row(
            f"{PAPER_NAMES[ours['strategy']]}, n = {ours['n']}, {agents}",
            row["peer"],
            f"{median(row['rates']):,.0f}",
            f"{median(row['theirs']):,.1f}",
            row["ratio"],
        )
    return table


def scaling_figure(record: dict[str, Any]) -> Figure:
    """Steps per second against each number that was varied, on logarithmic axes."""
    figure = Figure(figsize=(13, 3.2), layout="constrained")
    every_axes = figure.subplots(1, len(record["scaling"]), sharey=True, squeeze=False)[0]
    for axes, (field, rows) in zip(every_axes, record["scaling"].items(), strict=True):
        draw_series(axes, field, [row for row in rows if "skipped" not in row])
    every_axes[0].set_ylabel("environment steps per second")
    every_axes[0].legend(frameon=False, fontsize="small")
    figure.suptitle(
        f"HC-Dyna on {record['device']}, one number varied at a time "
        "(else GridWorld, k = 100, n = 10, 30 agents, width 32)",
        size="medium",
    )
    return figure


def draw_series(axes: Axes, field: str, rows: list[dict[str, Any]]) -> None:
    """One panel; hollow points are programs without the fused kernels where others have them.
    The dashed line goes through the centre: as many multiply-adds a second as there."""
    x = [VARIABLES[row[field]] if field == "environment" else row[field] for row in rows]
    y = [row["steps_per_second"] for row in rows]
    colour = COLOURS["HC-Dyna"]
    centre = [row for row in rows if CENTRE.items() <= row.items()]
    if centre:
        work = centre[0]["steps_per_second"] * centre[0]["multiply_adds"]
        even = [work / row["multiply_adds"] for row in rows]
        axes.plot(x, even, "--", color="#888888", linewidth=1, label="same multiply-adds/s")
    axes.plot(x, y, color=colour, linewidth=2, label="measured")
    fused = any(row["kernels"].startswith("fused") for row in rows)
    for x_of, y_of, row in zip(x, y, rows, strict=True):
        filled = row["kernels"].startswith("fused") or not fused
        axes.plot(x_of, y_of, "o", color=colour, markerfacecolor=colour if filled else "white")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(PANELS[field])
    axes.set_xticks(x, [f"{value:,}" for value in x])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.yaxis.set_minor_locator(NullLocator())
    tidy(axes)
