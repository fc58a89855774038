"""Kinds of noisy queries, with the parameters of each.

Commands and forms of the page are built from :data:`QUESTION_KINDS`. Parameters arrive as text: values are a list of
texts, conditions map columns to the text that each must have (None: missing).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.budget.mechanisms import Span
    from shoal.budget.noisy_queries import Answer
    from shoal.budget.questions import Questions

Given = Mapping[str, Any]
DEFAULTS = {"step": "1", "where": None}
"""Parameters that may be omitted."""


@dataclass(frozen=True)
class QuestionKind:
    """One kind of query: its parameters, and how it is answered.

    Attributes
    ----------
    name
        ``count``, ``sum``, ``mean``, ``histogram`` or ``best-of``.
    about
        What it answers, and an example on the command line.
    parameters
        Names of its parameters apart from ρ and the label, in the order of a form.
    compute
        Books and answers: of the table, ρ, the parameters, and the label.
    title
        The question in a few words, for the ledger.
    """

    name: str
    about: str
    parameters: tuple[str, ...]
    compute: Callable[[Questions, str, Given, str], Answer]
    title: Callable[[Given], str]

    def ask(self, questions: Questions, rho: str, given: Given, label: str | None = None) -> dict[str, Any]:
        """Book the query, and return its answer with the state of the ledger.

        A histogram is answered as values with counts, a choice as its value.
        """
        given = {name: given.get(name, DEFAULTS.get(name)) for name in self.parameters}
        answer = self.compute(questions, rho, given, self._label(given) if label is None else label)
        content: dict[str, Any] = answer.to_dict()
        if answer.kind == "histogram":
            content["answer"] = dict(zip(given["values"], content["answer"], strict=True))
        elif answer.kind == "best-of":
            content["answer"] = given["values"][int(answer.values[0])]
        status = questions.ledger.status().to_dict()
        return content | {key: status[key] for key in ("m", "k", "rho_limit", "remaining_rho")}

    def _label(self, given: Given) -> str:
        conditions = " and ".join(
            f"{column!r} is {'missing' if value is None else repr(value)}"
            for column, value in (given.get("where") or {}).items()
        )
        return f"{self.title(given)} where {conditions}" if conditions else self.title(given)


def _span(given: Given) -> Span:
    from shoal.budget.mechanisms import Span

    return Span.of(given["lower"], given["upper"], given["step"])


def _range(given: Given) -> str:
    return f"{given['column']!r} in {given['lower']} .. {given['upper']}"


def _values(given: Given) -> str:
    return f"{given['column']!r}, {len(given['values'])} values"


QUESTION_KINDS = {
    kind.name: kind
    for kind in (
        QuestionKind(
            "count",
            """Count the rows with these values.

            \b
            Example:  shoal query count patients.csv --ledger patients.ledger --rho 1/500 --where smokes=yes
            """,
            ("where",),
            lambda questions, rho, given, label: questions.count(rho, given["where"], label),
            lambda given: "count",
        ),
        QuestionKind(
            "sum",
            """Sum of a column; values are clipped to a range that you declare.

            The noise grows with the width of the range.

            What is missing or is no number counts as 0, clipped to the range.

            \b
            Example:  shoal query sum patients.csv --ledger patients.ledger --rho 1/500 --column days --lower 0 --upper 60
            """,  # noqa: E501
            ("column", "lower", "upper", "step", "where"),
            lambda questions, rho, given, label: questions.sum(
                rho, given["column"], _span(given), given["where"], label
            ),
            lambda given: f"sum of {_range(given)}",
        ),
        QuestionKind(
            "mean",
            """Mean of a column over all rows; the number of rows is public.

            For a mean over some rows ask for a sum and a count. What is missing or is no number counts as 0, clipped.

            \b
            Example:  shoal query mean patients.csv --ledger patients.ledger --rho 1/500 --column age --lower 0 --upper 100
            """,  # noqa: E501
            ("column", "lower", "upper", "step"),
            lambda questions, rho, given, label: questions.mean(rho, given["column"], _span(given), label),
            lambda given: f"mean of {_range(given)}",
        ),
        QuestionKind(
            "histogram",
            """Histogram: rows per value of a column, at the cost of one query.

            \b
            Example:  shoal query histogram patients.csv --ledger patients.ledger --rho 1/500 --column illness \\
                        --values flu,gout,asthma
            """,
            ("column", "values", "where"),
            lambda questions, rho, given, label: questions.histogram(
                rho, given["column"], given["values"], given["where"], label
            ),
            lambda given: f"histogram of {_values(given)}",
        ),
        QuestionKind(
            "best-of",
            """Most frequent of several values; without its count, which costs less.

            \b
            Example:  shoal query best-of patients.csv --ledger patients.ledger --rho 1/500 --column illness \\
                        --values flu,gout,asthma
            """,
            ("column", "values", "where"),
            lambda questions, rho, given, label: questions.best_of(
                rho, given["column"], given["values"], given["where"], label
            ),
            lambda given: f"best of {_values(given)}",
        ),
    )
}
