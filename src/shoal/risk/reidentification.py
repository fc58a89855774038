"""Re-identification risk of prosecutor, journalist and marketer.

The *prosecutor* knows that the target is in the table: a group of f rows gives a probability of 1/f. The *journalist*
does not know it, and wants to show that anyone can be found: of the F people of the population who match the group, the
right one must be picked, 1/F. The *marketer* links everybody and counts the correct links.

El Emam and Dankar, "Protecting privacy using k-anonymity", JAMIA 15, 2008; Dankar and El Emam, "A method for evaluating
marketer re-identification risk", PAIS 2010; El Emam, "Guide to the de-identification of personal health information",
2013, chapter 16 (the names and formulas pR, jR and mR).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import PlanError
from shoal.runtime.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Intruder:
    """Re-identification risk for one intruder.

    Attributes
    ----------
    highest
        The highest probability of any row.
    average
        The mean probability over rows: the share of all rows that are re-identified correctly.
    at_risk
        The share of rows with a probability above the threshold.
    """

    highest: float
    average: float
    at_risk: float

    def to_dict(self) -> dict[str, float]:
        """Return the risk for JSON."""
        return {"highest": self.highest, "average": self.average, "at_risk": self.at_risk}


@dataclass(frozen=True)
class Reidentification:
    """Re-identification risk for the three intruders.

    Attributes
    ----------
    threshold
        The probability above which a row counts as at risk.
    prosecutor, journalist
        The journalist is None where nothing is known of the population.
    marketer
        The share of rows that are linked correctly; the prosecutor's average where the table is the population.
    expected
        The number of rows that the marketer links correctly.
    """

    threshold: float
    prosecutor: Intruder
    journalist: Intruder | None
    marketer: float
    expected: float

    def to_dict(self) -> dict[str, Any]:
        """Return the risks for JSON."""
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
    """Compute the re-identification risk of a table from its group sizes.

    Parameters
    ----------
    sizes
        int64 (g,): rows of each group.
    population
        float64 (g,): the number of people of the population that match each group (at least its rows), where known.
    threshold
        The probability above which a row is at risk; 0.2 is a group of fewer than 5.
    probability
        float64 (g,): E[1/F] of each group, where the population is only known by its size.

    Examples
    --------
    Groups of 4, 4 and 4: Table 5 of the papers.

    >>> reidentification(np.array([4, 4, 4])).prosecutor
    Intruder(highest=0.25, average=0.25, at_risk=1.0)
    """
    if not 0 <= threshold <= 1:
        raise PlanError("attack.threshold-not-probability", found=threshold)
    sizes = np.asarray(sizes, np.int64)
    rows = int(sizes.sum())
    prosecutor = _intruder(sizes, 1 / sizes, threshold, rows)
    if population is not None:
        if (np.asarray(population) < sizes).any():
            too_small = int((np.asarray(population) < sizes).sum())
            raise PlanError("attack.population-too-small", failing=too_small, groups=len(sizes))
        probability = 1 / np.asarray(population, np.float64)
    if probability is None:
        return Reidentification(threshold, prosecutor, None, prosecutor.average, prosecutor.average * rows)
    journalist = _intruder(sizes, probability, threshold, rows)
    if population is not None:
        # El Emam's jRc: the average over the population, if that is higher
        other = len(sizes) / float(np.asarray(population).sum())
        journalist = Intruder(journalist.highest, max(journalist.average, other), journalist.at_risk)
    marketer = float(sizes @ probability) / rows
    return Reidentification(threshold, prosecutor, journalist, marketer, marketer * rows)


def reidentification_of_people(crowd: npt.NDArray[np.int64], threshold: float) -> Reidentification:
    """Compute the prosecutor risk where people have several rows.

    ``crowd`` is the size of the smallest crowd of each person.
    """
    prosecutor = _intruder(np.ones_like(crowd), 1 / crowd, threshold, len(crowd))
    return Reidentification(threshold, prosecutor, None, prosecutor.average, prosecutor.average * len(crowd))


def _intruder(
    sizes: npt.NDArray[np.int64], probability: npt.NDArray[np.float64], threshold: float, rows: int
) -> Intruder:
    above = probability > threshold * (1 + 1e-12)  # 1/5 is not above 0.2
    return Intruder(float(probability.max()), float(sizes @ probability) / rows, float(sizes[above].sum()) / rows)
