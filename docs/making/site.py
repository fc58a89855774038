"""Pages of the site that are not in docs/.

These are reference pages, tutorials, and the project's own pages. They are written to docs/made/ when the site is
built. Links that are valid in the project's folder are rewritten for that folder.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from docs.making import notebooks, reference

DOCS = Path(__file__).parents[1]
OWN = ("ARCHITECTURE", "CHANGELOG", "CONTRIBUTING", "SECURITY")
"""Pages in the project's root folder."""
TUTORIALS = sorted((DOCS / "tutorials").glob("*.ipynb"))


def made_pages() -> dict[str, str]:
    """Build all pages of docs/made/ by name."""
    tutorials = {file.stem: notebooks.page(file) for file in TUTORIALS}
    own = {name: (DOCS.parent / f"{name}.md").read_text(encoding="utf-8") for name in OWN}
    return reference.pages() | tutorials | own


def write_pages() -> None:
    """Rewrite the folder docs/made/."""
    folder = DOCS / "made"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, text in made_pages().items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


def mend_links(page: str, text: str) -> str:
    """Rewrite the links of a page for the site.

    >>> mend_links("start", "[a](tutorials/survey.ipynb), [b](../SECURITY.md#x)")
    '[a](made/survey.md), [b](made/SECURITY.md#x)'
    >>> mend_links("made/CHANGELOG", "[a](docs/models.md), [b](SECURITY.md)")
    '[a](../models.md), [b](SECURITY.md)'
    """
    if page.startswith("made/"):
        return re.sub(r"\]\(docs/", "](../", text)
    text = re.sub(r"\]\(tutorials/([\w-]+)\.ipynb", r"](made/\1.md", text)
    return re.sub(rf"\]\(\.\./({'|'.join(OWN)})\.md", r"](made/\1.md", text)
