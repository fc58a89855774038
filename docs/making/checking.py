"""Check a built site: links must resolve, and nothing is loaded elsewhere.

    python -m docs.making.checking site

Links between pages must lead to a file and, where they name a part of it, to that part. Resources that a page loads
(scripts, styles, pictures, fonts) must be in the site. Links that a reader may follow to other hosts are allowed.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

RESOURCE_ATTRIBUTES = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "link": "href",
    "object": "data",
}
UNLOADED_RELATIONS = {"canonical", "next", "prev", "search", "index", "author"}
"""Relations of a ``link`` element that load nothing."""


class _Page(HTMLParser):
    """The links of a page, the resources it loads, and the names of its parts."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.parts: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        self.parts |= {given[key] for key in ("id", "name") if key in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if (
            tag in RESOURCE_ATTRIBUTES
            and RESOURCE_ATTRIBUTES[tag] in given
            and given.get("rel") not in UNLOADED_RELATIONS
        ):
            self.loads.append(given[RESOURCE_ATTRIBUTES[tag]])


def faults(site: Path) -> list[str]:
    """List the faults of a site, one sentence each."""
    pages = {file.resolve(): _Page() for file in site.rglob("*.html")}
    found = []
    for file, page in pages.items():
        page.feed(file.read_text(encoding="utf-8"))
    for file, page in pages.items():
        where = file.relative_to(site.resolve())
        found += [f"{where} loads {one} from another host" for one in page.loads if _is_external(one)]
        for link in (*page.links, *page.loads):
            if why := _link_fault(link, file, pages):
                found.append(f"{where} leads to {link}: {why}")
    for style in site.rglob("*.css"):
        for one in re.findall(r"(?:url\(|@import)\s*['\"]?([^'\")\s]+)", style.read_text(encoding="utf-8")):
            if _is_external(one):
                found.append(f"{style.relative_to(site)} loads {one} from another host")
    return found


def _is_external(link: str) -> bool:
    return bool(urlsplit(link).netloc)


def _link_fault(link: str, file: Path, pages: dict[Path, _Page]) -> str:
    split = urlsplit(link)
    if split.scheme or split.netloc:
        return ""
    target = (file.parent / unquote(split.path)).resolve() if split.path else file
    target = target / "index.html" if target.is_dir() else target
    if not target.is_file():
        return "no such file"
    part = unquote(split.fragment)
    if part and target in pages and part not in pages[target].parts:
        return "no such part of it"
    return ""


if __name__ == "__main__":
    found = faults(Path(sys.argv[1]))
    print("\n".join(found) or "The site is whole and asks nothing of other hosts.")
    sys.exit(bool(found))
