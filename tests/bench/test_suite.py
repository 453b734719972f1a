"""The benchmark suite on a small scale: what it records, counts and says. Nothing about speed."""

import json
from dataclasses import replace

import pytest

from hcdyna import DQN, GridWorld, HillClimbing, Settings, Training
from hcdyna.bench import cases, counts, suite, versus
from hcdyna.bench.cases import Case
from hcdyna.bench.peers import Peer
from hcdyna.cli import main
from hcdyna.training import memory

SMALL = Case("hill_climbing", n=1, agents=1, k=4, width=8)
ABSENT = Peer("A peer of old", (("no_such_module", "no-such-package"),), lambda steps: 1.0, 1)
PRESENT = Peer("A peer", (("json", "json"),), lambda steps: 2.0 * steps, 10)


@pytest.fixture
def tiny(monkeypatch):
    """One small program, measured for an instant."""
    monkeypatch.setattr(suite, "CENTRE", SMALL)
    monkeypatch.setattr(counts, "SIDE", {"cpu": 64})
    monkeypatch.setattr(cases, "WARMUP", 50)
    peers = {ABSENT: (SMALL,), PRESENT: (SMALL,)}
    series = {"k": (4,), "agents": (1,)}
    plan = suite.Schedule((SMALL,), series, peers, rounds=3, seconds=0.001, peer_rounds=2)
    monkeypatch.setattr(suite, "QUICK", plan)


def test_a_run_leaves_a_record_and_a_figure_and_prints_tables(tiny, tmp_path, capsys):
    assert main(["bench", "--quick", "--out", str(tmp_path / "new")]) == 0
    printed = capsys.readouterr().out
    record = json.loads((tmp_path / "new" / "bench.json").read_text())
    assert (tmp_path / "new" / "scaling.png").read_bytes().startswith(b"\x89PNG")
    assert {"device", "versions", "commit", "started", "command", "seconds"} <= record.keys()
    assert record["multiply_adds_per_second"]["float32"] > 0
    (row,) = record["grid"]
    assert (row["strategy"], row["n"], row["agents"]) == ("hill_climbing", 1, 1)
    assert len(row["rates"]) == 3
    assert sorted(row["rates"])[1] == row["steps_per_second"] > 0
    assert row["compile_seconds"] > 0
    held = cases.REPLAY_SIZE * 28 + cases.QUEUE_SIZE * 8  # (s, a, r, γ, s′) and s, of 4 bytes each
    assert held < row["peak_bytes"] < 2 * held
    assert record["scaling"] == {"k": [row], "agents": [row]}, "measured once"
    assert max(map(len, printed.splitlines())) <= 100
    assert "HC-Dyna" in printed
    absent, present = record["peers"]
    assert absent == {"peer": "A peer of old", "missing": "pip install no-such-package"}
    assert "A peer of old: not installed" in printed
    assert present["theirs"] == [20.0] * 2
    assert present["ratios"] == pytest.approx([rate / 20 for rate in present["rates"]])


def test_multiply_adds_of_a_step():
    settings = Settings(
        environment=GridWorld(),
        agent=DQN(hidden=(32, 16)),
        search_control=HillClimbing(steps=100),
        training=Training(planning_steps=10, batch_size=8),
    )
    forward = 2 * 32 + 32 * 16 + 16 * 4
    assert counts.forward(settings) == forward == 640
    assert counts.multiply_adds(settings) == 100 * 2 * 640 + 10 * 8 * 4 * 640
    replayed = replace(settings, search_control="replay")
    assert counts.multiply_adds(replayed) == 10 * 8 * 4 * 640


def test_a_cell_that_does_not_fit_is_skipped_with_the_reason(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 1_000_000_000)
    said = []
    many = replace(SMALL, agents=1_001)
    bench = suite.Suite(suite.Schedule((), {}, {}, rounds=1, seconds=0.001), said.append)
    bench.begin(many, "many")
    assert bench.results[many].record(1.0)["skipped"].startswith("needs 1.66 GB, and 1 GB are free")
    assert "skipped, needs 1.66 GB" in said[0]


def test_both_plans_measure_what_the_peers_are_compared_with():
    for plan in (suite.FULL, suite.QUICK):
        assert {case for group in versus.GROUPS.values() for case in group} <= set(plan.grid)
        for field, values in plan.series.items():
            assert getattr(suite.CENTRE, field) in values


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--quik",), "did you mean --quick?"),
        (("--out", "/proc/nothing/here"), "can't be written"),
        (("--rounds", "3"), "unknown option --rounds"),
    ],
)
def test_bad_input_is_answered_in_one_line(arguments, said, capsys):
    assert main(["bench", *arguments]) == 2
    answer = capsys.readouterr().err
    assert answer.startswith("hcdyna: ")
    assert answer.count("\n") == 1
    assert said in answer


def test_help_teaches(capsys):
    assert main(["bench", "--help"]) == 0
    printed = capsys.readouterr().out
    assert "usage: hcdyna bench" in printed
    assert "--quick" in printed
