"""Generated files in the format of UCI's Adult."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from shoal.papers.adult_hierarchies import HIERARCHIES
from shoal.schema.tree_hierarchies import declared_paths

OCCUPATIONS = ("Sales", "Craft-repair", "Tech-support", "Adm-clerical")


def write_adult(folder: Path, rows: int = 2400) -> Path:
    """Write adult.data and adult.test with random records; return the folder.

    Two thirds of the records are copies of twenty, so that patterns of thirty records exist. As in UCI's files,
    adult.test begins with a comment and ends each record with a full stop; one record has an unknown value.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for seed, name in enumerate(("adult.data", "adult.test")):
        random = np.random.default_rng(9)
        copied = [[*_record(random)[:-1], ("<=50K", ">50K")[number % 2]] for number in range(20)]
        random = np.random.default_rng(seed)
        lines = ["|1x3 Cross validator"] if seed else []
        for row in range(rows):
            record = copied[row % 20] if row % 3 else _record(random)
            cells = [record[0], "?" if row == 9 else record[1], *record[2:]]
            lines.append(", ".join(map(str, cells)) + ("." if seed else ""))
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def _record(random: np.random.Generator) -> list[object]:
    """Return the fifteen cells of a random record."""
    values = {column: [path[0] for path in declared_paths(tree)] for column, tree in HIERARCHIES.items()}
    drawn = {column: some[int(len(some) * random.random() ** 3)] for column, some in values.items() if some}
    high = random.random() < (0.8 if drawn["education"] in ("Masters", "Bachelors") else 0.3)
    return [
        random.integers(17, 60), drawn["workclass"], 1, drawn["education"], 9, drawn["marital-status"],
        OCCUPATIONS[random.integers(len(OCCUPATIONS))], "Husband", drawn["race"],
        ("Male", "Female")[random.integers(2)], 0, 0, 40, drawn["native-country"], ">50K" if high else "<=50K",
    ]  # fmt: skip
