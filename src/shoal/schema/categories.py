"""Sensitivity categories: ordered classes with weights and distances.

Of m categories S_1 (the most sensitive) to S_m, category S_i weighs (i-1)/(m-1), and the distance of two values
is that of their categories: |i-j|/(m-1). Weights are stored as whole multiples of 1/(m-1), so that sums are
exact: 1/3 + 2/3 + 1 is 2, not a little less.

Sun, Wang, Li and Truta, "Enhanced p-sensitive k-anonymity models", section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np
import numpy.typing as npt

from shoal.errors import PlanError
from shoal.runtime.marks import CellText, Key
from shoal.runtime.validation import Validated
from shoal.schema.spelling import identity_key


@dataclass(frozen=True)
class Categories(Validated):
    """Classes of sensitive values, the most sensitive class first.

    Every value is in exactly one class.

    Attributes
    ----------
    classes
        Classes of sensitive values of similar sensitivity, the most sensitive first.
    names
        What the categories are called, one name for each.

    Examples
    --------
    >>> health = Categories((("HIV", "Cancer"), ("Phthisis",), ("Asthma",), ("Flu",)))
    >>> health.distance("Cancer", "Flu"), health.distance("Phthisis", "Asthma")
    (Fraction(1, 1), Fraction(1, 3))
    >>> sum(health.weight(value) for value in ("Cancer", "Phthisis", "Asthma", "Flu"))
    Fraction(2, 1)
    """

    classes: Annotated[tuple[tuple[CellText, ...], ...], Key("categories")]
    names: Annotated[tuple[str, ...] | None, Key("category_names")] = None

    def __post_init__(self) -> None:
        if len(self.classes) < 2 or not all(self.classes):
            raise PlanError(
                "columns.too-few-categories",
                found=len(self.classes),
                empty=sum(not c for c in self.classes),
            )
        values = [value for values in self.classes for value in values]
        twice = len(values) - len(set(values))
        if twice:
            raise PlanError("columns.value-in-two-categories", found=twice)
        if self.names is not None and not len(set(self.names)) == len(self.names) == len(self.classes):
            raise PlanError("columns.category-names-differ", names=len(set(self.names)), categories=len(self.classes))

    @property
    def count(self) -> int:
        """m, the number of categories."""
        return len(self.classes)

    def name(self, index: int) -> str:
        """Return the published label of a category: its name, or its number.

        Numbers start at 1.
        """
        return self.names[index] if self.names is not None else str(index + 1)

    def index(self, value: str) -> int:
        """Return the index of a value's category, 0 for the most sensitive."""
        for index, values in enumerate(self.classes):
            if value in values:
                return index
        raise KeyError("no category holds this value")

    def weight(self, value: str) -> Fraction:
        """Return (i-1)/(m-1) for a value of category S_i."""
        return Fraction(self.index(value), self.count - 1)

    def distance(self, one: str, other: str) -> Fraction:
        """Return the ordinal distance |i-j|/(m-1) of two values' categories."""
        return Fraction(abs(self.index(one) - self.index(other)), self.count - 1)

    def bind(
        self, values: Sequence[str], column: str = "", key: Callable[[str], str | None] = identity_key
    ) -> npt.NDArray[np.int32]:
        """Return the category index of each value, found by its key.

        The error states the number of values without a category.
        """
        category_of = {key(value): index for index, values in enumerate(self.classes) for value in values}
        keys = [key(value) for value in values]
        lacking = sum(found not in category_of for found in keys)
        if lacking:
            raise PlanError("columns.categories-incomplete", column=column, found=lacking)
        return np.asarray([category_of[found] for found in keys], np.int32)
