"""A short version of benchmarks/chaos.py, which kills workers during a sweep."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "chaos.py"


@pytest.mark.slow
def test_a_sweep_survives_kills_and_makes_the_same_bytes():
    """What share was repeated is not looked at: of so few cells, one kill repeats much."""
    answer = subprocess.run(
        [sys.executable, str(SCRIPT), "--cells", "16", "--every", "4"],
        capture_output=True,
        text=True,
        check=False,
    )
    kills = re.search(r"with (\d+) kills", answer.stdout)
    assert kills, answer.stderr
    assert int(kills[1]) > 0
    assert answer.stdout.endswith(": none\n")
