"""Cells: keys, files, merging, grouping into programs, and a small one that is really trained."""

import dataclasses
import json
import os

import jax
import numpy as np
import pytest

from hcdyna import DQN, HillClimbing, RunError, Settings, Training
from hcdyna.dyna import DynaState
from hcdyna.experiments.cells import Cell, CellStore, Result, joined
from hcdyna.experiments.paper import FIGURES, figure
from hcdyna.experiments.paper.scale import FULL, QUICK
from hcdyna.experiments.probes import CHANGES
from hcdyna.settings import Evaluation

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


def some_result(record=None):
    return Result(
        steps=np.array([20, 40]),
        returns=np.array([[-3.0, -2.0], [-4.0, -1.0]]),
        diverged=np.array([False, True]),
        seen={"share_40": np.ones((2, 3))},
        record=record or {"seconds": 1.0, "versions": {"device": "cpu"}},
    )


def test_a_key_tells_all_that_decides_the_result_and_nothing_else():
    cell = Cell(SMALL, 3)
    assert cell.key == Cell(with_training(kernels="off"), 3).key, "kernels only round differently"
    others = [
        Cell(SMALL, 4),
        Cell(with_training(steps=61), 3),
        Cell(SMALL, 3, "replay_and_queue", (40,)),
        Cell(SMALL, 3, change="negate_output", change_step=40),
    ]
    assert len({cell.key, *(other.key for other in others)}) == 5


def test_further_seeds_come_in_blocks_from_look_to_look():
    cell = Cell(SMALL, 30)
    assert cell.blocks(0) == cell.blocks(30) == [cell]
    found = cell.blocks(400)
    assert [(x.first_seed, x.seeds) for x in found] == [(0, 30), (30, 70), (100, 100), (200, 200)]
    assert found[0].key == cell.key, "what was trained before is the first block"
    assert [x.seeds for x in cell.blocks(1_000)[4:]] == [200, 200, 200], "which fit into memory"
    assert [x.seeds for x in Cell(SMALL, 3).blocks(30)] == [3, 27]


def test_blocks_are_joined_and_parted_by_seeds():
    first, second = some_result(), some_result({"seconds": 2.0})
    second.returns[:] = 7
    first.seen["few_40"] = second.seen["few_40"] = np.zeros((1, 5))
    both = joined([first, second])
    assert both.returns.shape == (4, 2)
    assert both.diverged.tolist() == [False, True, False, True]
    assert both.seen["share_40"].shape == (4, 3)
    assert both.seen["few_40"].shape == (1, 5), "large arrays are kept of the first seeds alone"
    assert both.record == first.record
    part = both.part(slice(1, 3))
    assert part.returns.tolist() == [[-4, -1], [7, 7]]
    assert part.seen["share_40"].shape == (2, 3)
    assert part.seen["few_40"].shape == (1, 5)


def test_a_cell_comes_back_as_it_was(tmp_path):
    store, cell = CellStore(tmp_path), Cell(SMALL, 2)
    assert not store.has(cell)
    store.save(cell, some_result())
    assert store.has(cell)
    found = store.load(cell)
    np.testing.assert_array_equal(found.returns, some_result().returns)
    np.testing.assert_array_equal(found.seen["share_40"], np.ones((2, 3)))
    assert found.diverged.tolist() == [False, True]
    assert found.record["settings"]["training"]["steps"] == 60


def test_stores_merge_and_the_first_one_keeps_its_own(tmp_path):
    here, there = CellStore(tmp_path / "here"), CellStore(tmp_path / "there")
    both, only_there = Cell(SMALL, 2), Cell(SMALL, 3)
    here.save(both, some_result({"seconds": 7.0}))
    for cell in (both, only_there):
        there.save(cell, some_result({"seconds": 9.0}))
    assert here.merge(tmp_path / "there") == 1
    assert here.load(both).record["seconds"] == 7.0
    assert here.load(only_there).record["seconds"] == 9.0
    with pytest.raises(RunError, match="no cells to merge"):
        here.merge(tmp_path / "nowhere")


def test_a_broken_cell_is_named(tmp_path):
    store, cell = CellStore(tmp_path), Cell(SMALL, 2)
    store.save(cell, some_result())
    (store.folder / f"{cell.key}.npz").write_bytes(b"not an archive")
    with pytest.raises(RunError, match=rf"{cell.key}\.json: can't be read .* delete it"):
        store.load(cell)


@pytest.mark.parametrize("place", [8, 10])
def test_a_cell_whose_archive_asks_for_the_impossible_is_named(place, tmp_path):
    """A password, or an unknown way of compression."""
    store, cell = CellStore(tmp_path), Cell(SMALL, 2)
    store.save(cell, some_result())
    path = store.folder / f"{cell.key}.npz"
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + place] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(RunError, match=rf"{cell.key}\.json: can't be read .* delete it"):
        store.load(cell)


@pytest.mark.parametrize("length", [0, 100, -30])
def test_a_cell_whose_numbers_are_cut_off_is_named(length, tmp_path):
    store, cell = CellStore(tmp_path), Cell(SMALL, 3)
    store.save(cell, some_result())
    arrays = tmp_path / "cells" / f"{cell.key}.npz"
    arrays.write_bytes(arrays.read_bytes()[:length])
    with pytest.raises(RunError, match=r"can't be read .* delete it"):
        store.load(cell)


def test_links_that_somebody_planted_beside_cells_are_not_followed(tmp_path):
    store, cell, victim = CellStore(tmp_path), Cell(SMALL, 3), tmp_path / "victim"
    victim.write_text("mine")
    store.folder.mkdir()
    for ending in (f"{os.getpid()}.npz", f"{os.getpid()}"):
        (store.folder / f"{cell.key}.{ending}").symlink_to(victim)
    store.save(cell, some_result())
    assert victim.read_text() == "mine"
    assert store.load(cell).returns.shape == (2, 2)


def test_negated_networks():
    """The online one alone, or the target too; every value changes its sign."""
    env = SMALL.environment.build()
    agent = SMALL.agent.build(env.spec)
    before = DynaState(agent.init(jax.random.key(0)), (), (), ())
    obs = np.array([0.3, 0.6], np.float32)
    for name, target_too in (("negate_output", False), ("negate_both", True)):
        after = CHANGES[name](before)
        for action in range(4):
            q, negated = (agent.q(x.agent, obs, action) for x in (before, after))
            np.testing.assert_allclose(negated, -q, rtol=1e-6)
        old, new = (x.agent._replace(params=x.agent.target) for x in (before, after))
        sign = -1 if target_too else 1
        np.testing.assert_allclose(agent.q(new, obs, 2), sign * agent.q(old, obs, 2), rtol=1e-6)


@pytest.mark.parametrize("scale", [FULL, QUICK], ids=lambda scale: scale.name)
@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_has_cells_that_can_be_kept(name, scale):
    cells = figure(name).cells(scale)
    assert cells
    for cell in cells.values():
        assert json.dumps(cell.plain())
        every = cell.settings.evaluation.every
        assert all(step % every == 0 for step in (*cell.probe_steps, cell.change_step))
        assert all(step <= cell.settings.training.steps for step in cell.probe_steps)
