"""Parameters that the methods of local recoding share, and how they are checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from shoal.errors import PlanError
from shoal.methods.base import Method
from shoal.schema import Schema

__all__ = ["CHOICES", "LOSSES", "LocalMethod", "check_loss", "check_weights", "check_weights_of", "start_method"]

LOSSES = ("ncp", "granularity", "distortion-ratio", "precision")
CHOICES = ("best", "loss", "rate")


@dataclass(frozen=True)
class LocalMethod(Method):
    """Base of the methods that recode rows differently: what they all load."""

    def warm(self) -> None:
        """See :class:`shoal.methods.base.Method`."""
        import shoal.methods.local_release
        import shoal.methods.local_search  # noqa: F401


def check_loss(loss: str, choose: str = "best") -> None:
    """Raise unless the loss and the rule for the next cut are known."""
    if loss not in LOSSES:
        raise PlanError(f"The loss of local recoding must be one of {', '.join(LOSSES)}; found {loss!r}.")
    if choose not in CHOICES:
        raise PlanError(f"The rule for the next cut must be one of {', '.join(CHOICES)}; found {choose!r}.")


def check_weights(weights: Mapping[str, float]) -> None:
    """Raise unless all weights are positive numbers."""
    for weight in weights.values():
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < math.inf:
            raise PlanError("The weights of columns must be positive numbers.")


def check_weights_of(schema: Schema, columns: Mapping[str, object]) -> None:
    """Raise where a column that is named is not a quasi-identifier."""
    for column in columns:
        if column not in schema.quasi_identifiers:
            raise PlanError(f"The method names column {column!r}, which is not a quasi-identifier of the plan.")


def start_method(start: object, owner: str, default: Method) -> Method:
    """The method from which another one starts: an object, its name, or a section with name and parameters."""
    if start is None:
        return default
    if isinstance(start, Method):
        chosen = start
    else:
        from shoal.methods import METHODS

        section = {"name": start} if isinstance(start, str) else dict(start) if isinstance(start, Mapping) else {}
        name = section.pop("name", None)
        if name not in METHODS:
            raise PlanError(
                f"The method {owner!r} must start from a known method, such as start = {{ name = 'top-down' }}; "
                f"found {name!r}."
            )
        frozen = {key: tuple(value) if isinstance(value, list) else value for key, value in section.items()}
        try:
            chosen = METHODS[name](**frozen)
        except TypeError:
            raise PlanError(
                f"The start of {owner!r}, {name!r}, does not take these parameters: {sorted(section)}."
            ) from None
    if chosen.name == owner:
        raise PlanError(f"The method {owner!r} must start from another method.")
    if not chosen.forms_groups:
        raise PlanError(f"The method {chosen.name!r} publishes no groups of rows to start from; choose another start.")
    if not chosen.reveals_source or chosen.promises:
        raise PlanError(
            f"The method {owner!r} cannot start from {chosen.name!r}: moving rows afterwards would void its promise."
        )
    return chosen
