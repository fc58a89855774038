"""Everything that shoal raises on purpose.

    ShoalError                      exit status
      InputError                    2    the table, the plan or a hierarchy is not usable as given
        TableError                  2    the source cannot be read as a table
        PlanError                   2    the plan is wrong or does not fit the table
        HierarchyError              2    a hierarchy is wrong or does not fit its column
        OutputError                 2    the release cannot be written where it was asked for
      InfeasibleError               3    no release of this method meets the models within the limits
      VerificationError             70   a method yielded a table that its models reject: a fault in shoal

A ShoalWarning is given where something was decided for the user that the user should know of.

Messages say what must hold, what was found and what to try. They name columns, counts and row numbers,
never a value of a row: logs and terminals are read by more people than the table may be.
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
    """A number of things in words.

    >>> counted(1, "group"), counted(2000, "group")
    ('1 group', '2,000 groups')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


class ShoalError(Exception):
    """Base of all errors of shoal; ``exit_status`` is what the command line ends with."""

    exit_status = 70


class InputError(ShoalError):
    """What the user gave is not usable; the message says what to change."""

    exit_status = 2


class TableError(InputError):
    """The source cannot be read as a table."""


class PlanError(InputError):
    """The plan is wrong, or does not fit the table."""


class HierarchyError(InputError):
    """A hierarchy is wrong, or does not fit the values of its column."""


class OutputError(InputError):
    """The release cannot be written where it was asked for."""


class InfeasibleError(ShoalError):
    """No release of this method meets the models within the limits given."""

    exit_status = 3


class VerificationError(ShoalError):
    """A method yielded a table that its models reject. Nothing was written."""


class ShoalWarning(UserWarning):
    """Something was decided that was not asked for, such as which columns are left out."""
