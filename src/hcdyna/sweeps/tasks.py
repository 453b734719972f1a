"""Tasks: what a worker takes at a time, some cells of a study that share a program."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

Case = dict[str, Any]
"""The values that set a cell apart from others, by path: {"agent.learning_rate": 0.001}."""


@dataclass(frozen=True)
class Task:
    """Cells that are trained together, as the store describes them."""

    id: str
    program: str
    """Tasks of one program need to be compiled once."""
    keys: tuple[str, ...]
    cases: tuple[Case, ...]
    agents: int
    steps: int
    """Of each agent."""
    cells: str
    """The cells themselves, as JSON: who only looks need not read it."""
    commit: str | None = None
    """Of the source tree that planned it: a worker without git can't find out."""

    @property
    def agent_steps(self) -> int:
        return self.agents * self.steps

    @property
    def title(self) -> str:
        """Its first cell, and how many more."""
        more = len(self.cases) - 1
        return f"{in_words(self.cases[0])}{f' and {more} more' if more else ''}"

    def line(self) -> str:
        """One line: what there is to know of the task, a tab, and its cells."""
        names = [name for name in self.__dataclass_fields__ if name != "cells"]
        return json.dumps({name: getattr(self, name) for name in names}) + f"\t{self.cells}"

    def parts(self) -> list[Task]:
        """Its cells, each as a task of its own."""
        each = zip(self.keys, self.cases, json.loads(self.cells), strict=True)
        return [
            replace(
                self,
                id=named([key]),
                keys=(key,),
                cases=(case,),
                agents=cell["seeds"],
                cells=json.dumps([cell]),
            )
            for key, case, cell in each
        ]

    @staticmethod
    def read(line: str) -> Task:
        head, _, cells = line.partition("\t")
        found = json.loads(head)
        lists = {name: tuple(found[name]) for name in ("keys", "cases")}
        return Task(**{**found, **lists}, cells=cells)


def named(words: Iterable[str]) -> str:
    """A short name for some texts."""
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]


def in_words(case: Case) -> str:
    """What sets a cell apart, in a line.

    >>> in_words({"search_control": "replay", "agent.learning_rate": 0.001})
    'search_control=replay agent.learning_rate=0.001'
    """
    return " ".join(f"{path}={short(value)}" for path, value in case.items()) or "as it is"


def short(value: Any) -> str:
    """A value in a word; of a choice with options, its name and those."""
    if isinstance(value, Mapping):
        rest = ",".join(f"{k}={v}" for k, v in value.items() if k != "name")
        return f"{value.get('name')}({rest})" if rest else str(value.get("name"))
    return str(value)
