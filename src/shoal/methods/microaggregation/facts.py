"""Facts about microaggregation for the certificate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from shoal.runtime.lazy_dataclass import dataclass
from shoal.table import MethodFacts
from shoal.table.method_facts import WarningFacts

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, kw_only=True)
class SizeFacts(MethodFacts):
    """Group size at which all groups met the models.

    ``smallest_size`` is whether no smaller size can.
    """

    group_size: int
    smallest_size: bool


@dataclass(frozen=True, kw_only=True)
class BlockFacts(MethodFacts):
    """Number and size of the blocks into which the table was cut.

    ``joined_blocks`` is how many blocks had to be merged.
    """

    blocks: int
    largest_block: int
    joined_blocks: int


@dataclass(frozen=True, kw_only=True)
class MicroaggregationFacts(MethodFacts):
    """Largest possible number of groups, blocks, and loss by column.

    ``most_groups_possible`` is the most groups that the models allow; ``sse_sst_by_column`` covers the numeric columns.
    """

    most_groups_possible: int | None
    cut: BlockFacts | None
    size: SizeFacts | None = None
    warned: WarningFacts | None = None
    sse_sst_by_column: Mapping[str, float] | None = None


@dataclass(frozen=True)
class FormedGroups:
    """The group of every row, int32 (n,), and the group size if searched for."""

    group: npt.NDArray[np.int32]
    size: SizeFacts | None = None
