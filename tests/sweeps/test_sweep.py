import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from small_studies import SETTINGS, cells_of, small

from hcdyna.cli import main
from hcdyna.runs.beginning import begun
from hcdyna.settings.errors import RunError, SettingsError
from hcdyna.sweeps import calibration, planning
from hcdyna.sweeps.engines import local
from hcdyna.sweeps.planning import by_program
from hcdyna.sweeps.status import status
from hcdyna.sweeps.store import SweepStore
from hcdyna.sweeps.sweep import Resources, add, plan, run


@pytest.fixture
def file(tmp_path):
    """The small study as a file."""
    path = tmp_path / "small.yaml"
    study = small().plain()
    path.write_text(json.dumps(study))  # which is YAML, too
    return path


def test_a_sweep_from_the_command_line(file, tmp_path, capsys, make_store, make_worker):
    store = tmp_path / "out"
    words = ["sweep", str(file), "--store", str(store), "--workers", "1"]
    assert main([*words, "--dry-run", "--no-calibrate"]) == 0
    assert "small: 8 agents in 4 cells; 1 program, 4 tasks" in capsys.readouterr().out
    assert not store.exists()
    assert main([*words, "--no-calibrate"]) == 0
    assert "4 of 4 cells done" in capsys.readouterr().out
    assert main(["status", str(store)]) == 0
    assert "4 of 4 cells done" in capsys.readouterr().out
    assert main([*words, "--no-calibrate"]) == 0, "nothing is left to do"
    other = make_store("other")
    make_worker(other)[0].work()
    assert cells_of(SweepStore.open(store)) == cells_of(other)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("sweep none.yaml", "none.yaml: no such file"),
        ("sweep small.yaml --options x", "--options x: must be name=value"),
        ("sweep small.yaml --on mars", "invalid choice"),
        ("sweep small.yaml --dry-run --store small.yaml", "small.yaml is not a folder"),
        ("sweep small.yaml --dry-run --store small.yaml/x", "small.yaml is not a folder"),
        ("sweep odd.yaml --dry-run", "odd.yaml: Training.stepss"),
        ("sweep odd.yaml", "odd.yaml: Training.stepss"),
        ("work nowhere", "nowhere: not the store of a sweep"),
        ("status nowhere", "nowhere: not the store of a sweep"),
    ],
)
def test_mistakes_get_one_line(words, said, file, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd.yaml").write_text("settings: {training.stepss: 3}")
    assert main(words.split()) == 2
    printed = capsys.readouterr().err
    assert said in printed
    assert printed.count("\n") == 1


def test_workers_that_can_not_start_are_given_up(make_store, monkeypatch):
    store = make_store()
    monkeypatch.setenv("JAX_PLATFORMS", "mars")
    with pytest.raises(RunError, match=r"worker gave up: .*no device to run on"):
        run(store, "local", Resources(workers=1))
    assert not store.place.names("failed")


def test_a_worker_ended_by_a_fault_is_a_failure_of_its_task(make_store):
    store = make_store()
    lease = store.take(store.tasks()[0], store.scan())
    lease.content["pid"] = 2**22 + 1
    lease.renew()
    local.Slot(store, 0, Resources()).blame(2**22 + 1, "SIGSEGV")
    assert "ended by SIGSEGV" in status(store).failed_lines()[0]


def test_one_worker_a_gpu_or_a_few_cores(monkeypatch):
    monkeypatch.setattr(local, "visible_gpus", lambda: ["0", "5"])
    assert local.workers(Resources()) == 2
    assert local.workers(Resources(gpus=0.25)) == 8
    assert local.surroundings(1, Resources())["CUDA_VISIBLE_DEVICES"] == "5"
    shared = local.surroundings(3, Resources(gpus=0.5))
    assert shared["CUDA_VISIBLE_DEVICES"] == "5"
    assert shared["XLA_PYTHON_CLIENT_MEM_FRACTION"] == "0.450"
    assert shared["HCDYNA_COMPILERS"] == "1", "the others train meanwhile"
    assert "HCDYNA_COMPILERS" not in local.surroundings(1, Resources())
    with pytest.raises(SettingsError, match="gpus = 3: JAX can use 2 GPUs"):
        local.workers(Resources(gpus=3))
    with pytest.raises(SettingsError, match="options time: only the engines ray and slurm"):
        local.workers(Resources(options={"time": "5"}))
    monkeypatch.setattr(local, "available_cores", lambda: 8)
    assert local.workers(Resources(gpus=0, cores=4)) == 2
    assert local.surroundings(0, Resources(gpus=0, cores=4))["JAX_NUM_CPU_DEVICES"] == "4"


@pytest.mark.parametrize("wrong", [{"workers": 0}, {"cores": 0}, {"gpus": -1}, {"workers": "2"}])
def test_resources_that_can_not_be_are_named(wrong):
    with pytest.raises(SettingsError, match=f"Resources.{next(iter(wrong))} = "):
        Resources(**wrong)


def test_no_more_workers_are_started_than_there_are_tasks(make_store, monkeypatch):
    store, begun = make_store(), []

    def look(slot, stopping):
        begun.append(slot)
        slot.over = True

    monkeypatch.setattr(local.Slot, "look", look)
    run(store, "local", Resources(workers=64))
    assert len(begun) == 4


def test_a_study_that_came_while_another_was_measured_keeps_its_cells(make_store, monkeypatch):
    rates, store = {"vary": {"agent.learning_rate": [0.25, 0.5]}, "together": 2}, make_store("x")

    def measured(groups, workers):
        add(small(name="first", **rates), store.place.root, calibrate=False)
        return dict.fromkeys(groups, calibration.Measured(1.0, 1.0, 2, "cpu"))

    monkeypatch.setattr(calibration, "calibrate", measured)
    add(small(name="second", vary={"agent.learning_rate": [0.25, 0.75]}), store.place.root)
    keys = [key for task in store.tasks() for key in task.keys]
    assert len(keys) == len(set(keys)) == 4 + 2 + 2


def test_a_plan_says_what_is_there_and_what_was_planned_before(make_store, make_worker):
    store = make_store(seeds=2)
    assert "0 tasks; 2 cells planned before" in plan(small(seeds=2), store, calibrate=False).line()
    make_worker(store)[0].work()
    line = plan(small(), store, calibrate=False).line()
    assert line == "small: 4 agents in 2 cells; 1 program, 2 tasks; 2 cells there already"


def test_programs_are_divided_by_their_share_of_the_work():
    study = small(vary={"training.planning_steps": [1, 3], "agent.learning_rate": [0.5, 1.0]})
    few, many = groups = by_program(study.cells())  # four cells each: a third, and two thirds
    most = dict.fromkeys(groups, 4)

    def together(workers: int) -> list[int]:
        return [*calibration.together(groups, most, {}, workers).values()]

    assert together(1) == [4, 4]
    assert together(3) == [4, 2]
    assert together(100) == [1, 1]
    assert calibration.together(groups, {few: 4, many: 3}, {}, 1)[many] == 3


def test_a_gpu_that_workers_share_gets_as_many_agents_as_fit(monkeypatch):
    study = small(seeds=400, block=10, together=None)
    monkeypatch.setattr(planning.memory, "available", lambda: 1 << 40)
    on_cpu, on_gpu = (plan(study, None, 2, False, gpus=gpus) for gpus in (0.0, 0.5))
    most = [max(task.agents for task in planned.tasks) for planned in (on_cpu, on_gpu)]
    assert most[0] <= planning.MOST_AGENTS < most[1]
    (group,) = by_program(study.cells(), on_gpu=True).values()
    each = sum(planning.memory.needed(planning.trainer_of([group[0].cell]).shapes).values())
    monkeypatch.setattr(planning.memory, "available", lambda: 8 * each)
    fewer = plan(study, None, 2, False, gpus=0.5)  # 60% of a half of eight cells are two
    assert max(len(task.keys) for task in fewer.tasks) == 2


def test_a_plan_compiles_no_kernels(tmp_path, monkeypatch):
    """Workers do: on a machine with a GPU they take a minute, in which it would be idle."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    layers = {"agent.hidden": [112, 112]}  # which no other test compiles kernels for
    of_dqn = {"environment": "GridWorld", "agent": "dqn", "training.batch_size": 16}
    study = small(settings=SETTINGS | of_dqn | layers)
    assert plan(study, None, 2, False, gpus=0.1).tasks
    assert plan(study, None, 2, False, here="cpu").tasks
    assert not list(tmp_path.rglob("*.so"))


def test_a_gpu_is_not_given_halves_that_take_as_long_as_the_whole(monkeypatch):
    """With more workers than programs, each program would be divided; on GPUs only a large one, and
    among those that have a GPU of their own."""
    monkeypatch.setattr(planning.memory, "available", lambda: 1 << 40)

    def agents(seeds: int, gpus: float) -> list[int]:
        planned = plan(small(seeds=seeds, block=20, together=None), None, 8, False, gpus=gpus)
        return [task.agents for task in planned.tasks]

    assert agents(100, gpus=0.1) == [200], "two learning rates"
    assert agents(400, gpus=0.1) == [800]
    assert agents(400, gpus=0.25) == [400] * 2
    assert agents(400, gpus=1.0) == [200] * 4
    assert agents(140, gpus=0.1) == [280]
    assert len(agents(100, gpus=0.0)) > 1


def test_a_calibration_says_how_long_it_takes():
    study = small(vary={"training.planning_steps": [1, 2], "agent.learning_rate": [0.5, 1.0]})
    groups = by_program(study.cells())
    measured = {
        name: calibration.Measured(2.0, 10.0 * n, 2, "cpu") for n, name in enumerate(groups, 1)
    }
    most, (first, _) = dict.fromkeys(groups, 4), groups
    long = {first: calibration.Measured(1.0, 1_200.0, 2, "cpu")}
    assert calibration.together(groups, most, long, workers=1)[first] == 1
    planned = plan(study, None, workers=2, calibrate=False)
    tasks = planned.tasks
    assert calibration.seconds(groups, tasks, measured, 2) == (20 + 40 + 2 * 2 * 2) / 2
    assert calibration.seconds(groups, tasks, {}, 2) is None
    words = "a cell takes up to 1 h: a smaller block makes it shorter"
    for seconds, said in ((1_000.0, False), (3_600.0, True)):
        known = {name: calibration.Measured(2.0, 2 * seconds, 2, "cpu") for name in groups}
        assert (words in replace(planned, measured=known).line()) is said


@pytest.mark.slow
def test_the_calibration_measures():
    study = small(settings=SETTINGS | {"training.steps": 500})
    planned = plan(study, None, workers=1)
    (found,) = planned.measured.values()
    assert 0 < found.training < 60
    assert "with 1 worker like this machine's cpu (1 of 1 program measured)" in planned.line()


@pytest.mark.slow
def test_a_sweep_that_is_stopped_goes_on(file, tmp_path, make_store, make_worker):
    long = SETTINGS | {"training.steps": 20_000, "evaluation.every": 500}
    file.write_text(json.dumps(small(settings=long).plain()))
    words = [sys.executable, "-m", "hcdyna", "sweep", str(file), "--no-calibrate", "--workers", "1"]
    words += ["--store", str(tmp_path / "out")]
    process = subprocess.Popen(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not (tmp_path / "out/cells").exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate()
    assert process.returncode == 75
    assert "the same command goes on from there" in said
    store = SweepStore.open(tmp_path / "out")
    assert not store.place.names("leases"), "no worker is left"
    assert subprocess.run(words, check=False, capture_output=True).returncode == 0
    other = make_store("other", settings=long)
    make_worker(other)[0].work()
    assert cells_of(store) == cells_of(other)


@pytest.mark.slow
def test_workers_end_with_who_started_them(file, tmp_path):
    long = SETTINGS | {"training.steps": 2_000_000, "evaluation.every": 1_000}
    file.write_text(json.dumps(small(settings=long).plain()))
    words = [sys.executable, "-m", "hcdyna", "sweep", str(file), "--no-calibrate", "--workers", "1"]
    process = subprocess.Popen([*words, "--store", str(tmp_path / "out")])
    store = None
    while store is None or not status(store).where:
        time.sleep(0.1)
        if (tmp_path / "out/store.json").exists():
            store = SweepStore.open(tmp_path / "out")
    (worker,) = status(store).where
    process.kill()
    process.wait()
    for _ in range(1_200):
        if not os.path.exists(f"/proc/{worker.pid}"):
            break
        time.sleep(0.1)
    else:
        os.kill(worker.pid, signal.SIGKILL)
        raise AssertionError("the worker was left behind")
    assert not store.place.names("leases")


def test_a_run_and_a_sweep_do_not_share_a_folder(tmp_path, make_store):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    with pytest.raises(RunError, match="is the folder of a run"):
        SweepStore.create(tmp_path / "run")
    store = make_store()
    with pytest.raises(RunError, match="is the store of a sweep"), begun(store.place.root, {}):
        pass


@pytest.mark.parametrize("text", ["{", "[" * 100_000, '{"vary": 3}'])
def test_a_damaged_study_of_a_store_is_named(text, make_store):
    store = make_store()
    name = store.place.names("studies")[0]
    store.place.write(f"studies/{name}", text.encode())
    with pytest.raises(RunError, match=f"studies/{name}: damaged: "):
        store.studies()
