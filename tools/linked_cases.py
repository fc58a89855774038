"""Release random tiny databases, and compare by brute force.

    python -m tools.linked_cases --cases 2000 --seed 1

Each case is checked as it is, and released. Both answers must agree with an enumeration of all people and all sets of
facts, which reads the files by itself.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter
from pathlib import Path

from tests.builders.linked_databases import write_database
from tests.reference.linked_release import promise_holds, read_people, smallest_crowd

from shoal.audit.linked import check_release
from shoal.errors import InfeasibleError
from shoal.pipeline.linked import release_linked


def run_case(folder: Path, seed: int) -> str:
    """Run one case; return its outcome, and raise if anything disagrees."""
    draws = random.Random(seed)
    k, facts, sensitive = draws.choice((2, 3)), draws.choice((0, 1, 2, 2)), draws.random() < 0.4
    plan = write_database(folder, draws, k=k, facts=facts, sensitive=sensitive)
    compare(folder, plan, k, facts, sensitive)
    try:
        release_linked(plan)
    except InfeasibleError as error:
        return error.code
    people = compare(folder / "release", plan, k, facts, sensitive, required=True)
    return "released with facts" if any(person["facts"] for person in people) else "released"


def compare(folder, plan, k, facts, sensitive, *, required=False):
    """Compare the check of a folder with the enumeration."""
    people = read_people(folder)
    holds = promise_holds(people, facts, k, 2 if sensitive else 1)
    checked = check_release(folder, plan)
    assert not required or holds, "a release breaks its promise"
    assert checked.holds == holds, "the check differs from the enumeration"
    crowds = {part.kind: part.smallest for part in checked.crowds}
    assert crowds["root"] == smallest_crowd(people, 0)
    assert crowds["facts-1"] == smallest_crowd(people, 1)
    assert crowds["facts-2"] == smallest_crowd(people, 2)
    return people


def main() -> None:
    """Run the cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    outcomes: Counter[str] = Counter()
    for number in range(chosen.cases):
        with tempfile.TemporaryDirectory() as folder:
            seed = chosen.seed * 1_000_003 + number
            try:
                outcomes[run_case(Path(folder), seed)] += 1
            except Exception:
                print(f"case {seed} failed")
                raise
    print(dict(outcomes))


if __name__ == "__main__":
    main()
