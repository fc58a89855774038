"""Errors of differential identifiability.

    InputError                          exit status 2
      ParameterError                    a number that cannot be used as given
        RhoTooSmallError                ρ ≤ 1/m: an answer that private would carry no information
        RhoAboveCrowdError              ρ > 1/k: not a crowd of k
        SamplingRateError               β outside 0 < β ≤ 1 - 1/E
      RecodingNotPublicError            the recoding was chosen by looking at the data
      RawColumnError                    a column would be published that is not part of the cell
      UniverseError                     the declared universe cannot be read, or contradicts the table or the ledger
      FixedSizeSamplingError            a sample of fixed size was requested
      LedgerNotFoundError, LedgerExistsError, LedgerUnreadableError, LedgerBusyError
      LedgerHeadError                   the ledger does not continue from the expected head
    InfeasibleError                     exit status 3
      UniverseTooSmallError             a cell of the universe is too small for a population release
      BudgetExceededError               the ledger refuses: ρ would exceed 1/k
      DeltaExceededError                the ledger refuses: δ would exceed its limit
      SecondPopulationReleaseError      the ledger refuses: two population releases can identify a person

Every message says what must hold, what was found and what to change. Its numbers are parameters and declared counts of
the universe, which are public; it never has a value of a row.
"""

from __future__ import annotations

from shoal.errors import InfeasibleError, InputError


class ParameterError(InputError):
    """A parameter cannot be used as given."""


class RhoTooSmallError(ParameterError):
    """ρ is not above 1/m, the probability of a blind guess."""


class RhoAboveCrowdError(ParameterError):
    """ρ is above 1/k: the individual would not hide in a crowd of k."""


class SamplingRateError(ParameterError):
    """The sampling rate β is outside the range for which the bound is proved."""


class RecodingNotPublicError(InputError):
    """The recoding depends on the data, so the release reveals more."""


class RawColumnError(InputError):
    """A column outside the cell would be published, which voids ρ."""


class UniverseError(InputError):
    """An unreadable universe, or one that contradicts the table or ledger."""


class FixedSizeSamplingError(InputError):
    """A sample of fixed size; the bound holds for independent rows only."""


class LedgerNotFoundError(InputError):
    """There is no ledger at this path."""


class LedgerExistsError(InputError):
    """There is already a ledger, or another file, at this path."""


class LedgerUnreadableError(InputError):
    """The file is not a ledger, or its content contradicts itself."""


class LedgerHeadError(InputError):
    """A ledger that does not continue from the expected head.

    It is an old copy, or another ledger.
    """


class LedgerBusyError(InputError):
    """Other processes locked the ledger beyond the waiting time."""


class UniverseTooSmallError(InfeasibleError):
    """A cell has too few individuals in the universe for a population release."""


class BudgetExceededError(InfeasibleError):
    """A booking that would raise ρ above 1/k. The ledger is unchanged."""


class DeltaExceededError(InfeasibleError):
    """A booking that would raise δ above its limit.

    The ledger is unchanged.
    """


class SecondPopulationReleaseError(InfeasibleError):
    """A population release is already booked. The ledger is unchanged."""
