"""Names that columns may have in released files, by format.

SPSS, Stata and SAS have rules for names, and words that are none; databases and these programs do not all tell capital
from small letters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from shoal.errors import OutputError

SPSS_WORDS = "all|and|by|eq|ge|gt|le|lt|ne|not|or|to|with"
STATA_WORDS = "_all|_b|byte|_coef|_cons|double|float|if|in|int|long|_n|_N|_pi|_pred|_rc|_skip|str[0-9]+|strL|using|with"
SAS_WORDS = "_n_|_error_|_numeric_|_character_|_all_|_null_|_data_|_last_"


@dataclass(frozen=True)
class NameRules:
    """Rules of a format for the names of columns.

    ``reserved`` matches words that are no names, in small letters where ``ignores_case``.
    """

    pattern: str = ".*"
    max_bytes: int | None = None
    reserved: str = ""
    ignores_case: bool = True


RULES = {
    ".sav": NameRules(r"[^\W\d_]\w*", 64, SPSS_WORDS),
    ".dta": NameRules(r"[^\W\d]\w*", 32, STATA_WORDS, ignores_case=False),
    ".xpt": NameRules(r"[A-Za-z_][A-Za-z0-9_]*", 32, SAS_WORDS),
    **dict.fromkeys((".sqlite", ".sqlite3", ".db", ".duckdb", ".ddb"), NameRules()),
}
"""Rules by extension; other formats have none."""


def require_column_names(names: Sequence[str], suffix: str) -> None:
    """Raise unless a format can have columns of these names."""
    rules = RULES.get(suffix)
    if rules is None:
        return
    seen: set[str] = set()
    for name in names:
        too_long = rules.max_bytes is not None and len(name.encode()) > rules.max_bytes
        if too_long or not re.fullmatch(rules.pattern, name, re.DOTALL):
            raise OutputError("output.column-name-not-allowed", ending=suffix, bytes=rules.max_bytes, column=name)
        plain = name.lower() if rules.ignores_case else name
        if re.fullmatch(rules.reserved, plain):
            raise OutputError("output.column-name-reserved", ending=suffix, column=name)
        if plain in seen:
            raise OutputError("output.column-names-differ-in-case-only", ending=suffix, column=name)
        seen.add(plain)
