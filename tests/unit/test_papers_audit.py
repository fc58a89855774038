"""docs/papers.md: every row names a file and a name that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
HEADER = ["item", "where", "as printed, or how it differs", "measured", "verdict"]
ITEMS = {
    "(p+, α)": [*(f"Definition {number}" for number in range(1, 5)), "equation 1", "Algorithm 1", "Algorithm 2",
                *(f"Table {number}" for number in range(1, 8)), "Figure 1", "Figure 2"],
    "Microaggregation": ["MDAV", "Algorithm 1", "Algorithm 2", "Table 1", "Table 2"],
    "identifiability": [*(f"Definition {number}" for number in (1, 2, 3)), "section 3.1",
                        *(f"Proposition {number}" for number in range(1, 6))],
    "Enhanced": ["Definitions 1 to 3", "Definition 4", "Definition 5", "Theorem 1", "Corollary 1", "Tables 1 to 6",
                 "Table 7", "Table 8", "Table 9", "Figure 1", "Figure 2(a)", "Figure 2(b)", "Figure 3(a)",
                 "Figure 3(b)", "local recoding", "section 5.1", "distortion ratio", "similarity attack"],
    "Generalization": [*(f"Figure {number}" for number in range(1, 7)), "Table 1", "Table 2"],
}  # fmt: skip
"""What each paper has, by a word of its heading."""


def audit_tables():
    """Return the rows of each paper's table, by heading."""
    tables = {}
    for part in PAGE.split("\n## ")[1:]:
        heading, _, text = part.partition("\n")
        lines = [line for line in text.splitlines() if line.startswith("|")]
        tables[heading] = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return tables


TABLES = audit_tables()
ROWS = [row for rows in TABLES.values() for row in rows[2:]]


def test_each_paper_has_its_table():
    assert len(TABLES) == 5
    for rows in TABLES.values():
        assert rows[0] == HEADER
        assert all(len(row) == len(HEADER) and all(row) for row in rows[2:])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_file_and_name_of_each_row_exist(row):
    path, *names = re.findall(r"`([^`]+)`", row[1])
    file = ROOT / "src" / "shoal" / path
    assert file.is_file(), path
    assert names, "a row names what to look at in the file"
    tree = ast.parse(file.read_text(encoding="utf-8"))
    defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assigned = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    assert set(names) <= defined | assigned


@pytest.mark.parametrize("word", ITEMS)
def test_every_item_of_a_paper_has_a_row(word):
    rows = next(rows for heading, rows in TABLES.items() if word in heading)
    items = [row[0] for row in rows[2:]]
    missing = [
        name for name in ITEMS[word] if not any(re.search(rf"(?<!\w){re.escape(name)}(?!\d)", item) for item in items)
    ]
    assert missing == []
