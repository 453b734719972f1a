"""The sources compile, and nothing needs them where they can't be used."""

import os
import re
import shutil
import tempfile

import jax.numpy as jnp
import pytest

from hcdyna import (
    DQN,
    Acrobot,
    GridWorld,
    Settings,
    SettingsError,
    TabularGridWorld,
    Training,
)
from hcdyna.dyna import build as build_dyna
from hcdyna.kernels import accelerate, build, library
from hcdyna.kernels.cpu import build as cpu_build
from hcdyna.kernels.cpu import coverage
from hcdyna.kernels.sizes import sizes, why_not_covered
from hcdyna.training import trainer
from hcdyna.types import Box, Perceptron


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
@pytest.mark.parametrize(
    ("kernel", "more"),
    [
        ("climb", {"NORMALISE": 1, "PAIRS": 2, "FREQUENCY": 0}),
        ("climb", {"NORMALISE": 1, "PAIRS": 2, "FREQUENCY": 1}),
        ("look", {}),
        ("plan", {"REPLAYED": 16, "SIMULATED": 16, "FALLBACK": 0, "PRECISE": 0}),
        ("plan", {"REPLAYED": 0, "SIMULATED": 32, "FALLBACK": 1, "PRECISE": 1}),
    ],
)
@pytest.mark.slow
def test_the_sources_compile(kernel, more, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    env = Acrobot().build()
    perceptron = DQN().build(env.spec).perceptron
    library = build.compiled(kernel, "sm_90", sizes(perceptron, env) | more)
    assert library.stat().st_size > 10_000
    assert library == build.compiled(kernel, "sm_90", sizes(perceptron, env) | more), "kept"


@pytest.mark.parametrize(
    ("environment", "perceptron", "reason"),
    [
        (GridWorld(), Perceptron((32, 32), "relu", 1e-3, 1_000), None),
        (Acrobot(), Perceptron((64, 64), "tanh", 1e-3, 1_000), None),
        (GridWorld(), None, "not a perceptron"),
        (GridWorld(), Perceptron((32,), "relu", 1e-3, 1_000), "two layers"),
        (GridWorld(), Perceptron((48, 48), "relu", 1e-3, 1_000), "exist for layers"),
        (GridWorld(), Perceptron((32, 32), "relu", 1e-3, 1_000, double=True), "double, loss"),
        (GridWorld(), Perceptron((32, 32), "relu", 1e-3, 1, target_rate=0.01), "or target_rate"),
        (TabularGridWorld(), Perceptron((32, 32), "relu", 1e-3, 1_000), "continuous states"),
    ],
)
def test_what_the_kernels_cover(environment, perceptron, reason):
    found = why_not_covered(perceptron, environment.build())
    assert (found is None) if reason is None else (reason in found)


def test_a_projection_of_ones_own_is_not_covered():
    """The kernel would have to guess what it does."""
    env, perceptron = GridWorld().build(), DQN().build(GridWorld().build().spec).perceptron
    assert why_not_covered(perceptron, env) is None
    own = env._replace(project=lambda obs: jnp.clip(obs, 0.25, 0.75))
    assert why_not_covered(perceptron, own) == "GridWorld: kernels know no Π but a Box"

    class Rounded(Box):
        def __call__(self, obs):
            return jnp.round(super().__call__(obs), 2)

    rounded = env._replace(project=Rounded(env.spec.low, env.spec.high))
    assert why_not_covered(perceptron, rounded) == "GridWorld: kernels know no Π but a Box"


@pytest.fixture
def compiler_of_ours(tmp_path, monkeypatch):
    """A program called nvcc that writes what it was run for the how-manieth time."""
    folder, count = tmp_path / "bin", tmp_path / "count"
    folder.mkdir()
    nvcc = folder / "nvcc"
    nvcc.write_text(
        "#!/bin/sh\nfor last; do :; done\n"
        f'echo x >> {count}; wc -l < {count} > "$last"\nchmod 777 "$last"\n'
    )
    nvcc.chmod(0o700)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))


def test_a_library_is_kept_where_only_this_user_can_write(compiler_of_ours):
    library = build.compiled("climb", "sm_90", {})
    assert library.read_text().strip() == "1"
    for path in (library, library.parent, library.parent.parent):
        assert path.stat().st_mode & 0o777 == 0o700
    assert build.compiled("climb", "sm_90", {}) == library
    assert library.read_text().strip() == "1", "it was not compiled again"


def test_a_library_that_somebody_else_could_have_written_is_not_loaded(compiler_of_ours):
    library = build.compiled("climb", "sm_90", {})
    library.chmod(0o722)
    assert build.compiled("climb", "sm_90", {}).read_text().strip() == "2"
    library.parent.chmod(0o777)
    with pytest.warns(UserWarning, match="can be written by other users"):
        elsewhere = build.compiled("climb", "sm_90", {})
    assert elsewhere != library
    assert elsewhere.read_text().strip() == "3"
    elsewhere.parent.chmod(0o777)
    with (
        pytest.warns(UserWarning, match="can be written by other users"),
        pytest.raises(build.CannotBuild, match=r"compiled kernels can't be kept: .* other users"),
    ):
        build.compiled("climb", "sm_90", {})


@pytest.fixture
def no_compiler(tmp_path, monkeypatch):
    """Nothing on the search path."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(accelerate, "kernels_here", lambda: accelerate.CPU)


def test_without_a_compiler_the_plain_program_runs_and_says_so(no_compiler):
    said = trainer.kernels_used(Settings())
    assert said == "plain: no C++ compiler was found (c++, g++, clang++)"
    with pytest.raises(
        SettingsError, match=r"Training.kernels = 'on': no C\+\+ compiler was found"
    ):
        build_dyna(Settings(training=Training(kernels="on")))
    _, dyna = build_dyna(Settings(training=Training(kernels="auto")))
    assert dyna is not None


ANSWERS = '#!/bin/sh\n[ "$1" = --version ] && echo 1 && exit\nfor last; do :; done\n'
"""The beginning of a script that knows its version; $last is the file that it should write."""


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("not a script", r"no C\+\+ compiler was found \(c\+\+: Exec format error\)"),
        ("#!/nowhere/sh\n", r"no C\+\+ compiler was found \(c\+\+: No such file or directory\)"),
        ("#!/bin/sh\nexit 3\n", r"no C\+\+ compiler was found \(c\+\+: exit code 3\)"),
        (ANSWERS + "printf '\\377\\n' >&2; exit 1", r"c\+\+ failed on a kernel: \ufffd"),
        (ANSWERS + "echo a: error: b >&2; echo c >&2; exit 1", r"c\+\+ .* kernel: a: error: b"),
        (ANSWERS + "kill -9 $$", r"c\+\+ failed on a kernel: exit code -9"),
        (ANSWERS + "sleep 60", r"c\+\+ failed on a kernel: it did not end in 2 seconds"),
        (ANSWERS, r"c\+\+ failed on a kernel: No such file or directory"),
        (ANSWERS + 'echo x > "$last"', r"a kernel can't be loaded: .*"),
    ],
)
def test_with_a_broken_compiler_the_plain_program_runs(script, reason, tmp_path, monkeypatch):
    """The reason is one line, the compiler is asked once, and nothing is left for the next run."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "c++").write_text(script)
    (folder / "c++").chmod(0o700)
    (folder / "sleep").symlink_to(shutil.which("sleep"))
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(accelerate, "kernels_here", lambda: accelerate.CPU)
    monkeypatch.setattr(library, "MOST_SECONDS", 2)
    settings = Settings(agent=DQN(hidden=(48, 16, 48)))  # which no other test has compiled
    said = trainer.kernels_used(settings)
    assert re.fullmatch(f"plain: {reason}", said)
    (folder / "c++").unlink()
    assert trainer.kernels_used(settings) == said
    assert not list((tmp_path / "cache").glob("hcdyna/kernels/*"))


@pytest.mark.parametrize(
    ("environment", "hidden", "reason"),
    [
        (GridWorld(), (32, 32), None),
        (Acrobot(), (64, 128, 256), None),
        (GridWorld(), (16,), None),
        (GridWorld(), (40, 40), "layers of 16, 32, 48 … 256 units"),
        (GridWorld(), (512, 32), "layers of 16, 32, 48 … 256 units"),
        (GridWorld(), (32,) * 5, "one to 4 layers"),
        (TabularGridWorld(), (32, 32), "continuous states"),
    ],
)
def test_what_the_kernels_for_the_cpu_cover(environment, hidden, reason):
    perceptron = Perceptron(hidden, "relu", 1e-3, 1_000)
    found = coverage.why_not_covered(perceptron, environment.build())
    assert (found is None) if reason is None else (reason in found)


def test_a_library_for_the_cpu_is_kept_and_checked(tmp_path, monkeypatch):
    """Compiled once, for the user alone, and again if somebody else could have written it."""
    if cpu_build.why_not() is not None:
        pytest.skip(str(cpu_build.why_not()))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    library = cpu_build.library(["threefry.cc"], [], "")
    assert library.stat().st_mode & 0o777 == 0o700
    assert library.parent.stat().st_mode & 0o777 == 0o700
    made = library.stat().st_mtime_ns
    assert cpu_build.library(["threefry.cc"], [], "").stat().st_mtime_ns == made
    library.chmod(0o722)
    assert cpu_build.library(["threefry.cc"], [], "").stat().st_mtime_ns > made
    monkeypatch.setattr(cpu_build, "FLAGS", ("-no-such-flag",))
    with pytest.raises(build.CannotBuild, match=r"failed on a kernel: .*no-such-flag"):
        cpu_build.library(["threefry.cc"], [], "")
