"""Check of a large table, compared with a plain GROUP BY in DuckDB.

Both group by the same columns under a memory limit of 1 GB.

python -m benchmarks.check [rows]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.measure import measure, show
from shoal.datasets.census import QUASI_IDENTIFIERS, SENSITIVE, write_census

PLAIN = """
import duckdb
con = duckdb.connect(config={{"memory_limit": "1GB"}})
names = ", ".join('"' + name + '"' for name in {columns!r})
"""
PLAIN_RUN = """
answer = con.sql(f"SELECT {{names}}, count(*) AS n FROM read_parquet({path!r}) GROUP BY ALL").to_arrow_table().num_rows
"""
CHECK = "import shoal; shoal.check\nmodels = ['k-anonymity k=2', 'p-sensitive p=2', 't-closeness t=0.5']"
CHECK_RUN = """
answer = shoal.check({path!r}, models, quasi_identifiers={quasi!r}, sensitive=[{sensitive!r}], memory="1GB").groups
"""


def main(rows: int = 10_000_000, repeat: int = 3) -> None:
    columns = [*QUASI_IDENTIFIERS, SENSITIVE]
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "census.parquet")
        write_census(Path(path), rows)
        plain = measure(PLAIN.format(columns=columns), PLAIN_RUN.format(path=path), repeat=repeat)
        ours = measure(
            CHECK, CHECK_RUN.format(path=path, quasi=list(QUASI_IDENTIFIERS), sensitive=SENSITIVE), repeat=repeat
        )
    show(
        f"Check of {rows:,} rows, 7 quasi-identifiers, 1 sensitive, memory limit 1 GB (best of {repeat})",
        ("what", "seconds", "peak MB", "result"),
        [
            ("DuckDB GROUP BY", plain["seconds"], plain["peak_mb"], f"{plain['answer']:,} combinations"),
            ("shoal check (k, p, t)", ours["seconds"], ours["peak_mb"], f"{ours['answer']:,} groups"),
            ("ratio", ours["seconds"] / plain["seconds"], ours["peak_mb"] / plain["peak_mb"], ""),
        ],
    )


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
