"""Spelling of values in written tables: formats write them in other ways.

A release is compared with labels that were made before it was written. A truth value is 1 in some formats and true in
others, and programs show instants and numbers with more or fewer zeros.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, InvalidOperation
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

TRUTH_VALUES = {"true": "1", "false": "0"}
EXACT = Context(prec=1000, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
OFFSET = re.compile(r"(?<=\d)(?:Z|([+-]\d\d)(?::?(\d\d))?)$")
ENDING_ZEROS = re.compile(r"(?:\.0+|(\.\d*[1-9])0+)(?=$|[Z+-])")


def spell_as_written(labels: Sequence[str | None], kind: pa.DataType, texts: Iterable[str | None]) -> list[str | None]:
    """Return labels in the spelling that a written column has for them.

    ``kind`` is the type of the values that some of the labels are, and ``texts`` are the cells of the written column. A
    label stays as it is if the column has it, has it in no spelling, or if the spelling could be that of another label.

    >>> import pyarrow as pa
    >>> spell_as_written(["true", "false", "*"], pa.bool_(), ["0", "1", None])
    ['1', '0', '*']
    """
    import pyarrow as pa

    written = {text for text in texts if text}
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return list(labels)
    spellings: dict[str, set[str]] = {}
    for text in {*labels, *written} - {None, ""}:
        assert text is not None
        spellings.setdefault(_plain_form(text, kind), set()).add(text)
    unclaimed = written - set(labels)
    spelled: list[str | None] = []
    for label in labels:
        others = spellings[_plain_form(label, kind)] - {label} if label and label not in written else set()
        spelled.append(others.pop() if len(others) == 1 and others <= unclaimed else label)
    return spelled


def _plain_form(text: str, kind: pa.DataType) -> str:
    """Return what all spellings of a value of some type have in common."""
    import pyarrow as pa

    if pa.types.is_boolean(kind):
        return TRUTH_VALUES.get(text, text)
    if pa.types.is_temporal(kind):
        is_instant = pa.types.is_timestamp(kind) and kind.tz is not None
        text = OFFSET.sub(lambda found: f"{found[1] or '+00'}{found[2] or '00'}", text) if is_instant else text
        return ENDING_ZEROS.sub(r"\1", text)
    try:
        number = Decimal(text)
    except InvalidOperation:
        return text
    return str(number.normalize(EXACT)) if number else "0"
