"""Completion with the Tab key, as the shells do it."""

import contextlib
import io
import shutil
import subprocess

import pytest

from hcdyna.cli import COMMANDS, main


@pytest.fixture(scope="module")
def scripts():
    """Those of both shells."""
    found = {}
    for shell in ("bash", "zsh"):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            assert main(["completion", shell]) == 0
        found[shell] = text.getvalue()
    return found


def answer(shell, text):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run(
        [shell, "-c", text], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["hcdyna", "tr"], {"train"}),
        (["hcdyna", ""], {*COMMANDS, "--help", "--version"}),
        (["hcdyna", "train", "--env", "Mountain"], {"MountainCar"}),
        (["hcdyna", "train", "--search.et"], {"--search.eta"}),
        (["hcdyna", "resume", "runs/a", "--st"], {"--steps"}),
        (["hcdyna", "eval", "runs/a", "--be"], {"--best"}),
        (["hcdyna", "list", "pre"], {"presets"}),
        (["hcdyna", "resume", "run"], set()),
    ],
)
def test_bash(scripts, words, offered):
    line = " ".join(f"'{word}'" for word in words)
    words_so_far = f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}"
    found = answer("bash", f'{scripts["bash"]}\n{words_so_far}\n_hcdyna; echo "${{COMPREPLY[@]}}"')
    assert set(found) == offered


def test_zsh(scripts):
    assert scripts["zsh"].endswith(scripts["bash"])
    assert answer("zsh", f"{scripts['zsh']}\nwhence -w _hcdyna")[-2:] == ["_hcdyna:", "function"]


def test_another_shell_is_refused(capsys):
    assert main(["completion", "fish"]) == 2
    assert "fish" in capsys.readouterr().err
