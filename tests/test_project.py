"""Promises of the project's files."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_lock_files_hold_hashes_and_no_address():
    for name in ("core", "dev"):
        text = (ROOT / f"requirements/{name}.lock").read_text()
        assert "://" not in text
        assert text.count("--hash=sha256:") > 20
        assert re.search(r"^jax==", text, re.M)


def test_the_readme_opens_with_commands_that_exist():
    readme = (ROOT / "README.md").read_text()
    makefile = (ROOT / "Makefile").read_text()
    commands = re.findall(r"^make (\w+)", readme, re.M)
    assert commands[:2] == ["demo", "test"]
    for target in commands:
        assert re.search(rf"^{target}:", makefile, re.M), f"make {target}"


def test_no_strategy_is_longer_than_a_screen_or_two():
    for path in (ROOT / "src/hcdyna").rglob("*.py"):
        assert len(path.read_text().splitlines()) <= 250, f"{path.name} has grown into two"
