"""The command line, called as a user calls it."""

import csv
import io
import subprocess
import sys

import pytest
import yaml

from hcdyna import presets, registry
from hcdyna.cli import main
from hcdyna.dyna import build

TINY = [
    *("--env", "GridWorld", "--search-control", "hill_climbing", "--planning-steps", "1"),
    *("--steps", "120", "--warmup", "40", "--replay-size", "60", "--evaluation.every", "40"),
    *("--agent.hidden", "8", "--search.steps", "5", "--search.queue-size", "100", "--seeds", "2"),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "tiny"
    assert main(["train", *TINY, "--quiet", "--out", str(folder)]) == 0
    return folder


def refused(capsys, *arguments):
    """The one line that a wrong command is answered with."""
    assert main([str(argument) for argument in arguments]) == 2
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    assert printed.err.startswith("hcdyna: ")
    return printed.err


def test_help_comes_at_once_and_without_jax():
    code = (
        "import sys; from hcdyna.cli import main; main(['--help']); assert 'jax' not in sys.modules"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    for command in ("train", "resume", "eval", "list", "plot", "report", "export"):
        assert command in answer.stdout


@pytest.mark.parametrize("command", ["train", "resume", "eval", "list", "plot", "report", "export"])
def test_every_command_explains_itself(command, capsys):
    assert main([command, "--help"]) == 0
    assert f"usage: hcdyna {command}" in capsys.readouterr().out


def test_train_prints_its_folder_first_then_memory_progress_and_a_table(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert main(["train", *TINY]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Run: runs/GridWorld-dqn-hill_climbing-")
    assert "Memory: about" in lines[1]
    assert "120 of 120 steps" in "\n".join(lines)
    assert "steps/s" in lines[2]
    assert "95% interval" in "\n".join(lines)
    assert max(map(len, lines)) <= 100
    assert main(["list", "runs"]) == 0
    assert "120 of 120" in capsys.readouterr().out


def test_quiet_says_nothing(run, capsys):
    assert main(["resume", str(run), "--quiet"]) == 0
    printed = capsys.readouterr()
    assert printed.out == printed.err == ""


def test_eval(run, capsys):
    assert main(["eval", str(run), "--episodes", "2"]) == 0
    assert "mean return" in capsys.readouterr().out


def test_export_to_standard_output_and_to_a_file(run, tmp_path, capsys):
    assert main(["export", str(run), "--csv"]) == 0
    text = capsys.readouterr().out
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 2 * 3
    assert {"setting", "seed", "step", "return", "length", "diverged"} <= rows[0].keys()
    file = tmp_path / "curves.csv"
    assert main(["export", str(run), "--csv", "--out", str(file)]) == 0
    assert file.read_text() == text
    assert main(["export", str(run), "--csv", "--what", "diagnostics"]) == 0
    assert "epsilon_a" in capsys.readouterr().out


def test_export_as_parquet(run, tmp_path, capsys):
    pyarrow = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "curves.parquet"
    assert main(["export", str(run), "--parquet", "--out", str(file)]) == 0
    assert pyarrow.read_table(file).num_rows == 6


@pytest.mark.parametrize("kind", ["environments", "strategies", "agents", "models", "presets"])
def test_list(kind, capsys):
    assert main(["list", kind]) == 0
    out = capsys.readouterr().out
    assert {"environments": "Acrobot", "strategies": "on_policy", "presets": "authors"}.get(
        kind, ""
    ) in out


def test_printed_settings_are_a_preset(tmp_path, capsys):
    chosen = ["--preset", "authors", "--env", "MountainCar", "--agent.learning-rate", "1e-3"]
    assert main(["train", *chosen, "--print-settings"]) == 0
    text = capsys.readouterr().out
    assert yaml.safe_load(text)["agent"]["dqn"]["learning_rate"] == 1e-3
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    assert main(["train", "--preset", str(file), "--print-settings"]) == 0
    assert capsys.readouterr().out == text


def test_the_paper_preset_is_the_default_everywhere():
    from hcdyna import Settings

    for environment in ("GridWorld", "MountainCar", "CartPole", "Acrobot"):
        for strategy in ("replay", "on_policy", "uniform", "hill_climbing"):
            for model in ("true", "learned"):
                choices = {"environment": environment, "search_control": strategy, "model": model}
                assert presets.settings("paper", **choices) == Settings(**choices)


def test_the_paper_preset_knows_the_tabular_study_and_continuous_control():
    study = presets.settings("paper", environment="TabularGridWorld", search_control="gibbs")
    assert registry.name_of("agents", study.agent) == "tabular"
    assert (study.training.batch_size, study.training.epsilon, study.training.warmup) == (1, 0.2, 0)
    control = presets.settings("paper", environment="GridWorldContinuous")
    assert registry.name_of("agents", control.agent) == "ddpg"
    assert control.training.planning_steps == 5


STRATEGIES = ("replay", "on_policy", "uniform", "hill_climbing")


@pytest.mark.parametrize(
    ("environment", "strategy"),
    [
        *(("TabularGridWorld", strategy) for strategy in (*STRATEGIES, "gibbs")),
        *(("GridWorldContinuous", strategy) for strategy in STRATEGIES),
    ],
)
def test_every_algorithm_of_the_paper_has_settings_that_build(environment, strategy):
    settings = presets.settings("paper", environment=environment, search_control=strategy)
    env, _ = build(settings)
    assert env.spec.name == environment


def test_the_authors_preset_differs_where_their_code_does():
    settings = presets.settings("authors", environment="GridWorld")
    assert settings.environment.goal_reward == 0
    assert not settings.search_control.natural_gradient
    assert presets.settings("authors", environment="Acrobot").search_control.natural_gradient


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), None),
        (("trian",), "did you mean train?"),
        (("train", "--env", "GridWrld"), "did you mean GridWorld?"),
        (("train", "--serach-control", "replay"), "did you mean --search-control?"),
        (("train", "--search.etta", "1"), "did you mean --search.eta?"),
        (("train", "--search-control", "uniform", "--search.eta", "1"), "unknown option"),
        (("train", "--preset", "papre"), "did you mean paper?"),
        (("train", "--mixing-rate", "1.5"), "Training.mixing_rate = 1.5: must be at least 0"),
        (("train", "--batch-size", "0"), "Training.batch_size = 0: must be at least 1"),
        (("train", "--agent.learning-rate", "nan"), "DQN.learning_rate = nan"),
        (("train", "--search.steps", "-1"), "HillClimbing.steps = -1"),
        (("train", "--steps", "ten"), "--steps"),
        (("train", "--seeds", "0"), "--seeds 0: must be at least 1"),
        (("train", "--env", "GridWorldContinuous", "--agent", "dqn"), "dqn needs discrete actions"),
        (("train", "--env", "TabularGridWorld", "--agent", "dqn"), "dqn needs discrete actions"),
        (("train", "--env", "Acrobot", "--agent", "tabular"), "tabular needs discrete"),
        (("train", "--env", "GridWorld", "--agent", "ddpg"), "ddpg"),
        (("train", "--env", "GridWorld", "--search-control", "gibbs"), "gibbs needs discrete"),
        (("train", "--replay-size", "10"), "must be at least the batch size"),
        (("train", "--replay-size", "2e9", "--seeds", "9"), "lower training.replay_size"),
        (("resume", "/nowhere"), "not a run folder"),
        (("eval", "/nowhere"), "not a run folder"),
        (("plot", "/nowhere"), "not a run folder"),
        (("report", "/nowhere"), "not a run folder"),
        (("export", "/nowhere"), "choose one of --csv and --parquet"),
        (("plot", "/nowhere", "--out", "x.gif"), "must end in one of"),
        (("train", "--out", "/proc/nothing/here"), "can't be written"),
    ],
)  # fmt: skip
def test_bad_input_is_answered_in_one_line(arguments, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if said is None:
        assert main([]) == 0
        return
    assert said in refused(capsys, *arguments)
    assert not list(tmp_path.iterdir()), "nothing was begun"


def test_tracking_in_tensorboard(tmp_path, capsys):
    pytest.importorskip("tensorboardX")
    folder = tmp_path / "run"
    assert main(["train", *TINY, "--quiet", "--out", str(folder), "--track", "tensorboard"]) == 0
    assert list((folder / "tensorboard").glob("events.*"))


def test_tracking_in_wandb_offline(tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    folder = tmp_path / "run"
    assert main(["train", *TINY, "--quiet", "--out", str(folder), "--track", "wandb"]) == 0
    assert list((folder / "wandb").iterdir())
