"""Cells with looks and changes, trained by a worker; and figures of the paper as studies."""

import dataclasses
import math
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import jax
import numpy as np
import pytest

from hcdyna import DQN, HillClimbing, LearnedModel, Settings, Training
from hcdyna.cli import main
from hcdyna.experiments import running, unfinished
from hcdyna.experiments.cells import Cell, CellStore
from hcdyna.experiments.paper import fig6
from hcdyna.experiments.paper.reproduce import Reproduction
from hcdyna.numerics.devices import available_cores, keep_compiled_programs
from hcdyna.runs.saving import interruptions
from hcdyna.settings import Evaluation
from hcdyna.settings.errors import SettingsError
from hcdyna.sweeps import compiling, paper, planning
from hcdyna.sweeps import worker as workers
from hcdyna.sweeps.store import SweepStore
from hcdyna.sweeps.study import Asked, Study
from hcdyna.sweeps.worker import Requeue, Worker

SMALL = Settings(
    agent=DQN(learning_rate=1e-3, hidden=(8, 8)),
    search_control=HillClimbing(steps=5, queue_size=200),
    training=Training(steps=60, warmup=20, planning_steps=2, replay_size=100, batch_size=8),
    evaluation=Evaluation(every=20),
)
DEVICE_SETTINGS = ("XLA_FLAGS", "JAX_NUM_CPU_DEVICES")
"""Of the tests themselves."""


def with_training(**changes):
    return dataclasses.replace(SMALL, training=dataclasses.replace(SMALL.training, **changes))


def asked(cells):
    return [Asked({"cell": number}, cell) for number, cell in enumerate(cells)]


def store_of(cells, folder):
    """A store with tasks for some cells, as a process that trains them itself would have."""
    keep_compiled_programs()
    store = SweepStore.create(folder)
    groups = planning.by_program(asked(cells))
    together = {name: planning.together_here(group, False) for name, group in groups.items()}
    store.add(Study("cells"), [cell.key for cell in cells], planning.split(groups, together))
    return store


def train(cells, folder, say=lambda line: None, ahead=0):
    with interruptions() as stop:
        Worker(store_of(cells, folder), say, stop, ahead=ahead).work()
    return CellStore(folder)


def test_cells_share_a_program_where_they_can():
    cells = [
        Cell(SMALL, 2),
        Cell(dataclasses.replace(SMALL, agent=DQN(learning_rate=1e-4, hidden=(8, 8))), 2),
        Cell(with_training(mixing_rate=0.25), 2),
        Cell(with_training(planning_steps=1), 2),
        Cell(SMALL, 2, "replay_and_queue", (40,)),
        Cell(with_training(planning_steps=0), 2),
    ]
    groups = planning.by_program(asked(cells)).values()
    assert [len(group) for group in groups] == [3, 1, 1, 1], "another n is slow to wait for"
    groups = planning.by_program(asked(cells), on_gpu=True).values()
    assert [len(group) for group in groups] == [4, 1, 1], "a kernel of a GPU does not wait"
    learned = [
        Cell(dataclasses.replace(each.settings, model=LearnedModel()), 2)
        for each in (cells[0], cells[2], cells[3])
    ]
    groups = planning.by_program(asked(learned), on_gpu=True).values()
    assert [len(group) for group in groups] == [2, 1], "but a model would answer for the largest n"


def test_as_many_cells_are_trained_at_once_as_fit_into_memory(monkeypatch):
    group = asked([Cell(SMALL, 20)] * 100)
    agents = sum(planning.memory.needed(running.trainer_of([group[0].cell]).shapes).values())
    assert planning.together_here(group, on_gpu=False) == planning.MOST_AGENTS // 20
    assert planning.together_here(group, on_gpu=True) == planning.MOST_AGENTS_ON_GPU // 20
    monkeypatch.setattr(planning.memory, "available", lambda: 5 * agents)
    assert planning.together_here(group, on_gpu=False) == 3
    monkeypatch.setattr(planning.memory, "available", lambda: 1)
    assert planning.together_here(group, on_gpu=False) == 1
    monkeypatch.setattr(planning.memory, "available", lambda: None)
    assert planning.together_here(group, on_gpu=False) == planning.MOST_AGENTS // 20


def test_training_looks_changes_saves_and_is_not_done_twice(tmp_path):
    cells = [
        Cell(SMALL, 2, "replay_and_queue", (40, 60)),
        Cell(SMALL, 2),
        Cell(SMALL, 2, change="negate_output", change_step=40),
    ]
    lines: list[str] = []
    store = train(cells, tmp_path, lines.append, ahead=1)
    assert any(line.startswith("[2/3] cell=1: 60 steps, mean return") for line in lines)
    seen, plain, flipped = (store.load(cell) for cell in cells)
    assert seen.seen["replay_share_40"].shape == (2, 6)
    assert seen.seen["queue_60"].shape == (2, 2_000, 2)
    np.testing.assert_array_equal(seen.returns, plain.returns)
    np.testing.assert_array_equal(flipped.returns[:, :2], plain.returns[:, :2])
    assert plain.steps.tolist() == [20, 40, 60]
    assert plain.record["kernels"].startswith(("plain", "fused"))
    took = store.seconds()
    assert took.keys() == {cell.key for cell in cells}
    assert min(took.values()) > 0
    (tmp_path / "done/damaged.json").write_text("{}")
    assert store.seconds() == took
    lines.clear()
    train(cells, tmp_path, lines.append)
    assert not lines, "nothing is run again"


def test_blocks_of_seeds_are_trained_together_and_come_out_as_alone(tmp_path):
    look = {"probe": "replay_and_queue", "probe_steps": (40,)}
    other_rate = dataclasses.replace(SMALL, agent=DQN(learning_rate=2e-3, hidden=(8, 8)))
    cells = [
        Cell(settings, seeds, first_seed=first, **look)
        for settings in (SMALL, other_rate)
        for first, seeds in ((0, 2), (2, 3))
    ]
    together = train(cells, tmp_path / "together")
    (task,) = store_of(cells, tmp_path / "tasks").tasks()
    assert task.agents == 10
    for number, cell in enumerate(cells):
        mine = together.load(cell)
        alone = train([cell], tmp_path / f"alone-{number}").load(cell)
        np.testing.assert_array_equal(mine.returns, alone.returns)
        np.testing.assert_array_equal(mine.diverged, alone.diverged)
        assert mine.seen.keys() == alone.seen.keys()
        for name, x in mine.seen.items():
            np.testing.assert_array_equal(x, alone.seen[name], err_msg=name)


@pytest.mark.usefixtures("usual_signals")
def test_an_interrupted_program_goes_on_bit_for_bit(tmp_path, monkeypatch):
    monkeypatch.setattr(unfinished, "SECONDS", 0.0)
    look = {"probe": "replay_and_queue", "probe_steps": (24, 60)}
    change = {"change": "negate_output", "change_step": 36}
    often = dataclasses.replace(SMALL, evaluation=Evaluation(every=12))
    other_rate = dataclasses.replace(often, agent=DQN(learning_rate=2e-3, hidden=(8, 8)))
    cells = [Cell(settings, 2, **look, **change) for settings in (often, other_rate)]
    whole = train(cells, tmp_path / "whole")

    def press(line):
        if "48 steps" in line:
            os.kill(os.getpid(), signal.SIGINT)

    said = []
    with pytest.raises(Requeue, match="the same command goes on from there"):
        train(cells, tmp_path / "parts", press)
    parts = train(cells, tmp_path / "parts", said.append)
    assert any("going on from step 48" in line for line in said)
    assert not list((tmp_path / "parts/unfinished").iterdir()), "nothing is left over"
    for cell in cells:
        one, other = whole.load(cell), parts.load(cell)
        np.testing.assert_array_equal(one.returns, other.returns)
        assert one.seen.keys() == other.seen.keys() != set()
        for name, x in one.seen.items():
            np.testing.assert_array_equal(x, other.seen[name])


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="Linux counts memory mappings")
def test_programs_are_let_go_of(tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "KEPT", 1)
    cells = [Cell(with_training(planning_steps=n), 1) for n in range(1, 6)]
    found = []

    def count(line):
        if "60 steps" in line:
            found.append(len(Path("/proc/self/maps").read_text().splitlines()))

    train(cells, tmp_path, count)
    assert len(found) == 5
    assert found[-1] - found[1] < 300, "a process that keeps every program can't have a hundred"


@pytest.mark.parametrize("seeds", [1, 2])
def test_what_is_compiled_ahead_is_what_will_be_called(seeds):
    """On one device, too, where JAX describes in other words how arrays lie on it."""
    trainer = running.trainer_of([Cell(SMALL, seeds)])
    programs, given = trainer.programs, (trainer.seed_of_agent, trainer.numbers)
    ahead = compiling.given_back(trainer, programs.init.lower(*given).compile().output_shardings)
    lives = programs.init(*given)
    for x, y in zip(jax.tree.leaves(ahead), jax.tree.leaves(lives), strict=True):
        assert (x.shape, x.dtype, x.sharding) == (y.shape, y.dtype, y.sharding)


def test_workers_that_share_a_gpu_compile_in_fewer_threads(monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(os, "cpu_count", lambda: 16)
    keep_compiled_programs()
    assert compiling.idle_cores(alone=False) == compiling.MOST_THREADS
    monkeypatch.setenv(compiling.COMPILERS, "1")
    assert compiling.idle_cores(alone=False) == 1


def test_a_few_programs_are_compiled_ahead_and_each_once(tmp_path, monkeypatch):
    cells = [
        Cell(with_training(planning_steps=n, steps=60 + 20 * m), 1)
        for n in (1, 2, 3)
        for m in (0, 1)
    ]
    tasks, done = store_of(cells, tmp_path).tasks(), []
    hold = threading.Event()

    def compile_task(task):
        hold.wait()
        done.append(task)

    monkeypatch.setattr(compiling, "compile_task", compile_task)
    ahead = compiling.Ahead(threads=1)
    ahead.compile(tasks)
    ahead.compile(tasks)
    assert len(ahead.begun) == 2, "other workers may take the rest"
    hold.set()
    for task in tasks:
        ahead.wait_for(task)
    ahead.compile(tasks)
    assert len(ahead.begun) == 4
    ahead.close()
    none = compiling.Ahead(threads=0)
    none.compile(tasks)
    assert not none.begun
    assert done[:2] == tasks[:2]


def small_fig6(scale):
    """One agent of DDPG, and two with on-policy planning."""
    settings = Settings(
        environment="TabularGridWorld",
        agent="tabular",
        search_control="replay",
        training=Training(steps=60, warmup=0, planning_steps=1, batch_size=1),
        evaluation=Evaluation(every=20),
    )
    on_policy = dataclasses.replace(settings, search_control="on_policy")
    return {"DDPG": Cell(settings, 1), "DDPG-OnPolicy-Dyna": Cell(on_policy, 2)}


@pytest.fixture
def small_figure(tmp_path, monkeypatch):
    """A figure of small cells, and what is said of it."""
    monkeypatch.setattr(fig6, "cells", small_fig6)
    said: list[str] = []
    return Reproduction(tmp_path / "paper", "quick", said.append), said


def test_a_figure_is_a_study_of_its_store(small_figure):
    made, said = small_figure

    def train(study, seconds):
        return paper.train_here(made, study, seconds)

    assert paper.train_figures(made, ["fig6"], train, seconds=0) == 2
    assert not made.folder.exists(), "with no time at all, nothing is even planned"
    assert paper.train_figures(made, ["fig6"], train, seconds=1e-9) == 2
    assert paper.train_figures(made, ["fig6"], train) == 0
    assert said[0].startswith("paper: 3 agents in 2 cells")
    assert made.gaps(["fig6"]) == ""
    assert made.cost(list(made.cells("fig6").values())).endswith(" s on cpu")
    before = sorted(made.folder.rglob("*"))
    assert paper.train_figures(made, ["fig6"], lambda *_: pytest.fail("nothing is missing")) == 0
    assert sorted(made.folder.rglob("*")) == before


def test_only_the_cells_that_were_asked_for_are_trained(small_figure):
    made, _ = small_figure
    some = {"figures": {"fig6": ["DDPG"]}, "scale": "quick"}
    paper.add(Study("paper", paper={**some, "figures": ["fig6"]}), made.folder, calibrate=False)
    end = paper.train_here(made, Study("paper", paper=some), math.inf)
    assert (end.done, end.total) == (1, 2), "the other one is left to who asked for it"
    assert made.missing("fig6") == ["DDPG-OnPolicy-Dyna"]


def test_a_label_that_a_figure_does_not_have_is_named():
    about = {"figures": {"fig6": ["DDPG-HCDyna"]}}
    with pytest.raises(SettingsError, match="fig6 has no cell 'DDPG-HCDyna'; did you mean DDPG-HC"):
        Study("paper", paper=about).cells()


def test_cells_that_fail_are_told_and_tried_again_by_the_next_call(
    small_figure, monkeypatch, capsys
):
    made, _ = small_figure
    real = workers.live

    def fail(*given):
        raise ValueError("a fault")

    monkeypatch.setattr(workers, "live", fail)
    words = ["reproduce", "fig6", "--out", str(made.folder), "--runs-only"]
    assert main(words) == 2
    captured = capsys.readouterr()
    assert "ValueError: a fault" in captured.out
    assert "2 cells failed; the same command tries again" in captured.err
    monkeypatch.setattr(workers, "live", real)
    assert main(words) == 0
    assert made.gaps(["fig6"]) == ""


COUNT_DEVICES = """
import dataclasses, sys
from pathlib import Path
import jax
from hcdyna import Settings
from hcdyna.experiments.cells import Cell
from hcdyna.experiments.paper import fig6
from hcdyna.experiments.paper.reproduce import Reproduction
from hcdyna.sweeps import paper
from hcdyna.sweeps.study import Study

fig6.cells = lambda scale: {{"one": Cell(Settings(), {seeds})}}
made = Reproduction(Path(sys.argv[1]), "quick")
paper.train_here(made, Study("paper", paper={{"figures": ["fig6"]}}), 0)
print(jax.local_device_count())
"""


@pytest.mark.parametrize("few", [True, False])
def test_many_agents_are_trained_on_every_core(few, tmp_path):
    cores = available_cores()
    code = COUNT_DEVICES.format(seeds=1 if few else 2 * cores)
    environment = {k: v for k, v in os.environ.items() if k not in DEVICE_SETTINGS}
    found = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "store")],
        env=environment, text=True, capture_output=True, check=True,
    )  # fmt: skip
    assert found.stdout.split()[-1] == ("1" if few else str(cores))
