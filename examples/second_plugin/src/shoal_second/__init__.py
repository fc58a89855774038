"""Second example of a package that extends shoal."""

from shoal.plugins import Format
from shoal_second.method import SortedRuns
from shoal_second.model import Rho1ToRho2

TYPED_TSV = Format(
    name="typed-tsv",
    title="Tab-separated text with types",
    suffixes=(".ttsv",),
    module="shoal_second.typed_tsv",
    signature=((0, b"#typed-tsv 1\n"),),
    types_by_content=False,
)

__all__ = ["TYPED_TSV", "Rho1ToRho2", "SortedRuns"]
