"""Slow environments step in processes of their own, with the same bits and the same errors."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import worlds_of_ours  # registers the environments

from hcdyna import RunError, SettingsError
from hcdyna.gymnasium.theirs.environment import Hosted
from hcdyna.gymnasium.theirs.processes import Remote
from hcdyna.gymnasium.theirs.worlds import Worlds


def walk(worlds, steps):
    """What all agents see on a walk of random actions."""
    rng, count = np.random.default_rng(0), len(worlds.envs)
    seen = [np.stack([worlds.reset(i, seed=i) for i in range(count)])]
    for _ in range(steps):
        found = worlds.step(rng.integers(3, size=count))
        seen.append(found.obs)
        for index in np.flatnonzero(found.terminated | found.truncated):
            seen[-1][index] = worlds.reset(int(index))
    return np.stack(seen)


def test_processes_are_for_slow_environments_of_several_seeds():
    kinds = {
        (name, seeds): isinstance(Worlds(Hosted(f"worlds_of_ours:{name}"), seeds).envs[0], Remote)
        for name, seeds in (("Walk-v0", 2), ("Slow-v0", 2), ("Slow-v0", 1))
    }
    assert kinds == {("Walk-v0", 2): False, ("Slow-v0", 2): True, ("Slow-v0", 1): False}


def test_signals_to_all_processes_of_a_terminal_do_not_reach_those_of_environments():
    """Else Ctrl-C while they start ends them, and they can't be made."""
    (env,) = Worlds(Hosted("worlds_of_ours:Walk-v0", processes="on"), 1).envs
    assert os.getpgid(env.process.pid) != os.getpgrp()


def test_what_is_imported_there_is_not_said_again(capfd):
    hosted = Hosted(factory=worlds_of_ours.Walk, processes="on")
    Worlds(hosted, 1).close()
    assert capfd.readouterr().err == ""


def test_the_same_bits_in_processes():
    seen = {}
    for processes in ("on", "off"):
        worlds = Worlds(Hosted("worlds_of_ours:Walk-v0", processes=processes), 3)
        seen[processes] = walk(worlds, steps=100)
        worlds.close()
    assert np.array_equal(seen["on"], seen["off"])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Raises-v0", r"Raises-v0: step raised OSError: the motor is gone \(step 150"),
        ("Dtype-v0", r"Dtype-v0: step returned observations of float64; .* float32 \(step 150"),
        ("Dies-v0", r"Dies-v0: step raised .*its process ended with exit code 0 \(step 150"),
    ],
)
def test_a_failure_there_is_told_here(name, words):
    worlds = Worlds(Hosted(f"worlds_of_ours:{name}", processes="on"), 2)
    with pytest.raises(RunError, match=words):
        walk(worlds, 200)


def test_a_reset_that_hangs_there_is_given_up():
    worlds = Worlds(Hosted("worlds_of_ours:Hangs-v0", processes="on", reset_timeout=2.0), 1)
    with pytest.raises(RunError, match=r"reset did not return within 2 s"):
        walk(worlds, 400)


def test_a_reset_as_in_the_old_gym_is_told():
    worlds = Worlds(Hosted("Old-v0"), 1)
    with pytest.raises(RunError, match=r"Old-v0: reset did not return \(obs, info\) \(step 0"):
        worlds.reset(0, seed=0)


def test_what_only_this_process_knows_stays_here():
    assert not isinstance(Worlds(Hosted("Slow-v0"), 2).envs[0], Remote)
    with pytest.raises(RunError, match=r"Slow-v0: can't be made in a process of its own .*doesn't"):
        Worlds(Hosted("Slow-v0", processes="on"), 1)


def test_a_wrong_word_is_refused():
    with pytest.raises(SettingsError, match=r"Hosted.processes = 'yes': must be one of"):
        Hosted("CartPole-v1", processes="yes")


CHILD = """
from hcdyna.gymnasium.theirs.environment import Hosted
from hcdyna.gymnasium.theirs.worlds import Worlds
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
worlds = Worlds(Hosted("worlds_of_ours:Walk-v0", processes="on"), 1)
worlds.reset(0, seed=0)
print(worlds.envs[0].process.pid, flush=True)
for _ in range(5):
    worlds.step(np.zeros(1, int))
"""


def is_running(pid):
    """Zombies aside: it may take a while until somebody asks for their exit code."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_process_that_hangs_ends_with_the_one_that_was_killed():
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    env = os.environ | {"WALK_FAULT": "freezes", "PYTHONPATH": paths}
    command = [sys.executable, "-c", CHILD]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=env, text=True) as parent:
        pid = int(parent.stdout.readline())
        assert is_running(pid)
        time.sleep(1.0)  # until it hangs
        parent.kill()
    for _ in range(100):
        if not is_running(pid):
            return
        time.sleep(0.1)
    pytest.fail("it is still there")
