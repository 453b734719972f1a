"""The documentation: links lead somewhere, and the examples of docs/extend.md run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```.*?^```", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)|<(?:img|a)\s[^>]*?(?:src|href)=\"([^\"]+)\"")
PYTHON = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


def links(text):
    """Targets of links and images in Markdown, without those in blocks of code."""
    found = (one or other for one, other in LINK.findall(FENCE.sub("", text)))
    return [target for target in found if not re.match(r"[a-z]+:|#", target)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_images_lead_somewhere(page):
    missing = [
        target
        for target in links(page.read_text(encoding="utf-8"))
        if not (page.parent / target.partition("#")[0]).exists()
    ]
    assert not missing


def test_links_are_found():
    text = "[a](b.md#c) ![d](e.png)\n```\n[no](no.md)\n```\n[f](https://g) [h](#i)"
    text += ' <img src="j.png"> [![k](l.png)](m.md)'
    assert links(text) == ["b.md#c", "e.png", "j.png", "l.png", "m.md"]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(3))
def test_examples_of_extending_run(number, tmp_path):
    blocks = PYTHON.findall((ROOT / "docs/extend.md").read_text(encoding="utf-8"))
    assert len(blocks) == 3
    script = tmp_path / "example.py"
    script.write_text(blocks[number], encoding="utf-8")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
