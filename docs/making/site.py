"""What is a page of the site without being one of docs/: reference, tutorials, and the project's own pages.

They are written to docs/made/ when the site is built. Links that hold in the project's folder are made to hold there.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from docs.making import notebooks, reference

__all__ = ["OWN", "TUTORIALS", "made_pages", "mend_links", "write_pages"]

DOCS = Path(__file__).parents[1]
OWN = ("ARCHITECTURE", "CHANGELOG", "CONTRIBUTING", "SECURITY")
"""Pages that stand beside docs/."""
TUTORIALS = sorted((DOCS / "tutorials").glob("*.ipynb"))


def made_pages() -> dict[str, str]:
    """All pages of docs/made/ by name."""
    tutorials = {file.stem: notebooks.page(file) for file in TUTORIALS}
    own = {name: (DOCS.parent / f"{name}.md").read_text(encoding="utf-8") for name in OWN}
    return reference.pages() | tutorials | own


def write_pages() -> None:
    """Write docs/made/ anew."""
    folder = DOCS / "made"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, text in made_pages().items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


def mend_links(page: str, text: str) -> str:
    """The text of a page with links as the site has them.

    >>> mend_links("start", "[a](tutorials/survey.ipynb), [b](../SECURITY.md#x)")
    '[a](made/survey.md), [b](made/SECURITY.md#x)'
    >>> mend_links("made/CHANGELOG", "[a](docs/models.md), [b](SECURITY.md)")
    '[a](../models.md), [b](SECURITY.md)'
    """
    if page.startswith("made/"):
        return re.sub(r"\]\(docs/", "](../", text)
    text = re.sub(r"\]\(tutorials/([\w-]+)\.ipynb", r"](made/\1.md", text)
    return re.sub(rf"\]\(\.\./({'|'.join(OWN)})\.md", r"](made/\1.md", text)
