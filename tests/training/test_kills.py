"""Runs of every kind, killed with SIGKILL at random moments, come to the same end bit for bit."""

import os
import secrets
import subprocess
import sys
import time

import numpy as np
import pytest

from hcdyna.numerics.files import read_arrays
from hcdyna.runs.store import Store

SMALL = (
    "--planning-steps 1 --warmup 60 --replay-size 300 --batch-size 8 --seeds 2 --quiet "
    "--evaluation.every 40"
)
KINDS = {
    "dqn": "--env GridWorld --env.time-limit 50 --model learned --search.steps 5 --steps 300",
    "ddpg": "--env GridWorldContinuous --env.time-limit 50 --search.steps 5 --steps 800",
    "tabular": "--env TabularGridWorld --agent tabular --model counted --steps 1600",
    "hosted": "--env CartPole-v1 --search.steps 5 --steps 1600",
    "hosted continuous": "--env Pendulum-v1 --search.steps 5 --steps 400",
    "hosted in processes": "--env CartPole-v1 --env.processes on --search.steps 5 --steps 800",
    "hosted with known ends": (
        "--env CartPole-v1 --env.scaling --search.skip-terminal --search.steps 5 --steps 800"
    ),
}
KILLS = 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_killed_at_any_moment(kind, tmp_path):
    """At other moments every time; a failure shows their seed, HCDYNA_KILLS=SEED repeats it."""
    seed = int(os.environ.get("HCDYNA_KILLS", secrets.randbelow(2**32)))
    rng = np.random.default_rng(seed)
    start = time.monotonic()
    assert train(kind, tmp_path / "whole").wait() == 0
    longest, reached = time.monotonic() - start, []
    for _ in range(KILLS):
        process = train(kind, tmp_path / "killed")
        delay = rng.uniform(0.4, 1.0) * min(longest, 20.0)
        time.sleep(delay)
        process.kill()
        process.wait()
        paths = sorted((tmp_path / "killed" / "checkpoints").glob("step-*"))
        reached.append(f"after {delay:.2f} s at {paths[-1].stem if paths else 'no step'}")
    print(f"HCDYNA_KILLS={seed}: killed {', '.join(reached)}")
    assert train(kind, tmp_path / "killed").wait() == 0
    assert same(tmp_path / "whole", tmp_path / "killed")


def train(kind, folder):
    words = f"{sys.executable} -m hcdyna train {KINDS[kind]} {SMALL} --out".split()
    return subprocess.Popen([*words, str(folder)])


def same(one, other):
    """Whether the final states and all evaluations are equal; files of curves begin anywhere."""
    states = [read_arrays(Store.open(run).checkpoints()[0]) for run in (one, other)]
    assert all(states)
    if states[0].keys() != states[1].keys():
        return False
    found = [Store.open(run).progress() for run in (one, other)]
    for name in ("steps", "returns", "lengths", "diverged"):
        states[0][name], states[1][name] = (np.array(getattr(each, name)) for each in found)
    return all(np.array_equal(states[0][k], states[1][k], equal_nan=True) for k in states[0])
