"""Every agent, model, strategy and kind of environment, with all that one does with a run.

TABLE says what goes together; everything else must be refused in one line. Each combination is
trained from the shell into a folder, interrupted and resumed, evaluated, drawn, filmed, reported,
exported, and its policy saved and loaded. A few cover every agent, model and kind; `pytest -m slow`
walks the others.
"""

import itertools
import re
from dataclasses import dataclass

import numpy as np
import pytest

import hcdyna
from hcdyna import Hosted, Settings, SettingsError
from hcdyna.cli import main
from hcdyna.dyna import build
from hcdyna.numerics.files import read_arrays
from hcdyna.runs import saving
from hcdyna.runs.store import Store
from hcdyna.settings import presets, registry

ANY_STATES = ("replay", "on_policy", "uniform", "hill_climbing", "prioritised_replay", "rollouts")
CONTINUOUS_STATES = (*ANY_STATES, "continuous_gibbs", "td_error", "frequency")
TABLE_STATES = ("tabular_hill_climbing", "gibbs", "visited_pairs", "prioritised_sweeping")


@dataclass(frozen=True)
class Kind:
    """A kind of environment, and what goes with it."""

    options: tuple[str, ...]
    agents: tuple[str, ...]
    models: tuple[str, ...]
    strategies: tuple[str, ...]

    @property
    def environment(self):
        """As in `Settings`."""
        if "--env.processes" in self.options:
            return Hosted(self.options[0], processes="on")
        return self.options[0]


TABLE = {
    "compiled": Kind(
        ("GridWorld", "--env.time-limit", "20"),
        ("dqn",),
        ("true", "learned"),
        (*CONTINUOUS_STATES, "visited_pairs"),
    ),
    "tabular": Kind(
        ("TabularGridWorld", "--env.time-limit", "20"),
        ("tabular",),
        ("true", "counted"),
        (*ANY_STATES, *TABLE_STATES),
    ),
    "continuous": Kind(
        ("GridWorldContinuous", "--env.time-limit", "20"),
        ("ddpg",),
        ("true", "learned"),
        CONTINUOUS_STATES,
    ),
    "hosted": Kind(
        ("CartPole-v1",),
        ("dqn",),
        ("learned",),
        (*CONTINUOUS_STATES, "visited_pairs"),
    ),
    "hosted continuous": Kind(("Pendulum-v1",), ("ddpg",), ("learned",), CONTINUOUS_STATES),
    "hosted in processes": Kind(
        ("CartPole-v1", "--env.processes", "on"),
        ("dqn",),
        ("learned",),
        (*CONTINUOUS_STATES, "visited_pairs"),
    ),
}
CELLS = [
    (kind, *parts)
    for kind, row in TABLE.items()
    for parts in itertools.product(row.agents, row.models, row.strategies)
]
COVER = [
    ("compiled", "dqn", "learned", "hill_climbing"),
    ("tabular", "tabular", "counted", "prioritised_sweeping"),
    ("continuous", "ddpg", "true", "td_error"),
    ("hosted", "dqn", "learned", "replay"),
]
SLOW_COVER = [
    ("hosted", "dqn", "learned", "rollouts"),
    ("hosted continuous", "ddpg", "learned", "hill_climbing"),
    ("hosted in processes", "dqn", "learned", "replay"),
]
"""Every agent, model and kind at least once; the slow walk knows every strategy with each kind."""
SMALL = [
    *("--steps", "60", "--warmup", "20", "--evaluation.every", "20", "--planning-steps", "2"),
    *("--batch-size", "4", "--replay-size", "50", "--seeds", "2", "--quiet"),
]


def test_the_walks_cover_every_part_and_kind():
    for place, group in ((1, "agents"), (2, "models")):
        assert {cell[place] for cell in COVER} == set(registry.PARTS[group])
    assert {cell[0] for cell in (*COVER, *SLOW_COVER)} == set(TABLE)
    assert {*COVER, *SLOW_COVER} <= set(CELLS)
    for kind, row in TABLE.items():
        walked = {cell[3] for cell in (*COVER, *SLOW_COVER, *OTHERS) if cell[0] == kind}
        assert walked == set(row.strategies) or kind == "hosted in processes"


@pytest.mark.parametrize("kind", TABLE)
def test_all_others_are_refused_in_one_line(kind):
    groups = (registry.PARTS[group] for group in ("agents", "models", "search_control"))
    for agent, model, strategy in itertools.product(*groups):
        settings = Settings(TABLE[kind].environment, agent, model, strategy)
        if (kind, agent, model, strategy) in CELLS:
            build(settings)
            continue
        with pytest.raises(SettingsError) as refusal:
            build(settings)
        assert "\n" not in str(refusal.value)
        parts = ("environment", "agent", "model", "search_control")
        assert str(refusal.value).startswith(tuple(f"{part} = " for part in parts))


@pytest.mark.parametrize("cell", COVER, ids=" ".join)
def test_what_one_does_with_a_run(cell, tmp_path, capsys, monkeypatch):
    walk(cell, tmp_path, capsys, monkeypatch)


def is_like_another(cell):
    """A process of its own differs from this one in where `step` is called, and strategies know
    nothing of where outcomes come from: each is walked with what COVER names."""
    kind, _, model, _ = cell
    learned = model == "learned" and not kind.startswith("hosted")
    return kind == "hosted in processes" or learned


OTHERS = [cell for cell in CELLS if cell not in (*COVER, *SLOW_COVER) and not is_like_another(cell)]


@pytest.mark.slow
@pytest.mark.parametrize("cell", [*SLOW_COVER, *OTHERS], ids=" ".join)
def test_what_one_does_with_every_other_run(cell, tmp_path, capsys, monkeypatch):
    walk(cell, tmp_path, capsys, monkeypatch)


def walk(cell, tmp_path, capsys, monkeypatch):
    """One combination, from the shell and from Python."""
    kind, agent, model, strategy = cell
    monkeypatch.setattr(saving, "SAVING_SHARE", 1e9)  # after every evaluation
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    choices = ["--agent", agent, "--model", model, "--search-control", strategy]
    train = ["train", "--env", *TABLE[kind].options, *choices, *SMALL]
    assert main([*train, "--out", str(whole)]) == 0

    settings = hcdyna.load(whole).settings[0]
    with pytest.raises(OSError, match="power"):
        hcdyna.train(settings, seeds=2, out=stopped, on_chunk=power_fails_after(20))
    assert Store.open(stopped).progress().steps == [20]
    assert main(["resume", str(stopped), "--quiet"]) == 0
    assert same_files(whole, stopped)

    for command in (
        ["eval", str(whole), "--episodes", "1"],
        ["diagnose", str(whole)],
        ["plot", str(whole), "--out", str(tmp_path / "curves.png")],
        ["plot", str(whole), "--what", "agent", "--out", str(tmp_path / "agent.png")],
        ["watch", str(whole), "--out", str(tmp_path / "episode.gif"), "--epsilon", "0.5"],
        ["report", str(whole), str(stopped), "--out", str(tmp_path / "report.html")],
        ["export", str(whole), "--csv", "--out", str(tmp_path / "curves.csv")],
        ["list", "runs", "--folder", str(tmp_path)],
    ):
        assert main(command) == 0, command
    printed = capsys.readouterr()
    # Gymnasium's own environments need pygame to draw themselves, and are shown by their variables.
    assert [line for line in printed.err.splitlines() if "can't be drawn" not in line] == []
    assert len(re.findall("│ +60 │", printed.out)) == 2, "both are listed as finished"
    for name in ("curves.png", "agent.png", "episode.gif", "report.html"):
        assert (tmp_path / name).stat().st_size > 1_000
    rows = (tmp_path / "curves.csv").read_text().splitlines()
    assert len(rows) == 1 + 2 * 3

    run = hcdyna.load(whole)
    policy = run.agent(seed=1)
    again = hcdyna.load(policy.save(tmp_path / "policy.safetensors"))
    obs = run.state(1).replay.data.obs[:5]
    np.testing.assert_array_equal(again.predict(obs), policy.predict(obs))
    np.testing.assert_array_equal(again.value(obs), policy.value(obs))
    assert np.isfinite(policy.value(obs)).all()
    assert presets.dump(again.settings) == presets.dump(run.settings[0])


def power_fails_after(step):
    def on_chunk(progress):
        if progress.steps[-1] == step:
            raise OSError("the power failed")

    return on_chunk


def same_files(one, other):
    """Curves and final states of two runs are equal bit for bit."""
    a, b = (read_arrays(Store.open(run).checkpoints()[0]) for run in (one, other))
    curves = [
        [read_arrays(path) for path in sorted((run / "curves").iterdir())] for run in (one, other)
    ]
    assert len(curves[0]) == len(curves[1]) == 3
    return all(
        x.keys() == y.keys() and all(np.array_equal(x[k], y[k], equal_nan=True) for k in x)
        for x, y in zip([a, *curves[0]], [b, *curves[1]], strict=True)
    )
