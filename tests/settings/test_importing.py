"""Looking at a run imports nothing that it names; training and acting do, and say so."""

import json
import subprocess
import sys
from dataclasses import dataclass

import pytest
from gymnasium.envs.registration import EnvSpec, WrapperSpec

from hcdyna import (
    DQN,
    Evaluation,
    Hosted,
    RunError,
    Settings,
    SettingsError,
    Training,
    load,
    resume,
    train,
)
from hcdyna.cli import main
from hcdyna.gymnasium.theirs.making import spaces_of
from hcdyna.runs import run_json
from hcdyna.settings import presets
from hcdyna.settings.importing import Described, imported, place_of
from hcdyna.settings.plain import settings_from_plain, settings_to_plain, to_act

SCRIPT = """
from dataclasses import dataclass
import sys
import jax
import hcdyna
from hcdyna import DQN, Evaluation, HillClimbing, Settings, Training, drawn, train

print("the script was run", flush=True)


def height(key, scene):
    return lambda obs: obs[0]


@dataclass(frozen=True)
class Own:
    width: float = 1.0

    def build(self):
        return hcdyna.MountainCar().build()


@dataclass(frozen=True)
class Corner:
    spread: float = 0.1

    def build(self, env):
        def draw(key, scene, n):
            away = self.spread * jax.random.uniform(key, (n, 2))
            return jax.vmap(env.project)(env.spec.high - away)

        return drawn(draw)


def settings(search_control, environment="GridWorld"):
    return Settings(
        environment=environment,
        agent=DQN(hidden=(4,)),
        search_control=search_control,
        training=Training(steps=40, warmup=10, planning_steps=1, replay_size=40),
        evaluation=Evaluation(every=20),
    )


{guard}
    train(settings(Corner(0.2)), out="runs/corner")
    train(settings(HillClimbing(steps=3, queue_size=50, criterion=height)), out="runs/height")
    train(settings("replay", Own()), out="runs/own")
    run = hcdyna.load("runs/corner")
    run.agent().save("corner.safetensors")
    assert type(hcdyna.load("corner.safetensors").settings.search_control) is Corner
    assert type(hcdyna.resume("runs/corner").settings[0].search_control) is Corner
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What a script leaves behind that defines parts of its own and trains with them."""
    place = tmp_path_factory.mktemp("script")
    (place / "corner.py").write_text(SCRIPT.format(guard='if __name__ == "__main__":'))
    subprocess.run([sys.executable, "corner.py"], cwd=place, check=True)
    return place


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    for name in [name for name in sys.modules if name.endswith("corner.py")]:
        monkeypatch.delitem(sys.modules, name)
    return folder


LOOKING = {
    "list": ["list", "runs"],
    "export": ["export", "runs/corner", "--csv"],
    "plot": ["plot", "runs/corner", "--out", "curves.png"],
    "report": ["report", "runs/corner", "runs/height", "--out", "both.html"],
}


@pytest.mark.parametrize("command", LOOKING)
def test_looking_at_a_run_imports_nothing_that_it_names(command, here, capsys):
    assert main(LOOKING[command]) == 0
    printed = capsys.readouterr()
    assert "the script was run" not in printed.out
    assert printed.err == ""
    assert not any(name.endswith("corner.py") for name in sys.modules)
    if command == "report":
        assert "Corner" in (here / "both.html").read_text()


@pytest.mark.parametrize("run", ["corner", "height"])
@pytest.mark.parametrize("command", ["resume", "eval"])
def test_acting_imports_it_from_anywhere_and_says_so(command, run, here, capsys):
    assert main([command, f"runs/{run}"]) == 0
    printed = capsys.readouterr()
    assert "the script was run" in printed.out
    assert f"warning: importing {here / 'corner.py'}, which is named in the settings" in printed.err


@pytest.mark.parametrize("command", ["eval", "watch", "plot --what agent"])
def test_agents_in_an_environment_of_ones_own_act(command, here, capsys):
    assert main([*command.split(), "runs/own"]) == 0
    assert "corner.py, which is named in the settings" in capsys.readouterr().err


def test_acting_says_that_it_imports_the_package_of_a_gymnasium_environment(tmp_path, monkeypatch):
    (tmp_path / "lone.py").write_text(
        "import gymnasium\n"
        "entry = 'gymnasium.envs.classic_control:CartPoleEnv'\n"
        "gymnasium.register('Lone-v0', entry, max_episode_steps=9)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    settings = Settings(
        environment="lone:Lone-v0",
        search_control="replay",
        training=Training(steps=10, warmup=10, replay_size=40),
        evaluation=Evaluation(every=10),
    )
    run = train(settings, out=tmp_path / "run")
    run.agent().save(tmp_path / "agent.safetensors")
    for act in (lambda: load(run.folder).agent(), lambda: load(tmp_path / "agent.safetensors")):
        monkeypatch.delitem(sys.modules, "lone", raising=False)
        spaces_of.cache_clear()
        with pytest.warns(UserWarning, match="importing lone, which is named in the settings"):
            act()


def test_acting_says_that_it_imports_what_the_spec_of_an_environment_names():
    """Its class and its wrappers, which need not be those of its id."""
    wrapper = WrapperSpec("Wrapper", "wraps_it:Wrapper", {})
    spec = EnvSpec("Lone-v0", "makes_it:Lone", additional_wrappers=(wrapper,)).to_json()
    settings = Settings(environment=Hosted("Lone-v0", spec=spec), agent="dqn", model="learned")
    with (
        pytest.warns(UserWarning, match="importing makes_it, which is named in the settings"),
        pytest.warns(UserWarning, match="importing wraps_it, which is named in the settings"),
    ):
        to_act(settings)


def test_python_looks_first_and_imports_for_an_agent(here):
    run = load("runs/corner")
    part = run.settings[0].search_control
    assert isinstance(part, Described)
    assert repr(part) == "Corner(spread=0.2)"
    with pytest.raises(RunError, match="only described"):
        part.build(None)
    with pytest.warns(UserWarning, match="importing"):
        agent = run.agent()
    assert agent.settings.search_control.spread == 0.2
    assert to_act(agent.settings) is agent.settings


def test_a_script_that_trains_when_imported_is_told_how_not_to(tmp_path, monkeypatch, capsys):
    (tmp_path / "corner.py").write_text(SCRIPT.format(guard="if True:"))
    subprocess.run([sys.executable, "corner.py"], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    assert main(["resume", "runs/corner"]) == 2
    assert "under if __name__ == '__main__':" in capsys.readouterr().err


def test_what_can_not_be_found_again_is_refused_at_the_start(tmp_path):
    @dataclass(frozen=True)
    class Local:
        def build(self, env):
            raise AssertionError

    settings = Settings(search_control=Local(), training=Training(steps=10, warmup=5))
    assert place_of(Local) is None
    with pytest.raises(SettingsError, match=r"can't be saved with the run; define Local at"):
        train(settings, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_class_from_an_interactive_session_says_where_it_was(tmp_path, monkeypatch):
    plain = settings_to_plain(Settings())
    plain["search_control"] = {"name": "__main__:Gone"}
    with pytest.raises(SettingsError, match=r"defined in an interactive session"):
        settings_from_plain(plain)


def test_modules_that_raise_are_one_line(tmp_path, monkeypatch):
    (tmp_path / "raises_on_import.py").write_text("raise SystemError('a\\nb')")
    monkeypatch.syspath_prepend(tmp_path)
    with (
        pytest.warns(UserWarning, match="importing raises_on_import"),
        pytest.raises(SettingsError, match=r"can't import 'raises_on_import:X': a b"),
    ):
        imported("raises_on_import:X")


@pytest.mark.parametrize("section", ["agent", "training", "evaluation"])
def test_a_run_that_names_a_module_of_python_itself_does_not_import_it(section, tmp_path):
    """`antigravity` opens a browser when it is imported."""
    settings = Settings(
        agent=DQN(hidden=(4,)),
        search_control="replay",
        training=Training(steps=20, warmup=10, planning_steps=1, replay_size=40),
        evaluation=Evaluation(every=10),
    )
    train(settings, out=tmp_path / "run")
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    record["settings"][0]["search_control"] = {"name": "antigravity:Any"}
    field = {"agent": "network", "training": "steps", "evaluation": "every"}[section]
    record["settings"][0][section][field] = {"import": "this:s"}
    record["checksum"] = run_json.checksum_of(record)
    (tmp_path / "run" / "run.json").write_text(json.dumps(record))
    for command in (["list", "runs", "--folder", str(tmp_path)], ["report", str(tmp_path / "run")]):
        main(command)
    assert "antigravity" not in sys.modules
    assert "this" not in sys.modules


def test_a_preset_with_a_part_of_ones_own(here, capsys):
    text = presets.dump(load("runs/corner").settings[0])
    (here / "mine.yaml").write_text(text)
    assert main(["train", "--preset", "mine.yaml", "--out", "runs/again", "--quiet"]) == 0
    assert "importing" in capsys.readouterr().err
    assert resume("runs/again").finished, "once imported, there is nothing more to say"


MODULE = """
from dataclasses import dataclass
from hcdyna import Settings, Uniform, train
import beside_it

@dataclass(frozen=True)
class Mine:
    def build(self, env):
        return Uniform().build(env)
{more}
"""


@pytest.fixture
def modules(tmp_path, monkeypatch):
    """A module in the current folder, and a script in another one, each beside what it imports."""
    for folder, name in ((tmp_path, "a_module_of_mine.py"), (tmp_path / "away", "script.py")):
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(MODULE.format(more=""))
        (folder / "beside_it.py").write_text("")
    (tmp_path / "trains_at_once.py").write_text(MODULE.format(more="train(Settings())"))
    monkeypatch.chdir(tmp_path)
    before, path = set(sys.modules), list(sys.path)
    yield tmp_path
    assert sys.path == path
    for name in set(sys.modules) - before:
        if name.endswith((".py", "_mine", "beside_it")):
            del sys.modules[name]


@pytest.mark.parametrize("place", ["a_module_of_mine:Mine", "away/script.py:Mine"])
def test_modules_are_found_where_python_would_find_them(place, modules):
    with pytest.warns(UserWarning, match="which is named in the settings"):
        kind = type(Settings(search_control=place).search_control)
    assert kind.__name__ == "Mine"
    assert imported(place_of(kind)) is kind
    assert imported(place) is kind
    saved = settings_to_plain(Settings(search_control=place))["search_control"]["name"]
    assert saved in ("a_module_of_mine:Mine", f"{modules / 'away' / 'script.py'}:Mine")


def test_a_module_that_trains_when_imported_is_told_how_not_to(modules):
    with (
        pytest.warns(UserWarning, match="importing trains_at_once"),
        pytest.raises(RunError, match=r"trains_at_once: trains when it is imported"),
    ):
        Settings(search_control="trains_at_once:Mine")


@pytest.mark.parametrize(
    "place", ["no_such_module:X", "no_such.py:X", "a.b.c:X", ":X", "..:X", "x\0y:X"]
)
def test_where_there_is_nothing_to_import_nothing_is_said_to_be(place, recwarn):
    with pytest.raises(SettingsError, match=r"can't import '"):
        imported(place)
    assert len(recwarn) == 0


def test_a_preset_that_names_the_package_of_an_environment_says_so(tmp_path, monkeypatch, capsys):
    (tmp_path / "alone.py").write_text(
        "import gymnasium\n"
        "gymnasium.register('Alone-v0', 'gymnasium.envs.classic_control:CartPoleEnv')\n"
    )
    (tmp_path / "mine.yaml").write_text("choices: {environment: 'alone:Alone-v0'}")
    monkeypatch.syspath_prepend(tmp_path)
    preset = ["train", "--preset", str(tmp_path / "mine.yaml"), "--print-settings"]
    assert main(preset) == 0
    assert "importing alone, which is named in the settings" in capsys.readouterr().err
    assert main(["train", "--env", "alone:Alone-v0", "--print-settings"]) == 0
    assert capsys.readouterr().err == "", "the user named it"
