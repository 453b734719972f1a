"""What a page holds, read as text; how it behaves is tested in a browser."""

import dataclasses
import json
import re

import numpy as np
import plotly.graph_objects as go
import pytest

from hcdyna import Hosted
from hcdyna.figures.charts import DIAGNOSTICS
from hcdyna.figures.report import write_report
from hcdyna.figures.tables import command
from hcdyna.runs.store import Store


def written(path):
    """The page as text, without the code of plotly, and its data."""
    text = path.read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    scripts = text.index("<script>")
    return text[:scripts], json.loads(found[1], parse_constant=lambda name: pytest.fail(name))


def rows_of(text):
    """The cells of every row of every table."""
    rows = re.findall(r"<tr>(.*?)</tr>", text, re.S)
    return [re.findall(r"<td(?: [^>]*)?>(.*?)</td>", row) for row in rows]


def test_a_page_holds_curves_table_differences_settings_and_commands(run, made_up, tmp_path):
    path = write_report([run, made_up], tmp_path / "new" / "page.html")
    text, data = written(path)
    assert "<title>GridWorld: HC-Dyna · DQN</title>" in text
    kinds = [trace.get("meta") for trace in data["curves"][0]["traces"]]
    assert kinds == ["band", "mean", "seeds"] * 2
    assert len(data["curves"][0]["traces"][5]["x"]) == 4 * (5 + 1)
    head = re.findall(r"<th(?: [^>]*)?>(.*?)</th>", text)
    assert head[:6] == [
        "algorithm",
        "agents",
        "diverged",
        "after 40 steps",
        "after 100 steps",
        "over the whole run",
    ]
    assert ["search_control.name", "hill_climbing", "replay"] in rows_of(text)
    record = Store.open(run.folder).record
    assert record["versions"]["jaxlib"] in text
    assert f"hcdyna.load(&#x27;{run.folder}&#x27;)" in text
    assert "queue_size: 300" in text
    names = [chart["name"] for chart in data["diagnostics"]]
    assert names == ["loss", "mean_q", "epsilon_a", "accepted", "hit_edge", "queue_size"]
    [panel] = data["panels"]
    assert [shot["step"] for shot in panel["snapshots"]] == [20, 40, 60, 80, 100]
    assert path.stat().st_size < 8e6


def test_plotly_knows_every_option_that_is_used(run, broken, tmp_path):
    _, data = written(write_report([run, broken], tmp_path / "page.html"))
    for chart in (*data["curves"], *data["diagnostics"]):
        figure = go.Figure(chart["traces"], chart["layout"])  # refuses what it does not know
        assert len(figure.data) == len(chart["traces"]) > 0


def test_diverged_agents_are_counted_and_their_numbers_are_gaps(broken, tmp_path):
    text, data = written(write_report(broken, tmp_path / "page.html"))
    assert '<span class="bad">2 of 4</span>' in text
    assert '<span class="bad">not finite</span>' in text
    crosses = next(t for t in data["curves"][0]["traces"] if t["meta"] == "diverged")
    assert (crosses["x"], crosses["customdata"], crosses["y"][1]) == ([60, 100], [1, 2], None)
    mean = next(t for t in data["curves"][0]["traces"] if t["meta"] == "mean")
    assert mean["y"][-1] is None
    assert None not in data["diagnostics"][0]["traces"][1]["y"]


def elsewhere(run, environment):
    """The same numbers, as if from another environment."""
    settings = [dataclasses.replace(run.settings[0], environment=environment, model="learned")]
    return dataclasses.replace(run, settings=settings)


def test_every_environment_has_axes_of_its_own(made_up, tmp_path):
    pole = elsewhere(made_up, Hosted("CartPole-v1"))
    text, data = written(write_report([made_up, pole], tmp_path / "page.html"))
    assert [chart["title"] for chart in data["curves"]] == ["GridWorld", "CartPole-v1"]
    assert [len(chart["traces"]) for chart in data["curves"]] == [3, 3]
    for number, world in enumerate(("GridWorld", "CartPole-v1")):
        assert f'<h3>{world}</h3><div id="curves-{number}"' in text
    titles = [chart["title"] for chart in data["diagnostics"]]
    assert titles == ["GridWorld: Loss", "CartPole-v1: Loss"]
    assert "<title>GridWorld, CartPole-v1: " in text
    assert ["environment.name", "GridWorld", "CartPole-v1"] in rows_of(text)
    assert "hosted" not in text.lower()


@dataclasses.dataclass(frozen=True)
class Gone:
    """An environment of somebody else that can't be built here."""

    def build(self):
        raise ModuleNotFoundError("somebody")


def test_a_page_needs_no_code_that_a_run_names(run, tmp_path):
    """The snapshots alone say where the box is."""
    _, data = written(write_report(run, tmp_path / "page.html"))
    settings = [dataclasses.replace(run.settings[0], environment=Gone())]
    text, again = written(
        write_report(dataclasses.replace(run, settings=settings), tmp_path / "gone.html")
    )
    assert "<title>Gone: HC-Dyna</title>" in text
    [known], [unknown] = data["panels"], again["panels"]
    assert (known["low"], known["high"]) == ([0, 0], [1, 1])
    assert known["surface"]
    assert known["snapshots"] == unknown["snapshots"]
    assert unknown["variables"] == ["variable 0", "variable 1"]


def test_one_seed_has_no_interval_and_an_empty_run_no_curve(single, empty, tmp_path):
    text, data = written(write_report(single, tmp_path / "single.html"))
    assert [t["meta"] for t in data["curves"][0]["traces"]] == ["mean", "seeds"]
    assert 'class="interval"' not in text
    assert "One seed has no interval" in text
    text, data = written(write_report(empty, tmp_path / "empty.html"))
    assert "No evaluations yet." in text
    assert data["curves"] == data["diagnostics"] == data["panels"] == []


def test_what_comes_from_a_user_is_escaped(run, tmp_path):
    evil = "</script><script>alert('hc')</script><b>"
    text, data = written(write_report(run, tmp_path / "page.html", labels=[evil]))
    assert "<script" not in text.replace("<style", "")
    assert data["panels"][0]["label"] == evil
    assert data["curves"][0]["traces"][0]["name"].startswith("&lt;/script&gt;")
    assert (tmp_path / "page.html").read_text().count("alert('hc')</script>") == 0


def test_a_large_comparison_stays_small(made_up, tmp_path):
    shape = (20, 10, 700)
    steps = np.arange(1, shape[2] + 1) * 100
    returns = np.random.default_rng(0).normal(size=(*shape, 1)).cumsum(axis=2)
    agent = made_up.settings[0].agent
    rates = np.geomspace(1e-5, 1e-2, shape[0]).tolist()
    agents = [dataclasses.replace(agent, learning_rate=rate) for rate in rates]
    large = dataclasses.replace(
        made_up,
        settings=[dataclasses.replace(made_up.settings[0], agent=agent) for agent in agents],
        seeds=list(range(shape[1])),
        steps=steps,
        returns=returns,
        lengths=returns,
        info=[dict.fromkeys(DIAGNOSTICS, returns[:, :, 0, 0])] * shape[2],
        diverged=np.zeros(shape, bool),
    )
    path = write_report(large, tmp_path / "page.html")
    # Four panels of twenty snapshots add less than 1 MB.
    assert path.stat().st_size < 7e6
    _, data = written(path)
    assert [trace["x"][-1] for trace in data["curves"][0]["traces"][1::3]] == [70_000] * 20


def test_the_command_is_shown_as_it_was_typed():
    assert command(["/usr/bin/hcdyna", "train", "--out", "my run"]) == "hcdyna train --out 'my run'"
    assert command(["/x/hcdyna/__main__.py", "train"]) == "python -m hcdyna train"
    assert command(["demo.py"]) == "python demo.py"
    for nothing in (None, [], [""], ["-c"], "train"):
        assert command(nothing) == ""
