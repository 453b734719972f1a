"""Links of a built site that lead nowhere: python docs/dead_links.py site

Looks at every href and src of every page, anchors included. Links to other sites are not followed.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page links to, and the anchors that others may link to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = {"", "top"}  # a browser takes these for the top of any page
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src"):
                self.links.append(value or "")
            elif name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value or "")


def dead_links(site: Path) -> list[str]:
    """One line "page: link" for each link that leads nowhere."""
    site = site.resolve()
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    return [
        f"{path.relative_to(site)}: {link}"
        for path, page in pages.items()
        for link in page.links
        if not leads_somewhere(link, path, site, pages)
    ]


def leads_somewhere(link: str, path: Path, site: Path, pages: dict[Path, Page]) -> bool:
    """Whether the file is part of the site and, if it is a page, has the anchor."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    # Only 404.html is shown under addresses of any depth, so it alone starts at the root.
    if parts.path.startswith("/") != (path == site / "404.html" and bool(parts.path)):
        return False
    start = site if parts.path.startswith("/") else path.parent
    target = (start / unquote(parts.path).lstrip("/")).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.is_relative_to(site) or not target.is_file():
        return False
    return target not in pages or unquote(parts.fragment) in pages[target].anchors


if __name__ == "__main__":
    dead = dead_links(Path(sys.argv[1]))
    print(*dead, sep="\n", end="\n" * bool(dead))
    sys.exit(f"{len(dead)} dead links" if dead else 0)
