"""Templates with plain names as fields."""

from __future__ import annotations

import re
from collections.abc import Mapping

_FIELD = re.compile(r"\{\{|\}\}|\{(\w+)\}")


def fill_template(template: str, parts: Mapping[str, object]) -> str:
    """Replace each {name} of a template by its part, once.

    Unlike ``str.format``, a field reads no attribute and no item, has no format, and is left as it is without a part.
    So text of a user can do no harm, neither as a part nor in the template; it belongs into the parts.

    >>> fill_template("{k} of {column}, {{x}}", {"k": 5, "column": "{k.__class__}"})
    '5 of {k.__class__}, {x}'
    """
    return _FIELD.sub(lambda found: _field(found, parts), template)


def _field(found: re.Match[str], parts: Mapping[str, object]) -> str:
    name = found[1]
    if name is None:
        return found[0][0]
    return str(parts[name]) if name in parts else found[0]
