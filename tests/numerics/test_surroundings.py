"""Variables of the surroundings: training runs, or one line says which is in the way."""

import os
import shutil
import subprocess
import sys

import pytest

from hcdyna.numerics.surroundings import problem_with_flags

RUN = [
    *("train", "--search-control", "replay", "--steps", "40", "--warmup", "20", "--quiet"),
    *("--replay-size", "100", "--planning-steps", "1", "--evaluation.every", "20"),
    *("--env.time-limit", "20", "--out", "run"),
]
IN_THE_WAY = {
    "JAX_PLATFORMS=tpu": "JAX_PLATFORMS = 'tpu': no device to run on: Unable to initialize",
    "JAX_ENABLE_X64=1": "JAX_ENABLE_X64 = True: must not be set, since programs are made for sing",
    "JAX_ENABLE_X64=maybe": "JAX does not start with these variables: invalid truth value 'maybe'",
    "JAX_TRANSFER_GUARD=disallow": "JAX_TRANSFER_GUARD = disallow: must not be set, since",
    "JAX_NUMPY_DTYPE_PROMOTION=strict": "JAX_NUMPY_DTYPE_PROMOTION = strict: must not be set",
    "JAX_NUMPY_RANK_PROMOTION=raise": "JAX_NUMPY_RANK_PROMOTION = raise: must not be set",
    "XLA_FLAGS=--xla_nothing=1": "XLA_FLAGS = '--xla_nothing=1': Unknown flag in XLA_FLAGS",
    "JAX_PLATFORMS=nothing": "JAX_PLATFORMS = 'nothing': no device to run on",
    "JAX_PLATFORM_NAME=nothing": "JAX_PLATFORM_NAME = 'nothing': no device to run on",
    "JAX_NUM_CPU_DEVICES=0": "JAX_NUM_CPU_DEVICES = 0: must be from 1 to 1024",
    "JAX_NUM_CPU_DEVICES=100000": "JAX_NUM_CPU_DEVICES = 100000: must be from 1 to 1024",
    "JAX_NUM_CPU_DEVICES=abc": "JAX does not start with these variables: Invalid value",
    "JAX_DEFAULT_DEVICE=tpu": "JAX_DEFAULT_DEVICE = 'tpu': no device to run on",
    "JAX_DISABLE_JIT=1": "JAX_DISABLE_JIT = True: must not be set, since a time step",
    "JAX_NO_TRACING=1": "JAX_NO_TRACING = True: must not be set",
    "JAX_NO_EXECUTION=1": "JAX_NO_EXECUTION = True: must not be set",
    "JAX_DEBUG_KEY_REUSE=1": "JAX_DEBUG_KEY_REUSE = True: must not be set",
    "XLA_FLAGS=/nowhere": "XLA_FLAGS = '/nowhere': Could not open file",
    "XLA_FLAGS=--xla_force_host_platform_device_count=99999": "99999: must be from 1 to 1024",
}
if shutil.which("nvidia-smi") is None:
    IN_THE_WAY = {
        "JAX_PLATFORMS=cuda": "JAX_PLATFORMS = 'cuda': no device to run on: "
    } | IN_THE_WAY
RUNS = (
    "HOME=",
    "JAX_COMPILATION_CACHE_DIR=/proc/nowhere",
    "JAX_ENABLE_COMPILATION_CACHE=0",
    "JAX_COMPILATION_CACHE_MAX_SIZE=1000",
    "JAX_DEBUG_NANS=1",
    "JAX_TRANSFER_GUARD=log",
    "JAX_NUMPY_RANK_PROMOTION=warn",
    "JAX_DEFAULT_PRNG_IMPL=rbg",
    "JAX_DEFAULT_DEVICE=cpu",
    "JAX_NUM_CPU_DEVICES=3",
    "JAX_CHECK_TRACER_LEAKS=1",
    "XLA_FLAGS=--xla_force_host_platform_device_count=2",
    "XDG_CACHE_HOME=/proc/nowhere",
    "PYTHONWARNINGS=error",
    "PYTHONOPTIMIZE=2",
    "PYTHONIOENCODING=ascii",
    "TMPDIR=/nowhere",
)


def hcdyna(variable, folder):
    name, _, value = variable.partition("=")
    return subprocess.run(
        [sys.executable, "-m", "hcdyna", *RUN],
        env=os.environ | {name: value},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=200,
    )


def some(variables, few):
    """A few of them always, the others in the slow set."""
    marked = [pytest.param(x, marks=pytest.mark.slow) for x in list(variables)[few:]]
    return [*list(variables)[:few], *marked]


@pytest.mark.parametrize("variable", some(IN_THE_WAY, 8))
def test_what_is_in_the_way_is_named_in_one_line(variable, tmp_path):
    answer = hcdyna(variable, tmp_path)
    assert answer.returncode == 2, answer.stderr
    assert answer.stderr.startswith("hcdyna: ")
    assert answer.stderr.count("\n") == 1
    assert IN_THE_WAY[variable] in answer.stderr
    assert not list(tmp_path.iterdir()), "nothing was begun"


@pytest.mark.parametrize("variable", some(RUNS, 1))
def test_with_the_others_it_runs(variable, tmp_path):
    answer = hcdyna(variable, tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert "Traceback" not in answer.stderr
    assert (tmp_path / "run" / "run.json").is_file()


def test_a_backend_that_matplotlib_does_not_have(tmp_path):
    answer = subprocess.run(
        [sys.executable, "-m", "hcdyna", "plot", "nowhere"],
        env=os.environ | {"MPLBACKEND": "nonsense"},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert answer.stderr == "hcdyna: nowhere: not a run folder (it has no run.json)\n"


def test_flags_that_xla_knows_are_no_problem():
    assert problem_with_flags("") is None
    assert problem_with_flags("--xla_force_host_platform_device_count=2") is None
    assert "nothing" in problem_with_flags("--xla_nothing=1")


def test_a_user_without_a_name_and_a_home(tmp_path):
    code = """
import os, pwd, tempfile
from hcdyna.numerics.caches import cache_folder
if os.getuid() == 0:
    os.setgid(12345)
    os.setuid(12345)
print(cache_folder("compiled"))
"""
    if os.getuid() != 0:
        pytest.skip("only root can become a user without a name")
    tmp_path.chmod(0o777)
    for folder in tmp_path.parents[:-2]:
        folder.chmod(folder.stat().st_mode | 0o055)
    surroundings = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME")}
    answer = subprocess.run(
        [sys.executable, "-c", code],
        env=surroundings | {"TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert answer.stderr == ""
    assert answer.stdout.strip() == str(tmp_path / "hcdyna-12345" / "compiled")
    about = (tmp_path / "hcdyna-12345" / "compiled").stat()
    assert (about.st_uid, about.st_mode & 0o777) == (12345, 0o700)
