"""For mkdocs: links that leave docs/ work on the site too, and two files of the root become pages.

On a page of docs/, `../results/paper/figures/fig2.png` is right in the repository but would lead
out of the site. Such a file is copied into the site as project/results/…, and if it is a page, so
are the files that it links to; a link to a folder becomes its words. A link to something that does
not exist is left, so that --strict finds it.
"""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path
from typing import Any

from dead_links import Page  # beside this file
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PAGES = ("CONTRIBUTING.md", "CHANGELOG.md")
"""Pages of the site that stand in the root of the repository."""
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
CODE = re.compile(r"(^```.*?^```)", re.M | re.S)
REST = "<!-- the rest of hcdyna.__all__ -->"


def on_config(config: Any) -> Any:
    """Decisions in their order, and pages that nobody has put into the navigation at its end."""
    docs = ROOT / "docs"
    for section in (part for group in config.nav for part in part_of(group)):
        if "Decisions" in section:
            every = docs.glob("decisions/*.md")
            section["Decisions"] = sorted(f"decisions/{path.name}" for path in every)
    named = str(config.nav)
    more = sorted(p.name for p in docs.glob("*.md") if f"'{p.name}'" not in named)
    if more:
        config.nav.append({"More": more})
    return config


def part_of(group: dict[str, Any]) -> list[dict[str, Any]]:
    """The entries of a group of the navigation; none where it is a single page."""
    return [entry for value in group.values() if isinstance(value, list) for entry in value]


def on_files(files: Files, config: Any) -> Files:
    for name in PAGES:
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, f"project/{name}", content=text))
    return files


def bring(path: Path, files: Files, config: Any) -> str:
    """Where a file from outside docs/ stands in the site, with all that it links to."""
    goal = f"project/{path.relative_to(ROOT)}"
    if files.get_file_from_path(goal) is None:
        # Source would be taken for a page if it ended in .md, so only PAGES may.
        files.append(File.generated(config, goal, abs_src_path=str(path)))
        if path.suffix == ".html":
            for link in Page(path.read_text(encoding="utf-8")).links:
                target = Path(os.path.normpath(path.parent / link.partition("#")[0]))
                if target.is_relative_to(ROOT) and target.is_file():
                    bring(target, files, config)
    return goal


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """The text of a page with its links out of docs/ led into the site."""
    uri = page.file.src_uri
    here = (
        ROOT / uri.removeprefix("project/") if uri.startswith("project/") else ROOT / "docs" / uri
    )

    def lead(match: re.Match) -> str:
        picture, words, target, anchor = match.groups()
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        place = Path(os.path.normpath(here.parent / target))
        if not place.exists():
            return match[0]
        if place.is_dir():
            return words
        inside = place.is_relative_to(ROOT / "docs")
        goal = str(place.relative_to(ROOT / "docs")) if inside else bring(place, files, config)
        relative = os.path.relpath(goal, os.path.dirname(uri) or ".")
        return f"{picture}[{words}]({relative}{anchor or ''})"

    if REST in markdown:
        markdown = markdown.replace(REST, rest_of_api(markdown))
    parts = CODE.split(markdown)
    return "".join(
        part if number % 2 else LINK.sub(lead, part) for number, part in enumerate(parts)
    )


def rest_of_api(markdown: str) -> str:
    """The public names that the page does not have yet."""
    tree = ast.parse((ROOT / "src/hcdyna/__init__.pyi").read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    found = {(node.module or "", alias.name) for node in imports for alias in node.names}
    names = sorted(name for home, name in found if not is_module(home, name))
    there = set(re.findall(r"^::: hcdyna\.(\w+)$", markdown, re.M))
    return "\n".join(f"::: hcdyna.{name}" for name in names if name not in there)


def is_module(home: str, name: str) -> bool:
    """Whether `name` in package `home` is a file or folder, which has no entry of its own."""
    place = ROOT / "src" / home.replace(".", "/") / name
    return place.is_dir() or place.with_suffix(".py").is_file()
