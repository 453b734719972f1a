"""Settings and runs of before: read as they were meant, and known by the same name."""

import dataclasses
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from hcdyna import (
    DQN,
    Evaluation,
    HillClimbing,
    LearnedModel,
    RunError,
    Settings,
    SettingsError,
    Training,
    load,
    resume,
    train,
)
from hcdyna.experiments.cells import CellStore
from hcdyna.experiments.paper import FIGURES, figure
from hcdyna.experiments.paper.scale import FULL, LEARNED_ENDS
from hcdyna.runs.store import Store
from hcdyna.settings.core import CHOICES
from hcdyna.settings.plain import settings_from_plain, settings_to_plain
from hcdyna.settings.stored import as_of_before, brought_up_to_date
from hcdyna.statistics.verdicts import LOOKS

ROOT = Path(__file__).parents[2]
OLD = {
    "name": "learned",
    "learning_rate": 1e-4,
    "hidden": [64, 64],
    "activation": "relu",
    "batch_size": 128,
}
"""A learned model in the run.json of before."""


def read(plain):
    return settings_from_plain(brought_up_to_date(plain))


def test_a_learned_model_of_before_believed_all_that_it_said():
    plain = settings_to_plain(Settings()) | {"model": OLD}
    assert read(plain) == Settings(model=LEARNED_ENDS)
    assert plain["model"] == OLD, "and what was given is left alone"


def test_a_model_that_was_told_where_episodes_end_has_another_name_now():
    plain = settings_to_plain(Settings()) | {"model": OLD | {"name": "known_end"}}
    assert read(plain).model == dataclasses.replace(LEARNED_ENDS, ends="known")


@pytest.mark.parametrize(
    "model", [LearnedModel(), LearnedModel(members=2, doubt="spread"), LEARNED_ENDS, "true"]
)
def test_settings_of_today_come_back_as_they_are(model):
    settings = Settings(model=model)
    plain = settings_to_plain(settings)
    assert read(plain) == settings
    assert read(as_of_before(plain)) == settings


def test_what_older_versions_meant_goes_without_saying():
    plain = settings_to_plain(Settings(model=LEARNED_ENDS))
    found = as_of_before(plain)
    assert found["model"] == OLD
    assert found["agent"].keys() == {
        *("name", "learning_rate", "hidden", "activation", "target_period", "network")
    }
    assert not {"epsilon_start", "epsilon_steps", "update_every"} & found["training"].keys()
    for part in ("environment", "evaluation"):
        assert found[part] == plain[part]
    later = {"noise_covariance", "restart", "accept_first", "skip_known"}
    assert found["search_control"].keys() == plain["search_control"].keys() - later
    today = as_of_before(settings_to_plain(Settings(model=LearnedModel(updates=2))))["model"]
    assert today == OLD | {
        "learning_rate": 1e-3,
        "normalise": True,
        "updates": 2,
        "ends": "auto",
        "trust": "optimistic",
        "cell_width": 3.0,
    }


@pytest.mark.parametrize("name", [None, 3, ["learned"], {"a": 1}, "no:Such", "nonsense"])
def test_what_is_no_name_is_left_to_those_who_say_so(name):
    plain = settings_to_plain(Settings()) | {"model": {"name": name}}
    assert brought_up_to_date(plain) == plain
    with pytest.raises(SettingsError):
        read(plain)
    for other in (None, [], "model", {"model": 3}):
        assert brought_up_to_date(other) == other


def test_every_result_of_the_paper_is_still_found():
    store = CellStore(ROOT / "results" / "paper")
    cells = {name: figure(name).cells(FULL).values() for name in FIGURES}
    assert sum(map(store.has, cells["fig4"])) >= 120
    every = [cell for some in cells.values() for cell in some]
    keys = {block.key for cell in every for block in cell.blocks(LOOKS[-1])}
    stored = {path.stem for path in store.folder.glob("*.json")}
    assert len(stored) >= 265
    assert keys >= stored, "and none that no figure asks for"


def test_a_regular_gradient_of_before_had_its_own_noise():
    """Stored before drift and noise were two options."""
    cell = figure("fig2").cells(FULL)["regular, noise ηI/1e-3"]
    stored = CellStore(ROOT / "results" / "paper").load(cell).record["settings"]["search_control"]
    assert "noise_covariance" not in stored
    found = read(settings_to_plain(Settings()) | {"search_control": stored}).search_control
    assert found == HillClimbing(natural_gradient=False, noise_covariance="drift")


def test_their_settings_are_read_as_they_were_meant():
    """The settings in the description of a cell are those that make the cell today."""
    store = CellStore(ROOT / "results" / "paper")
    for label in ("GridWorld/1/HC-Dyna, learned ends/1e-3", "CartPole/10/HC-Dyna/1e-3"):
        cell = figure("fig4").cells(FULL)[label]
        stored = json.loads((store.folder / f"{cell.key}.json").read_text())["settings"]
        assert all(stored[choice]["name"] for choice in CHOICES)
        kernels = {"training": stored["training"] | {"kernels": cell.settings.training.kernels}}
        assert read(stored | kernels) == cell.settings


SMALL = Settings(
    agent=DQN(hidden=(8,)),
    model=dataclasses.replace(LEARNED_ENDS, hidden=(8,), batch_size=4),
    search_control="uniform",
    training=Training(steps=60, warmup=20, planning_steps=1, batch_size=4, replay_size=50),
    evaluation=Evaluation(every=20, episodes=1),
)


def as_before(folder, name):
    """Turn a run into one of format 1, with a learned model of before."""
    record = json.loads((folder / "run.json").read_text())
    del record["checksum"]
    old = as_of_before(record["settings"][0])
    old["model"] = {key: x for key, x in old["model"].items() if key in OLD} | {"name": name}
    (folder / "run.json").write_text(json.dumps(record | {"format": 1, "settings": [old]}))
    for path in folder.rglob("*.npz"):
        with np.load(path) as file:
            arrays = {key: file[key] for key in file.files if key != "checksum"}
        if "record" in arrays:
            about = json.loads(arrays["record"].tobytes())
            text = json.dumps({"settings": [old], "seeds": about["seeds"]})
            arrays["record"] = np.frombuffer(text.encode(), np.uint8)
        for key in [key for key in arrays if key.startswith(".dyna.model.")]:
            x = arrays.pop(key)
            if ".scales." not in key:
                arrays[key] = x if "power" in key else x[:, 0]
        np.savez(path, **arrays)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "ends"), [("learned", "learned"), ("known_end", "known")])
def test_a_run_of_before_is_resumed_bit_for_bit(name, ends, tmp_path):
    settings = dataclasses.replace(SMALL, model=dataclasses.replace(SMALL.model, ends=ends))
    whole = train(settings, seeds=2, out=tmp_path / "whole")
    train(settings, seeds=2, out=tmp_path / "cut", on_chunk=lambda p: p.steps[-1] >= 40)
    as_before(tmp_path / "cut", name)
    assert Store.open(tmp_path / "cut").settings == [settings]
    again = resume(tmp_path / "cut")
    assert again.finished
    for seed in (0, 1):
        for x, y in zip(
            whole.state(seed).model.params, again.state(seed).model.params, strict=True
        ):
            np.testing.assert_array_equal(x.weights, y.weights)
    np.testing.assert_array_equal(whole.returns, again.returns)
    shutil.copytree(tmp_path / "cut", tmp_path / "copy")
    assert load(tmp_path / "copy").agent(seed=0).predict([0.2, 0.3]) in range(4)
    with pytest.raises(RunError, match=r"model\.trust: trust → optimistic"):
        train(dataclasses.replace(settings, model=LearnedModel()), seeds=2, out=tmp_path / "cut")
