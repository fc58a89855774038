"""Documentation site, without building it.

Navigation, reference, tutorials, and the check of a built site.
"""

from __future__ import annotations

import functools
import re

import pytest
from docs.making import notebooks, reference
from docs.making.checking import faults
from docs.making.pictures import FOLDER, PICTURES
from docs.making.site import DOCS, TUTORIALS, made_pages, mend_links

import shoal

made = functools.cache(made_pages)


def pages():
    """Return all pages of the site by name, with links as on the site."""
    own = {
        str(file.relative_to(DOCS).with_suffix("")): file
        for file in (*DOCS.glob("*.md"), *DOCS.glob("reproduced/*.md"))
    }
    texts = {name: file.read_text(encoding="utf-8") for name, file in own.items()}
    texts |= {f"made/{name}": text for name, text in made().items()}
    return {name: mend_links(name, text) for name, text in texts.items()}


def test_navigation_names_every_page_once():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    named = [line for tree in re.findall(r"^```{toctree}\n(.*?)^```", index, re.M | re.S) for line in tree.splitlines()]
    named = [line for line in named if line and not line.startswith(":")]
    assert sorted(named) == sorted(pages().keys() - {"index"})


def parts(text):
    """Return the anchors of headings, as on other sites of Markdown."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in plain}


def test_links_between_pages_lead_to_a_page_and_heading():
    texts = pages()
    for name, text in texts.items():
        for path, part in re.findall(r"\]\(([\w./-]*?)(?:#([\w-]+))?\)", text):
            target = (
                name if not path else str((DOCS / name).parent.joinpath(path).resolve().relative_to(DOCS.resolve()))
            )
            target = target.removesuffix(".md")
            assert target in texts or (DOCS / target).is_file(), f"{name} leads to {path}"
            assert not part or part in parts(texts[target]), f"{name} leads to {path}#{part}"


def test_every_public_name_is_in_the_reference_once():
    listed = [name for _, _, names in reference.NAMES.values() for name in names.split()]
    assert len(set(listed)) == len(listed)
    assert sorted([*(name for name in listed if "." not in name), "__version__"]) == sorted(shoal.__all__)


def test_every_command_is_in_the_reference():
    from shoal.api.commands import COMMANDS

    assert all(f"\n## shoal {command}\n" in made()["commands"] for command in COMMANDS)


def test_error_reference_lists_message_templates():
    """List every code with its errors and its message."""
    page = made()["errors"]
    assert page.count("\n| `") > 500
    text = reference.catalogue("en")["plan.key-set-empty"]["text"]
    assert f"| `plan.key-set-empty` | `PlanError` | {text} |" in page
    for code in reference.catalogue("en"):
        assert f"| `{code}` | " in page
    assert reference.raised_codes()["table.no-rows"] == {"TableError"}


@pytest.mark.parametrize("file", TUTORIALS, ids=lambda file: file.stem)
def test_tutorial_outputs_are_current(file):
    """Compare outputs as text; other tests cover display in a notebook."""
    if file.stem == "learning":
        pytest.importorskip("sklearn", reason="this tutorial needs scikit-learn")
    cells = notebooks.read(file)
    saved = [cell["outputs"] for cell in cells if cell["cell_type"] == "code"]
    given = list(notebooks.outputs(cells))
    assert list(map(texts, given)) == list(map(texts, saved)), "run: python -m docs.making.notebooks docs/tutorials/*"


def texts(outputs):
    return ["".join(output.get("text", output.get("data", {}).get("text/plain", ()))) for output in outputs]


def test_notebook_cell_outputs():
    """Outputs are printed text, warnings and the last expression."""
    source = ["import warnings\n", "print('a')\n", "warnings.warn('b')\n", "1 + 1"]
    ((printed, value),) = notebooks.outputs([{"cell_type": "code", "source": source}])
    assert printed["text"] == ["a\n", "UserWarning: b\n"]
    assert value["data"] == {"text/plain": ["2"]}


def test_pictures_are_current():
    for name, draw in PICTURES.items():
        assert (FOLDER / f"concept-{name}.svg").read_text(encoding="utf-8") == draw(), (
            "run: python -m docs.making.pictures"
        )


def test_faults_of_a_built_site(tmp_path):
    """Broken links and requests to other hosts are found."""

    def build(head="", body=""):
        (tmp_path / "a.html").write_text(f"<html><head>{head}</head><body><p id='here'></p>{body}</body></html>")
        return faults(tmp_path)

    (tmp_path / "style.css").write_text("p { color: red }")
    whole = "<a href='#here'>x</a><a href='a.html#here'>x</a><a href='https://other.example/'>x</a>"
    assert build("<link rel='stylesheet' href='style.css'>", whole) == []
    for head, body, message in (
        ("<script src='https://other.example/x.js'></script>", "", "another host"),
        ("<link rel='stylesheet' href='//other.example/x.css'>", "", "another host"),
        ("", "<img src='http://other.example/x.png'>", "another host"),
        ("", "<img src='gone.png'>", "no such file"),
        ("", "<a href='gone.html'>x</a>", "no such file"),
        ("", "<a href='#gone'>x</a>", "no such part"),
    ):
        (found,) = build(head, body)
        assert message in found
    (tmp_path / "style.css").write_text(
        "@import 'https://other.example/x.css'; p { background: url(//other.example/x) }"
    )
    assert len(build()) == 2


def test_pages_load_nothing_from_outside():
    assert not re.search(r"https?://", (DOCS / "looks" / "site.css").read_text(encoding="utf-8"))
    for name, text in pages().items():
        assert not re.search(r"!\[[^\]]*\]\(https?://|<(?:script|img|iframe)\b", re.sub(r"`[^`]*`", "", text)), name


def test_project_links_are_rewritten():
    assert mend_links("start", "[a](tutorials/survey.ipynb)") == "[a](made/survey.md)"
    assert mend_links("safety", "[a](../SECURITY.md#x)") == "[a](made/SECURITY.md#x)"
    assert mend_links("made/CHANGELOG", "[a](docs/models.md)") == "[a](../models.md)"
