"""What microaggregation tells of its groups, for the certificate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shoal.table import MethodFacts
from shoal.table.method_facts import Warned

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["BlockFacts", "Formed", "MicroaggregationFacts", "SizeFacts"]


@dataclass(frozen=True, kw_only=True)
class SizeFacts(MethodFacts):
    """The size of groups at which all met the models, and whether none smaller can."""

    group_size: int
    smallest_size: bool


@dataclass(frozen=True, kw_only=True)
class BlockFacts(MethodFacts):
    """How many blocks the table was cut into, and how many more there were before some had to be joined."""

    blocks: int
    largest_block: int
    joined_blocks: int


@dataclass(frozen=True, kw_only=True)
class MicroaggregationFacts(MethodFacts):
    """How many groups the models allow at most, how the table was cut, and what each column of numbers lost."""

    most_groups_possible: int | None
    cut: BlockFacts | None
    size: SizeFacts | None = None
    warned: Warned | None = None
    sse_sst_by_column: Mapping[str, float] | None = None


@dataclass(frozen=True)
class Formed:
    """The group of every row, int32 (n,), and the size of groups where a search found it."""

    group: npt.NDArray[np.int32]
    size: SizeFacts | None = None
