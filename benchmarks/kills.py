"""Kill a run with SIGKILL at random moments until it ends, and compare with one never killed.

    python benchmarks/kills.py --kind hosted --steps 6000 --kills 25

Final parameters, queue, replay and all curves must be equal bit for bit. Exits with 1 if not.
"""

from __future__ import annotations

import secrets
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import jax
import numpy as np
import tyro

from hcdyna import Run, load_run
from hcdyna.settings.words import count

CLIMBING = "--search-control hill_climbing --search.queue-size 50000 --planning-steps 5"
KINDS = {
    "dqn": f"--env GridWorld --model learned {CLIMBING}",
    "ddpg": f"--env GridWorldContinuous --model learned {CLIMBING}",
    "tabular": "--env TabularGridWorld --agent tabular --model counted --search-control gibbs",
    "hosted": f"--env CartPole-v1 {CLIMBING}",
    "hosted_continuous": f"--env Pendulum-v1 {CLIMBING}",
    "hosted_in_processes": f"--env CartPole-v1 --env.processes on {CLIMBING}",
}
COMMON = "--preset demo --seeds 3 --warmup 500 --evaluation.every 100"


@dataclass(frozen=True)
class Options:
    """How often to kill."""

    kind: Literal[
        "dqn", "ddpg", "tabular", "hosted", "hosted_continuous", "hosted_in_processes"
    ] = "dqn"
    """What is trained."""
    kills: int = 25
    steps: int = 20_000
    """Environment steps of the run."""
    longest: float = 9.0
    """A process lives at most this many seconds before it is killed; three of four are killed
    within as many after they have saved something, since starting takes long where others work."""
    seed: int | None = None
    """Of the moments; another one every time if not given. It is printed, to repeat the kills."""


def command(folder: Path, options: Options) -> list[str]:
    words = f"train {COMMON} {KINDS[options.kind]} --steps {options.steps} --quiet".split()
    return [sys.executable, "-m", "hcdyna", *words, "--out", str(folder)]


def main(options: Options) -> None:
    seed = secrets.randbelow(2**32) if options.seed is None else options.seed
    print(f"seed of the moments: {seed} (--seed {seed} repeats them)", flush=True)
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as place:
        whole, killed = Path(place) / "whole", Path(place) / "killed"
        subprocess.run(command(whole, options), check=True)
        reached = []
        for number in range(options.kills):
            process = subprocess.Popen(command(killed, options))
            moment, starting = rng.uniform(0.0, options.longest), rng.random() < 0.25
            if not starting:
                wait_for_save(process, killed)
            time.sleep(moment)
            process.kill()
            ended = process.wait()
            steps = load_run(killed).steps if (killed / "run.json").exists() else np.zeros(0)
            reached.append(int(steps[-1]) if len(steps) else 0)
            print(
                f"kill {number + 1}, {moment:.2f} s after its {'start' if starting else 'save'}: "
                f"exit code {ended}, "
                f"saved up to step {reached[-1]:,}",
                flush=True,
            )
        subprocess.run(command(killed, options), check=True)
        wrong = differences(load_run(whole), load_run(killed))
    under_way = sum(0 < step < options.steps for step in reached)
    print(
        f"{count(options.kills, 'kill')}, {under_way} of them with some steps saved and some to go"
    )
    print(f"differences with seed {seed}: {', '.join(wrong) or 'none'}")
    sys.exit(bool(wrong))


def wait_for_save(process: subprocess.Popen, folder: Path) -> None:
    """Until a process has saved something, or has ended."""
    before = checkpoints(folder)
    while process.poll() is None and checkpoints(folder) == before:
        time.sleep(0.05)


def checkpoints(folder: Path) -> set[str]:
    """The names of those that there are."""
    return {path.name for path in (folder / "checkpoints").glob("step-*.npz")}


def differences(a: Run, b: Run) -> list[str]:
    """What is not equal bit for bit."""
    wrong = [name for name in ("steps", "returns", "lengths", "diverged")
             if not np.array_equal(getattr(a, name), getattr(b, name))]  # fmt: skip
    for one, other in zip(a.info, b.info, strict=True):
        wrong += [name for name in one if not np.array_equal(one[name], other[name])]
    for seed in a.seeds:
        pairs = zip(
            jax.tree_util.tree_leaves_with_path(a.state(seed)),
            jax.tree.leaves(b.state(seed)),
            strict=True,
        )
        for (path, x), y in pairs:
            if not np.array_equal(x, y):
                wrong.append(f"seed {seed}{jax.tree_util.keystr(path)}")
    return wrong


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
