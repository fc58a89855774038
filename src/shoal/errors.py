"""Exceptions and warnings of shoal.

    ShoalError                      exit status
      InputError                    2    the table, the plan or a hierarchy is not usable as given
        TableError                  2    the source cannot be read as a table
        PlanError                   2    the plan is wrong or does not fit the table
        HierarchyError              2    a hierarchy is wrong or does not fit its column
        OutputError                 2    the release cannot be written to the requested path
      InfeasibleError               3    no release of this method meets the models within the limits
      VerificationError             70   a method returned a table that its models reject: a bug in shoal

A ShoalWarning reports a decision that shoal made for the user and that the user should know.

An error is data: a code, the key of the plan that it is about, and arguments. The catalogues in ``locale/`` have a
message for every code in each language. A message states what must hold, what was found and what to try. It names
columns, counts and row numbers, never a value of a row: logs and terminals have more readers than the table may have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path, PurePath
from string import Formatter
from typing import Any, Self

from typing_extensions import override

from shoal.formatting import format_field

__all__ = [
    "HierarchyError",
    "InfeasibleError",
    "InputError",
    "OutputError",
    "PlanError",
    "ShoalError",
    "ShoalWarning",
    "TableError",
    "VerificationError",
]


ENGLISH, GERMAN = "en", "de"
LANGUAGES = (ENGLISH, GERMAN)
"""Languages of the catalogues of messages."""
_CODE = re.compile(r"[a-z][a-z-]*\.[a-z0-9-]+")


class ShoalError(Exception):
    """Base class of all errors of shoal: a code with arguments.

    The code names a message of the catalogues (``locale/en.toml`` and others), which has the arguments as fields. Text
    that is no code is a message by itself, as plugins may raise it.

    >>> str(PlanError("The table has no rows."))
    'The table has no rows.'

    Attributes
    ----------
    code
        The name of the message in the catalogues; None for a message without a code.
    arguments
        The fields of the message by name: columns, counts, limits; never a value of a row.
    exit_status
        The exit status of the command line.
    """

    exit_status = 70

    def __init__(self, message: str = "", /, *, where: Iterable[str] | None = None, **arguments: object) -> None:
        super().__init__(message)
        self.code = message if _CODE.fullmatch(message) else None
        self.arguments = arguments
        self._where = None if where is None else tuple(where)

    @property
    def where(self) -> tuple[str, ...]:
        """The key of the plan that the error is about; empty if there is none."""
        if self._where is not None:
            return self._where
        message = None if self.code is None else _catalogue(ENGLISH).get(self.code)
        parts = () if message is None else message.get("where", ())
        own = tuple(_fill(part, self.arguments, ENGLISH) for part in parts)
        nested = [value.where for value in self.arguments.values() if isinstance(value, ShoalError)]
        return max((own, *nested), key=len)

    def at(self, where: tuple[str, ...]) -> Self:
        """Return the error about this key, unless it is about a key below it."""
        if self.where[: len(where)] != where:
            self._where = where
        return self

    def text(self, language: str = ENGLISH) -> str:
        """Return the message in a language; in English if it has no other."""
        message = self.args[0]
        if self.code is None:
            return str(message)
        found = _catalogue(language).get(self.code) or _catalogue(ENGLISH).get(self.code)
        return str(message) if found is None else _fill(found["text"], self.arguments, language)

    def to_dict(self) -> dict[str, Any]:
        """Return the error for JSON; a message without a code is in English alone."""
        texts = {} if self.code is None else {language: self.text(language) for language in LANGUAGES}
        return {
            "kind": type(self).__name__,
            "code": self.code,
            "where": list(self.where),
            "text": str(self),
            "texts": texts,
        }

    def replace_texts(self, replace: Callable[[str], str]) -> None:
        """Change the texts among the arguments, or a message without a code."""
        if self.code is None:
            self.args = (replace(str(self.args[0])),)
        for name, value in self.arguments.items():
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, ShoalError):
                    part.replace_texts(replace)
            if isinstance(value, ShoalError | tuple):
                continue
            if isinstance(value, str | PurePath):
                self.arguments[name] = replace(str(value))

    def __str__(self) -> str:
        return self.text()


class _Filling(Formatter):
    """Fill the fields of a message, which are plain names.

    Numbers follow the language, and an error among the arguments is translated. A field with two nouns as its format,
    such as ``{found:value|values}``, is a number with the noun that fits it.
    """

    def __init__(self, language: str) -> None:
        self.language = language

    @override
    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        value = kwargs[field_name]
        if isinstance(value, tuple) and value and all(isinstance(part, ShoalError) for part in value):
            return "; ".join(part.text(self.language) for part in value), field_name
        return (value.text(self.language) if isinstance(value, ShoalError) else value), field_name

    @override
    def format_field(self, value: Any, format_spec: str) -> Any:
        return format_field(value, format_spec, self.language)


def _fill(template: str, arguments: Mapping[str, object], language: str) -> str:
    return _Filling(language).vformat(template, (), arguments)


@cache
def _catalogue(language: str) -> Mapping[str, Any]:
    """Read the messages of a language by code; empty for others."""
    import tomllib

    file = Path(__file__).with_name("locale") / f"{language}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8")) if language in LANGUAGES else {}


class InputError(ShoalError):
    """Input that is not usable; the message says what to change."""

    exit_status = 2


class TableError(InputError):
    """The source cannot be read as a table."""


class PlanError(InputError):
    """The plan is wrong, or does not fit the table."""


class HierarchyError(InputError):
    """A hierarchy is wrong, or does not fit the values of its column."""


class OutputError(InputError):
    """The release cannot be written to the requested path."""


class InfeasibleError(ShoalError):
    """No release of this method meets the models within the given limits."""

    exit_status = 3


class VerificationError(ShoalError):
    """A method returned a table that its models reject; nothing was written."""


class ShoalWarning(UserWarning):
    """A decision that the user did not request, such as columns left out."""
