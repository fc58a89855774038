"""Re-identification: how likely an intruder who knows the quasi-identifiers finds a person's row.

Three intruders. The *prosecutor* knows that the target is in the table: a group of f rows gives him 1/f. The
*journalist* does not know it, and wants to show that anyone can be found: of F people of the population who match the
group he must pick the right one, 1/F. The *marketer* links everybody to somebody and counts how many links are right.

El Emam and Dankar, "Protecting privacy using k-anonymity", JAMIA 15, 2008; Dankar and El Emam, "A method for evaluating
marketer re-identification risk", PAIS 2010; El Emam, "Guide to the de-identification of personal health information",
2013, chapter 16 (the names and formulas pR, jR and mR).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import PlanError

__all__ = ["Intruder", "Reidentification", "of_everybody", "reidentification"]


@dataclass(frozen=True)
class Intruder:
    """What one intruder reaches.

    Attributes
    ----------
    highest
        The highest probability of any row.
    average
        The mean probability over rows: the part of all rows that he gets right.
    at_risk
        The part of rows whose probability is above the threshold.
    """

    highest: float
    average: float
    at_risk: float

    def to_dict(self) -> dict[str, float]:
        """For JSON."""
        return {"highest": self.highest, "average": self.average, "at_risk": self.at_risk}


@dataclass(frozen=True)
class Reidentification:
    """The three intruders.

    Attributes
    ----------
    threshold
        Above which probability a row counts as at risk.
    prosecutor, journalist
        The journalist is None where nothing is known of the population.
    marketer
        The part of rows that are linked correctly; the prosecutor's average where the table is the population.
    expected
        The number of rows that the marketer links correctly.
    """

    threshold: float
    prosecutor: Intruder
    journalist: Intruder | None
    marketer: float
    expected: float

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "threshold": self.threshold,
            "prosecutor": self.prosecutor.to_dict(),
            "journalist": None if self.journalist is None else self.journalist.to_dict(),
            "marketer": self.marketer,
            "marketer_expected": self.expected,
        }


def reidentification(
    sizes: npt.NDArray[np.int64],
    population: npt.NDArray[np.float64] | None = None,
    threshold: float = 0.2,
    *,
    probability: npt.NDArray[np.float64] | None = None,
) -> Reidentification:
    """The risks of a table from the sizes of its groups.

    Parameters
    ----------
    sizes
        int64 (g,): rows of each group.
    population
        float64 (g,): how many people of the population match each group (at least its rows), where it is known.
    threshold
        Above which probability a row is at risk; 0.2 is a group of fewer than 5.
    probability
        float64 (g,): E[1/F] of each group, where the population is only known by its size.

    Examples
    --------
    Groups of 4, 4 and 4: Table 5 of the papers.

    >>> reidentification(np.array([4, 4, 4])).prosecutor
    Intruder(highest=0.25, average=0.25, at_risk=1.0)
    """
    if not 0 <= threshold <= 1:
        raise PlanError(f"The threshold must be a probability from 0 to 1; found {threshold!r}.")
    sizes = np.asarray(sizes, np.int64)
    rows = int(sizes.sum())
    prosecutor = _intruder(sizes, 1 / sizes, threshold, rows)
    if population is not None:
        if (np.asarray(population) < sizes).any():
            few = int((np.asarray(population) < sizes).sum())
            raise PlanError(
                f"Every group must match at least as many people of the population as it has rows; {few} of "
                f"{len(sizes)} groups match fewer. Is this the population that the table was drawn from?"
            )
        probability = 1 / np.asarray(population, np.float64)
    if probability is None:
        return Reidentification(threshold, prosecutor, None, prosecutor.average, prosecutor.average * rows)
    journalist = _intruder(sizes, probability, threshold, rows)
    if population is not None:
        # El Emam's jRc: the average over the population's people, if that is more
        other = len(sizes) / float(np.asarray(population).sum())
        journalist = Intruder(journalist.highest, max(journalist.average, other), journalist.at_risk)
    marketer = float(sizes @ probability) / rows
    return Reidentification(threshold, prosecutor, journalist, marketer, marketer * rows)


def of_everybody(crowd: npt.NDArray[np.int64], threshold: float) -> Reidentification:
    """The prosecutor's risk where people have several rows: of everybody the size of the smallest crowd is given."""
    prosecutor = _intruder(np.ones_like(crowd), 1 / crowd, threshold, len(crowd))
    return Reidentification(threshold, prosecutor, None, prosecutor.average, prosecutor.average * len(crowd))


def _intruder(
    sizes: npt.NDArray[np.int64], probability: npt.NDArray[np.float64], threshold: float, rows: int
) -> Intruder:
    above = probability > threshold * (1 + 1e-12)  # 1/5 is not above 0.2
    return Intruder(float(probability.max()), float(sizes @ probability) / rows, float(sizes[above].sum()) / rows)
