"""The documentation: links lead somewhere, and every block of Python runs.

A block runs as it stands. A comment before it says so where it does not: `<!-- not run: why -->`,
or `<!-- run with steps=300 instead of steps=20_000 -->` where the test shortens it.
"""

import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from hcdyna.cli import main

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```.*?^```", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)|<(?:img|a)\s[^>]*?(?:src|href)=\"([^\"]+)\"")
PYTHON = re.compile(r"((?:^<!-- [^\n]* -->\n)*)^```python\n(.*?)^```", re.M | re.S)
NOT_RUN = re.compile(r"<!-- not run: (.+) -->")
SHORTENED = re.compile(r"<!-- run with (.+) instead of (.+) -->")
COMPILES = re.compile(r"\b(train|sweep|check_\w+)\(")
"""A block that compiles takes seconds."""


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


class Block(NamedTuple):
    """A block of Python of a page."""

    name: str
    comments: str
    text: str


def blocks_of(name, text):
    found = enumerate(PYTHON.findall(text), 1)
    return [Block(f"{name} {number}", comments, text) for number, (comments, text) in found]


BLOCKS = [
    block
    for page in PAGES
    for block in blocks_of(str(page.relative_to(ROOT)), page.read_text(encoding="utf-8"))
]


def shortened(block):
    """The text to run; what is to be replaced must occur exactly once."""
    text = block.text
    for short, usual in SHORTENED.findall(block.comments):
        assert text.count(usual) == 1, f"{block.name}: {usual} occurs {text.count(usual)} times"
        text = text.replace(usual, short)
    return text


def test_blocks_are_found_and_shortened():
    text = "a\n```python\none()\n```\n<!-- run with f(2) instead of f(1) -->\n"
    text += "<!-- run with 3 instead of 9 -->\n```python\nf(1) + 9\n```\n```\nshell\n```\n"
    first, second = blocks_of("page", text)
    assert (first.name, shortened(first)) == ("page 1", "one()\n")
    assert (second.name, shortened(second)) == ("page 2", "f(2) + 3\n")
    with pytest.raises(AssertionError, match="occurs 0 times"):
        shortened(second._replace(text="f(2)"))


def test_a_block_is_run_or_says_why_not():
    assert len(BLOCKS) > 15
    for block in BLOCKS:
        known = NOT_RUN.findall(block.comments) + SHORTENED.findall(block.comments)
        assert len(known) == block.comments.count("<!--"), f"{block.name}: {block.comments}"


def test_blocks_know_every_name_they_use(tmp_path):
    for number, block in enumerate(BLOCKS):
        (tmp_path / f"block_{number}.py").write_text(shortened(block), encoding="utf-8")
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select", "F821"]
    found = subprocess.run([*ruff, tmp_path], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout


def run_block(block, folder):
    script = folder / "block.py"
    script.write_text(shortened(block), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]


RUN = [block for block in BLOCKS if not NOT_RUN.search(block.comments)]
QUICK = [block for block in RUN if not COMPILES.search(block.text)]
TRAINING = [block for block in RUN if COMPILES.search(block.text)]


@pytest.mark.parametrize("block", QUICK, ids=lambda block: block.name)
def test_block_runs(block, tmp_path):
    run_block(block, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("block", TRAINING, ids=lambda block: block.name)
def test_block_that_trains_runs(block, tmp_path):
    run_block(block, tmp_path)


def commands_of(text):
    """The words of every `hcdyna train …` in blocks and in the text."""
    lines = re.findall(r"^ *hcdyna (train .*)|`hcdyna (train --[^`]*)`", text, re.M)
    words = (re.split(r" {3,}", block or inline)[0] for block, inline in lines)
    return [shlex.split(line) for line in words if "…" not in line]


COMMANDS = {
    shlex.join(words): words
    for page in PAGES
    for words in commands_of(page.read_text(encoding="utf-8"))
    if "--help" not in words
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_commands_that_train_are_understood(words, capsys, tmp_path, monkeypatch):
    (tmp_path / "my_module.py").write_text(
        "from parts_of_ours import Mixture, Pond\n"
        "def make_env(goal):\n    import gymnasium\n    return gymnasium.make('CartPole-v1')\n"
    )
    monkeypatch.chdir(tmp_path)
    assert main([*words, "--print-settings"]) == 0
    assert "planning_steps" in capsys.readouterr().out


def test_commands_are_found():
    text = "`hcdyna train --env X`\n```\nhcdyna train --a b   hcdyna plot c\n```\n"
    assert commands_of(text) == [["train", "--env", "X"], ["train", "--a", "b"]]


def dead_links():
    spec = importlib.util.spec_from_file_location("dead_links", ROOT / "docs/dead_links.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.dead_links


def test_dead_links_of_a_site_are_found(tmp_path):
    (tmp_path / "below").mkdir()
    (tmp_path / "picture one.png").write_bytes(b"")
    (tmp_path / "404.html").write_text('<a href="/index.html"></a><a href="index.html"></a>')
    (tmp_path / "below/index.html").write_text(
        '<h1 id="known">a</h1><a href="../index.html#top"></a><a href="../../out.html"></a>'
        '<img src="../picture%20one.png"><img src="picture%20one.png"><a href="#known"></a>'
    )
    (tmp_path / "index.html").write_text(
        '<a href="below"></a><a href="below/#known"></a><a href="below/index.html#unknown"></a>'
        '<a href="https://example.org/x"></a><a href="/below/index.html"></a><a href="no.html"></a>'
        '<a href="#none"></a><a href="mailto:a@b"></a><pre>&lt;a href="text.html"></pre>'
    )
    assert dead_links()(tmp_path) == [
        "404.html: index.html",
        "below/index.html: ../../out.html",
        "below/index.html: picture%20one.png",
        "index.html: below/index.html#unknown",
        "index.html: /below/index.html",
        "index.html: no.html",
        "index.html: #none",
    ]


def test_the_page_of_the_reproduction_has_no_dead_links():
    folder = ROOT / "results/paper"
    assert (folder / "index.html").is_file()
    assert dead_links()(folder) == []
