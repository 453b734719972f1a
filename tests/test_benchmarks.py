"""Each benchmark is a script that runs for long; here, that what it imports is there."""

import importlib
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("[!_]*.py"))


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_benchmark_can_be_imported(script, monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    before = set(sys.modules)
    try:
        module = importlib.import_module(script)
        assert f"python benchmarks/{script}.py" in (module.__doc__ or ""), "how to start it"
    finally:
        for name in set(SCRIPTS) & (set(sys.modules) - before):
            del sys.modules[name]
