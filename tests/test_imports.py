"""The rooms of the house: imports go down or stay in their room, and never in a circle.

Lazy imports, inside functions, count. What is imported for type checkers alone does not, nor what
is named by a string (the registry, plug-ins).
"""

import ast
import importlib
import re
import sys
from pathlib import Path

import jax
import pytest

import hcdyna
from hcdyna.training.compiled import of_agent, time_step
from hcdyna.training.trainer import Trainer

SOURCE = Path(__file__).parents[1] / "src"
ROOMS = [
    "hcdyna.__main__",
    "hcdyna.cli",
    "hcdyna.bench",
    "hcdyna.sweeps",
    "hcdyna.experiments",
    "hcdyna.figures",
    "hcdyna.training",
    "hcdyna.runs",
    "hcdyna.gymnasium.theirs",
    "hcdyna.testing",
    "hcdyna.dyna",
    "hcdyna.kernels",
    "hcdyna.planning",
    "hcdyna.search_control",
    "hcdyna.models",
    "hcdyna.agents",
    "hcdyna.gymnasium",
    "hcdyna.environments",
    "hcdyna.callbacks",
    "hcdyna.statistics",
    "hcdyna.numerics",
    "hcdyna.settings",
    "hcdyna.types",
    "hcdyna.lazily",
    "hcdyna.version",
]
"""From the top floor to the ground. The front page, hcdyna itself, only says where names live."""
MOST_AT_THE_TOP = 8


def module_name(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


def imports_in(node):
    """Every import below a node, but those for type checkers."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for other in child.orelse:
                yield from imports_in(ast.Module([other], []))
        else:
            yield from imports_in(child)


def target(module, name):
    """The module that `from module import name` is about; a public name lives somewhere else."""
    if f"{module}.{name}" in MODULES:
        return f"{module}.{name}"
    if module == "hcdyna" and name in hcdyna.HOME_OF:
        return target(hcdyna.HOME_OF[name], name)
    return module


def imported_by(text):
    """The modules of this package that a source imports."""
    found = set()
    for node in imports_in(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        else:
            assert not node.level, "relative imports are not followed"
            found |= {target(node.module, alias.name) for alias in node.names}
    return {name for name in found if name.partition(".")[0] == "hcdyna"}


GRAPH = {name: imported_by(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}


def circle(graph):
    """The modules of a circle, in order; None if there is none."""
    done: set[str] = set()

    def search(name, way):
        if name in way:
            return [*way[way.index(name) :], name]
        if name in done:
            return None
        for other in sorted(graph.get(name, ())):
            if found := search(other, [*way, name]):
                return found
        done.add(name)
        return None

    return next((found for name in graph if (found := search(name, []))), None)


def floor(module):
    """The number of the room that a module is in, from the top."""
    parts = module.split(".")
    for length in range(len(parts), 1, -1):
        if (room := ".".join(parts[:length])) in ROOMS:
            return ROOMS.index(room)
    raise AssertionError(f"{module} is in no room: give it a place in ROOMS")


def test_no_module_imports_itself_in_a_circle():
    assert circle(GRAPH) is None


@pytest.mark.parametrize("module", [name for name in MODULES if name != "hcdyna"])
def test_no_import_goes_up(module):
    up = {name for name in GRAPH[module] - {"hcdyna"} if floor(name) < floor(module)}
    assert not up
    assert "hcdyna" not in GRAPH[module], "the front page is for users"


def test_a_module_is_named_by_a_string_only_to_show_a_thing_in_a_notebook():
    """Such an import would be missing in the graph; parts are named in the registry alone."""
    by_name = re.compile(r'import_module\(f?"(hcdyna[\w.]*)')
    up = {
        (name, other)
        for name, path in MODULES.items()
        for other in by_name.findall(path.read_text(encoding="utf-8"))
        if name != "hcdyna" and floor(other.rstrip(".")) < floor(name)
    }
    assert {other for _, other in up} == {"hcdyna.figures.notebook"}
    assert {name for name, _ in up} == {
        "hcdyna.runs.run",
        "hcdyna.runs.trained",
        "hcdyna.settings.core",
    }


def test_the_top_level_is_a_handful_of_modules():
    top = [path.name for path in (SOURCE / "hcdyna").glob("*.py")]
    assert len(top) <= MOST_AT_THE_TOP, sorted(top)


def test_every_room_is_there():
    assert set(ROOMS) <= set(MODULES)


def test_names_of_the_front_page_live_where_it_says():
    for name, home in hcdyna.HOME_OF.items():
        if f"{home}.{name}" in MODULES and not hasattr(importlib.import_module(home), name):
            importlib.import_module(f"{home}.{name}")
        assert getattr(hcdyna, name) is getattr(importlib.import_module(home), name)
    assert {"DQN", "train", "ring"} <= set(hcdyna.HOME_OF) == set(hcdyna.__all__)
    assert set(dir(hcdyna)) >= set(hcdyna.HOME_OF)
    assert hcdyna.ring is importlib.import_module("hcdyna.numerics.ring")
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        hcdyna.nothing  # noqa: B018


def test_circles_and_lazy_imports_are_found():
    text = """
from typing import TYPE_CHECKING
from hcdyna import Settings, ring
import hcdyna.types
if TYPE_CHECKING:
    from hcdyna.cli import main
def later():
    from hcdyna.runs import store
"""
    assert imported_by(text) == {
        "hcdyna.settings",
        "hcdyna.numerics.ring",
        "hcdyna.types",
        "hcdyna.runs.store",
    }
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == ["b", "c", "b"]
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) is None


def test_a_time_step_goes_through_the_files_that_the_documents_name():
    text = (SOURCE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| \d \| \[`([\w./]+)`\]", text, re.MULTILINE)
    helpers = [*re.findall(r"`([\w./]+(?:\.py|/))`", text), "kernels/"]
    trainer = Trainer([hcdyna.Settings(training=hcdyna.Training(kernels="off"))], [0])
    like = (trainer.shapes, trainer.numbers)
    like = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), like)
    seen = set()

    def note(frame, event, argument):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(SOURCE / "hcdyna"):
            seen.add(str(path.relative_to(SOURCE / "hcdyna")))

    def step(life, numbers):
        return time_step(*of_agent(trainer.static, numbers), False, life)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        jax.eval_shape(step, *like)
    finally:
        sys.setprofile(before)
    assert len(table) <= 8
    assert set(table) <= seen
    assert not {name for name in seen - set(table) if not name.startswith(tuple(helpers))}
