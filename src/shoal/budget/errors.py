"""The named errors of identifiability.

    InputError                          exit status 2
      ParameterError                    a number that cannot be used as given
        RhoTooSmallError                ρ ≤ 1/m: no answer can be that private and still say something
        RhoAboveCrowdError              ρ > 1/k: not a crowd of k
        SamplingRateError               β outside 0 < β ≤ 1 - 1/E
      RecodingNotPublicError            the recoding was chosen by looking at the data
      RawColumnError                    a column would be published that is not part of the cell
      UniverseError                     the declared universe cannot be read, or contradicts the table or the ledger
      FixedSizeSamplingError            a sample of fixed size was asked for
      LedgerNotFoundError, LedgerExistsError, LedgerUnreadableError, LedgerBusyError
      LedgerHeadError                   the ledger does not go on from the head that was expected
    InfeasibleError                     exit status 3
      UniverseTooSmallError             a cell of the universe is too small for a population release
      BudgetExceededError               the ledger refuses: ρ would pass 1/k
      DeltaExceededError                the ledger refuses: δ would pass its limit
      SecondPopulationReleaseError      the ledger refuses: two population releases can identify

Every message says what must hold, what was found and what to change. The numbers in it are parameters and
declared counts of the universe, all public; no value of a row.
"""

from __future__ import annotations

from shoal.errors import InfeasibleError, InputError

__all__ = [
    "BudgetExceededError",
    "DeltaExceededError",
    "FixedSizeSamplingError",
    "LedgerBusyError",
    "LedgerExistsError",
    "LedgerHeadError",
    "LedgerNotFoundError",
    "LedgerUnreadableError",
    "ParameterError",
    "RawColumnError",
    "RecodingNotPublicError",
    "RhoAboveCrowdError",
    "RhoTooSmallError",
    "SamplingRateError",
    "SecondPopulationReleaseError",
    "UniverseError",
    "UniverseTooSmallError",
]


class ParameterError(InputError):
    """A parameter cannot be used as given."""


class RhoTooSmallError(ParameterError):
    """ρ is not above 1/m, the probability of a blind guess."""


class RhoAboveCrowdError(ParameterError):
    """ρ is above 1/k: the individual would not hide in a crowd of k."""


class SamplingRateError(ParameterError):
    """The sampling rate β is outside the range for which the bound is proved."""


class RecodingNotPublicError(InputError):
    """The recoding depends on the data, so that the release says more than its cells."""


class RawColumnError(InputError):
    """A column would be published beside the cell, as it is: this voids ρ."""


class UniverseError(InputError):
    """The declared universe cannot be read, or contradicts the table or the ledger."""


class FixedSizeSamplingError(InputError):
    """A sample of fixed size was asked for; the bound is proved for independent rows only."""


class LedgerNotFoundError(InputError):
    """There is no ledger at this path."""


class LedgerExistsError(InputError):
    """There is already a ledger, or another file, at this path."""


class LedgerUnreadableError(InputError):
    """The file is not a ledger, or its content contradicts itself."""


class LedgerHeadError(InputError):
    """The ledger does not go on from the head that was noted: it is an old copy, or another ledger."""


class LedgerBusyError(InputError):
    """Other processes held the ledger for longer than this one would wait."""


class UniverseTooSmallError(InfeasibleError):
    """A cell has too few individuals in the universe for a population release."""


class BudgetExceededError(InfeasibleError):
    """The booking would take ρ past 1/k. The ledger is unchanged."""


class DeltaExceededError(InfeasibleError):
    """The booking would take δ past the limit of the ledger. The ledger is unchanged."""


class SecondPopulationReleaseError(InfeasibleError):
    """A population release is already booked. The ledger is unchanged."""
