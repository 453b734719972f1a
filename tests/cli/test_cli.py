"""The command line, called as a user calls it."""

import csv
import io
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from hcdyna.cli import COMMANDS, main
from hcdyna.cli.commands import list as listing
from hcdyna.cli.commands.list import GROUPS
from hcdyna.dyna import build
from hcdyna.settings import presets, registry
from hcdyna.training.train import memory_needed

ROOT = Path(__file__).parents[2]
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
    assert len(COMMANDS) >= 11
    for command, about in COMMANDS.items():
        assert re.search(rf"^  {command} +{re.escape(about)}$", answer.stdout, re.M)


def help_of(capsys, *words):
    assert main([*words, "--help"]) == 0
    return capsys.readouterr().out


def explanations(text):
    """Option or argument → its help, without the default; {} where nothing was understood."""
    found, name = {}, None
    for line in re.findall(r"^(?:│ |  )(.*?) *│?$", text, re.M):
        if re.match(r"--?[a-z]|[A-Z]{2}", line):
            name, _, line = line.partition("  ")
            found[name] = ""
        elif not line.startswith("  "):
            name = None  # the words above a group of options
        if name is not None:
            found[name] += f"{line.strip()} "
    return {
        name: re.sub(r"\((default|required|optional|repeatable).*\)", "", words).strip()
        for name, words in found.items()
    }


def without_help(text):
    """Options with less than two words of help: a bare name is what tyro says on its own."""
    found = explanations(text)
    assert found
    return [name for name, words in found.items() if len(words.split()) < 2]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_and_its_options(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    text = help_of(capsys, command)
    assert f"usage: hcdyna {command}" in text
    assert max(map(len, text.splitlines())) <= 100
    assert without_help(text) == []


@pytest.mark.parametrize(
    ("flag", "part"),
    [
        (flag, part)
        for flag, group in (
            ("--env", "environments"),
            ("--agent", "agents"),
            ("--model", "models"),
            ("--search-control", "search_control"),
        )
        for part in registry.available(group)
    ],
)
def test_every_option_of_every_part_has_a_help_text(flag, part, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    assert without_help(help_of(capsys, "train", flag, part)) == []


def test_options_without_a_help_text_are_noticed():
    text = "  RUN        run (required)\n  --a INT    How many of\n    them. (default: 3)\n"
    text += "│ --wall, --no-wall                                      │\n│    (default: True)   │\n"
    assert explanations(text) == {
        "RUN": "run",
        "--a INT": "How many of them.",
        "--wall, --no-wall": "",
    }
    assert without_help(text) == ["RUN", "--wall, --no-wall"]


def test_the_help_of_env_mentions_gymnasium(capsys):
    text = " ".join(
        explanations(help_of(capsys, "train", "--env", "CartPole-v1"))["--env NAME"].split()
    )
    assert "any Gymnasium id" in text
    assert "hosted" not in text


def test_train_prints_its_folder_first_then_memory_progress_and_a_table(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert main(["train", *TINY]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Run: runs/GridWorld-dqn-hill_climbing-")
    assert lines[1] == "GridWorld: dqn, hill_climbing, n = 1, model true"
    assert re.match(r"Memory: about .* for 2 agents \(", lines[2])
    assert "120 of 120 steps" in "\n".join(lines)
    assert "steps/s" in lines[3]
    assert "95% interval" in "\n".join(lines)
    assert max(map(len, lines)) <= 100
    assert main(["list", "runs"]) == 0
    listed = capsys.readouterr().out
    name = lines[0].removeprefix("Run: runs/")
    column = [row.split("│")[1].strip() for row in listed.splitlines() if row.startswith("│")]
    assert "".join(column) == name, "broken into lines, but not cut"
    assert max(map(len, listed.splitlines())) <= 100


def test_one_agent_is_not_several():
    settings = presets.settings("paper", "GridWorld", search_control="replay")
    assert " for 1 agent (" in memory_needed(settings, [0])
    assert " for 2 agents (" in memory_needed(settings, [0, 1])


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
    assert capsys.readouterr().out == f"{file}: 6 rows\n"
    assert file.read_text() == text
    assert main(["export", str(run), "--csv", "--what", "diagnostics"]) == 0
    assert "epsilon_a" in capsys.readouterr().out


@pytest.mark.parametrize("command", [("export", "--csv"), ("report",)])
def test_what_a_run_consists_of_is_not_written_over(command, run, capsys):
    checkpoint = next((run / "checkpoints").iterdir())
    for out in (run / "run.json", checkpoint):
        before = out.read_bytes()
        assert f"--out {out}: belongs to what is kept in {run}" in refused(
            capsys, *command, run, "--out", out
        )
        assert out.read_bytes() == before


def test_export_as_parquet(run, tmp_path, capsys):
    pyarrow = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "curves.parquet"
    assert main(["export", str(run), "--parquet", "--out", str(file)]) == 0
    assert pyarrow.read_table(file).num_rows == 6


@pytest.mark.parametrize("kind", [*GROUPS, "presets"])
def test_list_has_every_name_with_a_word_about_it(kind, capsys):
    assert main(["list", kind]) == 0
    rows = re.findall(r"^│ (\S.*?) +│ (\S.*?) +│$", capsys.readouterr().out, re.M)
    known = list(registry.available(GROUPS[kind])) if kind in GROUPS else presets.names()
    if kind == "environments":
        known[known.index("hosted")] = "any Gymnasium id"
    assert sorted(name for name, _ in rows) == sorted(known)


def test_list_shows_whole_sentences():
    assert listing.about("search_control", "prioritised_replay").endswith("were last learned from.")
    assert listing.about("search_control", "hill_climbing").endswith("on the way (HC-Dyna).")


def test_list_tells_unfinished_runs_and_diverged_agents():
    assert [listing.steps_taken(3_000, 5_000), listing.steps_taken(5_000, 5_000)] == [
        "3,000 of 5,000",
        "5,000",
    ]
    returns, diverged = np.full((2, 3), -7.0), np.zeros((1, 2, 3), bool)
    run = SimpleNamespace(mean_returns=lambda: returns, diverged=diverged)
    assert listing.last_return(run) == "-7.0 [-7.0, -7.0]"
    diverged[0, 1, 2:] = True
    assert listing.last_return(run) == "-7.0 [-7.0, -7.0], 1 diverged"


def test_list_shows_brackets_as_they_are(capsys):
    assert main(["list", "agents"]) == 0
    assert "Q-learning on a table Q [states, actions]" in capsys.readouterr().out


def test_a_run_folder_with_brackets_in_its_name_is_listed(run, tmp_path, capsys):
    shutil.copytree(run, tmp_path / "a[/b]")
    assert main(["list", "runs", "--folder", str(tmp_path)]) == 0
    assert "│ a[/b] " in capsys.readouterr().out


def test_only_a_run_that_is_whole_is_called_finished(run, tmp_path, capsys):
    copy = shutil.copytree(run, tmp_path / "copy")
    assert main(["resume", str(copy)]) == 0
    assert "finished, all" in capsys.readouterr().out
    for path in (copy / "checkpoints").iterdir():
        path.write_bytes(b"not a checkpoint")
    assert main(["resume", str(copy)]) == 2
    assert "finished" not in capsys.readouterr().out


def test_the_report_of_several_runs_is_not_written_over_that_of_one(
    run, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(run, "a")
    shutil.copytree(run, "b")
    assert main(["report", "a"]) == 0
    before = Path("a/report.html").read_bytes()
    assert main(["report", "a", "b"]) == 0
    assert capsys.readouterr().out == "a/report.html\nreport.html\n"
    assert Path("a/report.html").read_bytes() == before
    assert Path("report.html").read_bytes() != before


def test_a_folder_in_the_place_of_a_file_is_named(run, tmp_path, capsys):
    for words in (["report", run], ["export", run, "--csv"]):
        assert f"{tmp_path}: can't be written" in refused(capsys, *words, "--out", tmp_path)


@pytest.mark.parametrize("only", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_reproduce_says_what_it_wrote(only, tmp_path, capsys):
    folder = tmp_path / "paper"
    shutil.copytree(ROOT / "results/paper", folder)
    options = ["lr", "--scale", "full", "--out", str(folder), *(["--runs-only"] if only else [])]
    (folder / "index.html").unlink()
    assert main(["reproduce", *options]) == 0
    said = [line.partition(": ")[0] for line in capsys.readouterr().out.splitlines()]
    expected = ["cells"] if only else ["index.html", "figures"]
    assert said[-len(expected) :] == [str(folder / name) for name in expected]
    assert (folder / "index.html").is_file() is not only


def test_reproduce_without_time_runs_nothing_and_says_what_is_missing(tmp_path, capsys):
    options = ["fig6", "--scale", "full", "--out", str(tmp_path), "--seconds", "0", "--runs-only"]
    assert main(["reproduce", *options]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "3 cells still missing (3 of 3 in fig6)" in said
    assert "the same command without --seconds runs them" in said
    assert not (tmp_path / "cells").exists()


@pytest.mark.slow
def test_a_gymnasium_environment_goes_by_its_id(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small = TINY[TINY.index("--search-control") :]
    assert main(["train", "--env", "CartPole-v1", *small, "--model.hidden", "8", "--quiet"]) == 0
    [folder] = Path("runs").iterdir()
    assert folder.name.startswith("CartPole-v1-dqn-hill_climbing-")
    capsys.readouterr()
    assert main(["list", "runs"]) == 0
    assert re.search(r"│ CartPole-v1 +│ +hill_climbing │", capsys.readouterr().out)
    assert main(["report", str(folder)]) == 0
    assert "<title>CartPole-v1: HC-Dyna</title>" in (folder / "report.html").read_text()


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
    from hcdyna.experiments.paper.scale import AS_PRINTED

    for environment in ("GridWorld", "MountainCar", "CartPole", "Acrobot"):
        for strategy in ("replay", "on_policy", "uniform", "hill_climbing"):
            choices = {"environment": environment, "search_control": strategy}
            assert presets.settings("paper", **choices) == Settings(**choices)
            printed = presets.settings("paper", **choices, model="learned")
            assert printed == Settings(**choices, model=AS_PRINTED), "the letter of the paper"


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
        (("train", "--lr", "1e-3"), "did you mean --agent.learning-rate?"),
        (("train", "--qqq", "1e-3"), "unknown option --qqq: --help lists those there are"),
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


def test_a_warning_is_said_once(capsys):
    words = ["--env.kwargs", "render_mode=nonsense", "--steps", "5"]
    assert main(["check-env", "CartPole-v1", *words]) == 0
    said = capsys.readouterr().err
    assert said.count("hcdyna: warning: ") == said.count("nonsense") == said.count("\n") == 1


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
