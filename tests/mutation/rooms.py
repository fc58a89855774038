"""The rooms that faults are put into, the tests that are asked about each, and the sample that is drawn.

A mutant's place in the sample hangs on the seed and on itself alone: where a line is changed, the rest of the sample
stays as it was, and what is known of it needs no second run.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.mutation.mutate import Mutant, mutants_of, replaced_line

__all__ = ["PROJECT", "ROOMS", "SERVING", "Key", "digest", "equivalent", "modules", "once", "sample"]

PROJECT = Path(__file__).resolve().parents[2]
SOURCE = PROJECT / "src" / "shoal"
Key = tuple[str, str, str, str]

ROOMS: dict[str, tuple[str, ...]] = {
    "models": ("models/*.py",),
    "verification": ("verification/*.py", "verification/independent/*.py"),
    "table": ("table/*.py",),
    "output": ("io/publish.py", "runtime/scratch.py"),
    "budget": ("budget/*.py", "risk/release_audits.py"),
    "kernels": ("kernels/*.py", "bounds/kernels/*.py", "methods/*/kernels/*.py"),
}
# the tests that are asked about a room; of these only those that enter a mutant's function meet it
SERVING: dict[str, tuple[str, ...]] = {
    "models": ("test_models*", "test_papers_tables", "test_gate", "test_categories", "test_people_models",
               "test_known*", "test_people", "test_linked_rows"),
    "verification": ("test_gate*", "test_verify*", "test_papers_tables", "test_known*", "test_people_models",
                     "test_spelling", "test_people", "test_linked_rows", "test_models_exactly"),
    "table": ("test_encoding*", "test_models", "test_papers_tables", "test_pseudonyms", "test_known*", "test_gate",
                 "test_publish_categories", "test_reuse", "test_spelling", "test_labels", "test_people_models",
                 "test_linked_rows", "test_person_dates", "test_people", "test_local_suppression",
                 "test_repeating", "test_hostile"),
    "output": ("test_output*", "test_scratch*", "test_places", "test_reuse", "test_hostile"),
    "budget": ("test_identifiability_*", "test_query_cli", "test_declared_values", "test_time_zone"),
    "kernels": ("test_*kernel*", "test_switching", "test_full_domain", "test_top_down", "test_refine",
                "test_bounds", "test_full_domain_judging", "test_mondrian"),
}  # fmt: skip


def modules() -> Iterator[tuple[str, str]]:
    """Every room's modules."""
    for room, patterns in ROOMS.items():
        for path in sorted({path for pattern in patterns for path in SOURCE.glob(pattern)}):
            yield room, str(path.relative_to(SOURCE))


def equivalent() -> dict[Key, str]:
    """The mutants that change nothing, with the reason."""
    listed = _listed("equivalent.toml")
    return {(one["module"], one["function"], one["before"], one["after"]): one["reason"] for one in listed}


def once() -> list[tuple[str, Mutant]]:
    """The mutants that once survived, with their rooms."""
    room_of = {module: room for room, module in modules()}
    return [(room_of[one["module"]], replaced_line(SOURCE, **one)) for one in _listed("once.toml")]


def _listed(name: str) -> list[dict[str, str]]:
    return tomllib.loads((Path(__file__).parent / name).read_text()).get("mutant", [])


def sample(count: int, seed: int, only: str) -> list[tuple[str, Mutant]]:
    """So many mutants, drawn evenly from the rooms; small rooms give what they have and the others the rest."""
    known = equivalent()
    pools: dict[str, list[tuple[str, Mutant]]] = {}
    for room, module in modules():
        if only in ("", room) or module.startswith(only):
            times: Counter[Key] = Counter()
            for mutant in mutants_of(SOURCE, module):
                if mutant.key not in known:
                    times[mutant.key] += 1
                    lot = digest(str((seed, mutant.key, times[mutant.key])).encode())
                    pools.setdefault(room, []).append((lot, mutant))
    chosen: list[tuple[str, Mutant]] = []
    for place, room in enumerate(sorted(pools, key=lambda room: len(pools[room]))):
        share = min(len(pools[room]), (count - len(chosen)) // (len(pools) - place))
        drawn = sorted(pools[room], key=lambda drawn: drawn[0])
        chosen += [(room, mutant) for _, mutant in drawn[:share]]
    return chosen


def digest(*contents: bytes) -> str:
    """A short name for contents."""
    made = hashlib.sha256()
    for content in contents:
        made.update(len(content).to_bytes(8) + content)
    return made.hexdigest()[:16]
