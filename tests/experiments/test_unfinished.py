"""How often a program on its way is saved, and what is kept of it."""

import threading

import pytest

from hcdyna import Settings, Training
from hcdyna.experiments import running, unfinished
from hcdyna.experiments.cells import Cell
from hcdyna.experiments.unfinished import Unfinished
from hcdyna.runs.saving import SAVING_SHARE
from hcdyna.settings import Evaluation


@pytest.fixture
def make_unfinished(tmp_path):
    """A program of one small cell with a probe, and how often it was published."""

    def make() -> tuple[Cell, Unfinished, list[int]]:
        settings = Settings(
            training=Training(steps=60, warmup=0, planning_steps=0, replay_size=100, batch_size=8),
            evaluation=Evaluation(every=10),
        )
        cell = Cell(settings, 1, "replay_and_queue", (10,))
        published: list[int] = []
        trainer = running.trainer_of([cell])
        kept = Unfinished(tmp_path / "kept", trainer, lambda: published.append(1))
        return cell, kept, published

    return make


def test_what_is_cheap_to_save_is_saved_often_and_what_is_dear_seldom(make_unfinished):
    _, kept, _ = make_unfinished()
    assert kept.cost < 1.0, "it is small"
    kept.cost = 0.0
    assert kept.pause == unfinished.FEWEST_SECONDS
    kept.cost = 0.1
    assert kept.pause == pytest.approx(0.1 / SAVING_SHARE)
    kept.cost = 1e6
    assert kept.pause == unfinished.SECONDS


def test_every_save_is_published_and_only_the_newest_two_are_kept(make_unfinished, monkeypatch):
    monkeypatch.setattr(unfinished, "SECONDS", 0.0)
    cell, kept, published = make_unfinished()
    running.live([cell], kept.trainer, kept, lambda line: None, threading.Event())
    assert len(published) == 6
    for folder, pattern in (("checkpoints", "step-*.npz"), (".", "seen-*.npz")):
        assert len(list((kept.folder / folder).glob(pattern))) == 2
    assert kept.resumed(1)[0] == 60
