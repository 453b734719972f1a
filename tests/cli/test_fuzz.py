"""Malformed options, presets and run folders: exit code 2 and one line, never a traceback."""

import contextlib
import hashlib
import io
import json
import shutil
import sys

import fuzzing
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_cli import TINY

from hcdyna.cli import COMMANDS, main
from hcdyna.settings import registry

quickly = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
odd_text = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
scalar = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), odd_text, st.just([]), st.just({})
)
document = st.recursive(
    scalar,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(odd_text, inner, max_size=3)
    ),
    max_leaves=6,
)


def call(*arguments):
    """Exit code and standard error; anything but 0, or 2 with one line, fails."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(argument) for argument in arguments])
    assert code in (0, 2)
    if code == 2:
        lines = [line for line in err.getvalue().splitlines() if "warning" not in line]
        assert len(lines) == 1
        assert lines[0].startswith("hcdyna: ")
    assert "Traceback" not in err.getvalue()
    return code


@quickly
@given(st.one_of(odd_text, document.map(lambda x: yaml.safe_dump(x, allow_unicode=True))))
def test_any_text_as_a_preset(tmp_path, text):
    file = tmp_path / "preset.yaml"
    file.write_text(text, encoding="utf-8")
    assert call("train", "--preset", file, "--print-settings") in (0, 2)


def replace_one(data, tree, value):
    """Replace something deep in a structure."""
    while True:
        key = data.draw(st.sampled_from(list(tree) if isinstance(tree, dict) else range(len(tree))))
        if isinstance(tree[key], dict | list) and tree[key] and data.draw(st.booleans()):
            tree = tree[key]
        else:
            tree[key] = value
            return


@pytest.mark.parametrize(
    ("number", "seed"), [(40, 1), pytest.param(1_000, 2, marks=pytest.mark.slow)]
)
def test_hostile_command_lines(number, seed, tmp_path):
    assert not fuzzing.search(number, seed, tmp_path)


def test_the_fuzzer_knows_every_command_and_part_and_notices_what_is_wrong(tmp_path, monkeypatch):
    lines = list(fuzzing.inputs(5, 3_000, tmp_path))
    assert lines == list(fuzzing.inputs(5, 3_000, tmp_path)), "equal seeds give equal inputs"
    assert set(COMMANDS) <= {words[0] for words in lines}
    words = {word for line in lines for word in line}
    for group, parts in registry.PARTS.items():
        assert set(parts) <= words, group
    fields = {flag for line in lines for flag in line if flag.startswith("--")}
    assert {"--search.eta", "--agent.hidden", "--model.successors", "--evaluation.every"} <= fields
    assert fuzzing.complaint(["list", "agents"]) is None
    for wrong in (raising, hanging, talking):
        monkeypatch.setattr(fuzzing, "main", wrong)
        monkeypatch.setattr(fuzzing, "SECONDS", 1)
        assert fuzzing.complaint([]) is not None


def raising(words):
    raise TypeError("a bug")


def hanging(words):
    while True:
        pass


def talking(words):
    print("hcdyna: one line\nand another", file=sys.stderr)
    return 2


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "tiny"
    assert call("train", *TINY, "--quiet", "--out", folder) == 0
    return folder


def fingerprint(folder):
    return {
        path.relative_to(folder): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@settings(quickly, max_examples=20)
@given(st.data(), document, st.sampled_from(["resume", "export", "eval", "diagnose", "list"]))
def test_a_run_folder_with_something_wrong_in_it(tmp_path, finished, data, value, command):
    before = fingerprint(finished)
    folder = tmp_path / "broken"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(finished, folder)
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "lock")
    path = data.draw(st.sampled_from(paths))
    if path.name == "run.json":
        record = json.loads(path.read_text())
        replace_one(data, record, value)
        path.write_text(json.dumps(record))
    else:
        content = path.read_bytes()
        cut = data.draw(st.integers(0, len(content)))
        path.write_bytes(content[:cut] + data.draw(st.binary(max_size=20)))
    more = {"resume": ["--quiet"], "export": ["--csv"], "eval": ["--episodes", "1"]}
    words = ["list", "runs", "--folder", tmp_path] if command == "list" else [command, folder]
    call(*words, *more.get(command, []))
    assert fingerprint(finished) == before, "another run was touched"
