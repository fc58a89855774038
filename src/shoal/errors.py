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

Messages state what must hold, what was found and what to try. They name columns, counts and row numbers,
never a value of a row: logs and terminals have more readers than the table may have.
"""

from __future__ import annotations

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


def counted(number: int, thing: str) -> str:
    """Return a number of things as a phrase.

    >>> counted(1, "group"), counted(2000, "group")
    ('1 group', '2,000 groups')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


class ShoalError(Exception):
    """Base class of all errors of shoal.

    ``exit_status`` is the exit status of the command line.
    """

    exit_status = 70


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
