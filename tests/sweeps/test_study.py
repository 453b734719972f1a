import numpy as np
import pytest
from small_studies import SETTINGS, small

from hcdyna.settings.errors import SettingsError
from hcdyna.sweeps.planning import (
    by_program,
    cell_from_plain,
    cell_to_plain,
    cells_of,
    columns_of,
    program_of,
    split,
)
from hcdyna.sweeps.study import Study, settings_of
from hcdyna.sweeps.sweep import add
from hcdyna.sweeps.tasks import Task
from hcdyna.sweeps.values import values

MANY = {"from": 0.0, "to": 1.0, "count": 100_000}
FILE = """
preset: paper
settings:
  environment: MountainCar
  training.steps: 1e3
  model: true
vary:
  search_control: [replay, {name: hill_climbing, eta: 0.05}]
  agent.learning_rate: {from: 1e-4, to: 1e-2, count: 3, scale: log}
seeds: 5
block: 2
"""


def test_a_file_becomes_cells(tmp_path):
    path = tmp_path / "rates.yaml"
    path.write_text(FILE)
    study = Study.read(path)
    asked = study.cells()
    assert study.name == "rates"
    assert len(asked) == 2 * 3 * 3
    assert [(x.cell.first_seed, x.cell.seeds) for x in asked[:3]] == [(0, 2), (2, 2), (4, 1)]
    last = asked[-1].cell.settings
    assert (last.search_control.eta, last.agent.learning_rate) == (0.05, 0.01)
    assert last.training.steps == 1000
    assert len({x.cell.key for x in asked}) == len(asked)
    assert Study.of(study.plain()) == study


def test_grids_are_on_top_of_what_all_share():
    study = small(
        vary={},
        grids=[
            {"settings": {"search_control": "replay"}},
            {"vary": {"search_control": ["visited_pairs"], "agent.learning_rate": [0.1, 0.2]}},
        ],
    )
    found = [case for case, _ in study.cases()]
    assert found[0] == {"search_control": "replay"}
    assert found[2] == {"search_control": "visited_pairs", "agent.learning_rate": 0.2}


def test_figures_of_the_paper_are_a_study():
    from hcdyna.experiments.paper import figure
    from hcdyna.experiments.paper.scale import QUICK

    asked = Study(paper={"figures": ["fig2", "fig5"], "scale": "quick"}).cells()
    wanted = {cell.key for name in ("fig2", "fig5") for cell in figure(name).cells(QUICK).values()}
    assert {x.cell.key for x in asked} == wanted
    more = Study(paper={"figures": ["fig6"], "scale": "full", "seeds": 200}).cells()
    assert [x.cell.seeds for x in more] == [30, 70, 100] * 3
    for each in asked:
        assert cell_from_plain(cell_to_plain(each.cell)).key == each.cell.key


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"seeds": 0}, "seeds = 0: must be a whole number"),
        ({"vary": {"agent.learning_rat": [1.0]}}, "learning_rat.*did you mean"),
        ({"vary": {"agnet.learning_rate": [1.0]}}, "agnet.learning_rate: no such setting.*agent"),
        ({"vary": {"agent.learning_rate": []}}, "must have at least one value"),
        ({"vary": {"agent.learning_rate": [1.0, 1.0]}}, "must all be different"),
        ({"vary": {"agent.learning_rate": [-1.0]}}, r"learning_rate = -1\.0"),
        ({"vary": {"agent.learning_rate": {"from": 1, "to": 0, "count": 2}}}, "lower number"),
        ({"vary": {"agent.learning_rate": {"from": 0, "to": 1}}}, "needs a count"),
        ({"vary": {"agent.learning_rate": {"form": 0, "to": 1}}}, "'form': did you mean from"),
        ({"vary": {"search_control": ["reply"]}}, "unknown name 'reply'"),
        ({"vary": {"agent.hidden.size": [1]}}, "there is no such part"),
        ({"name": "../x"}, "name = '../x'"),
        ({"preset": 5}, "preset = 5: must be a name"),
        ({"settings": {5: 5}}, "settings = {5: 5}: must be a mapping of paths"),
        ({"vary": {"training": [1]}}, "training: no such setting: a path is"),
        ({"compare": [{"of": [1], "a": 1, "b": 2}]}, "must have of"),
        ({"paper": {"figures": [[1]]}}, "figures must be"),
        ({"paper": {"figures": ["fig4"], "scale": []}}, "must have figures and a scale"),
        ({"grids": [{"seeds": 3}]}, "each with settings, vary or both"),
        ({"paper": {"figures": ["fig9"]}}, "figures must be"),
        ({"paper": {"figures": []}}, "figures must be"),
        ({"paper": {"figures": ["fig4"]}}, "block: says nothing beside paper"),
        (
            {"vary": dict.fromkeys(("agent.learning_rate", "training.epsilon"), MANY)},
            "about 2|cells",
        ),
    ],
)
def test_a_mistake_is_named_in_a_line(given, said):
    with pytest.raises(SettingsError, match=said) as refused:
        by_program(small(**given).cells())
    assert "\n" not in str(refused.value)


def test_a_comparison_of_what_the_study_does_not_vary_is_refused_before_training(tmp_path):
    for of, said in (
        ("model", "does not vary it"),
        ("agent.learning_rate", "learning_rate: 0.5, 1.0"),
    ):
        compare = [{"of": of, "a": 1.0, "b": 0.7}]
        study = small(vary={"agent.learning_rate": [0.5, 1.0]}, compare=compare)
        with pytest.raises(SettingsError, match=f"compare: . = .*{said}"):
            add(study, tmp_path / "store")
    same = [{"of": "agent.learning_rate", "a": 0.5, "b": 0.5}]
    with pytest.raises(SettingsError, match=r"compare: a = b = 0\.5: must be two values of agent"):
        add(small(compare=same), tmp_path / "store")
    with pytest.raises(SettingsError, match=r"study = 'rates.yaml': must be a Study"):
        add("rates.yaml", tmp_path / "store")
    assert not list(tmp_path.iterdir()), "nothing is left of a study that can't be trained"


def test_whole_numbers_and_keywords_as_people_write_them():
    study = small(
        seeds=1e1, block=5.0, vary={"agent.learning_rate": {"from": 0.1, "to": 1, "count": 3.0}}
    )
    assert (study.seeds, study.block, len(study.cells())) == (10, 5, 6)
    pole = {"name": "CartPole-v1", "kwargs": {"max_episode_steps": 30}}
    found = settings_of(None, {"environment": pole}).environment
    assert found.kwargs == ("max_episode_steps=30",)


@pytest.mark.parametrize("text", ["- 1", "seed: 3", "vary: [", "{}: 1", "seeds: 3\nseeds: 4"])
def test_a_file_that_is_no_study_is_named(text, tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text(text)
    with pytest.raises(SettingsError, match=r"study\.yaml: "):
        Study.read(path)


def test_a_folder_is_no_study_and_a_preset_is_found_from_elsewhere(tmp_path, monkeypatch):
    with pytest.raises(SettingsError, match="not a file"):
        Study.read(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert Study(preset="mine.yaml").plain()["preset"] == str(tmp_path / "mine.yaml")


def test_numbers_of_numpy_and_ranges_are_as_good_as_lists(tmp_path):
    vary = {"agent.learning_rate": np.float32([0.5, 1.0]), "training.planning_steps": range(1, 3)}
    study = small(vary=vary, settings=SETTINGS | {"training.steps": np.int64(60)})
    assert add(study, tmp_path / "store", calibrate=False)[0].studies() == [study]
    assert values("agent.learning_rate", study.vary["agent.learning_rate"]) == [0.5, 1.0]
    endless: dict = {}
    endless["agent.learning_rate"] = endless
    with pytest.raises(SettingsError, match="vary: nested too deeply"):
        small(vary=endless)


def test_ranges():
    assert values("x", {"from": 1, "to": 7, "step": 3}) == [1, 4, 7]
    assert values("x", {"from": 0.1, "to": 0.3, "step": 0.1}) == [0.1, 0.2, 0.3]
    assert values("x", {"from": 1e-3, "to": 1, "count": 4, "scale": "log"}) == [
        *(0.001, 0.01, 0.1, 1.0)
    ]
    assert values("x", 3) == [3]


def test_cells_that_differ_in_numbers_share_a_program_and_seeds_share_a_task():
    cells = small(seeds=6, vary={"agent.learning_rate": [0.1, 0.2, 0.3]}).cells()
    assert len({program_of(x.cell) for x in cells}) == 1
    other = small(vary={"training.planning_steps": [1, 2]}).cells()
    assert len({program_of(x.cell) for x in other}) == 2
    groups = by_program(cells)
    tasks = split(groups, dict.fromkeys(groups, 2))
    assert [len(task.keys) for task in tasks] == [2, 2, 2, 2, 1], "two blocks of seeds, then one"
    for task in tasks:
        blocks: dict = {}
        for cell in cells_of(task):
            blocks.setdefault(cell.settings, []).append(cell.first_seed)
        first, *others = blocks.values()
        assert all(other == first for other in others), "the same seeds for all"
        assert Task.read(task.line()) == task
    (task,) = split(groups, dict.fromkeys(groups, 9))
    assert task.agents == 18, "all blocks of all settings"


def test_small_blocks_of_seeds_fill_up_what_a_large_one_leaves():
    assert columns_of([30, 70, 100, 200, 600], 600) == [[4], [0, 1, 2, 3]]
    assert columns_of([30, 70, 100, 200, 600], 1_000) == [[0, 1, 2, 3, 4]]
    assert columns_of([200, 30], 100) == [[0], [1]], "one that is too large comes alone"


def test_settings_are_those_of_the_preset_where_nothing_is_said():
    assert settings_of(None, SETTINGS).training.steps == 60
    assert settings_of("paper", {}).agent.learning_rate == settings_of(None, {}).agent.learning_rate
