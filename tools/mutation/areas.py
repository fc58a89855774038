"""Areas of the source to mutate, their tests, and the random sample.

The rank of a mutant in the sample depends on the seed and on the mutant alone: if a line changes, the rest of the
sample stays the same, and its results can be reused.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tools.mutation.mutate import Mutant, mutants_of, replace_line

PROJECT = Path(__file__).resolve().parents[2]
SOURCE = PROJECT / "src" / "shoal"
Key = tuple[str, str, str, str]

AREAS: dict[str, tuple[str, ...]] = {
    "models": ("models/*.py",),
    "verification": ("verification/*.py", "verification/independent/*.py"),
    "table": ("table/*.py",),
    "output": ("io/publish.py", "runtime/scratch.py"),
    "budget": ("budget/*.py", "risk/release_audits.py"),
    "kernels": ("kernels/*.py", "bounds/kernels/*.py", "methods/*/kernels/*.py"),
}
# test files of an area; of these, only tests that enter a mutant's function are run
TEST_FILES: dict[str, tuple[str, ...]] = {
    "models": (
        "test_models*",
        "test_papers_tables",
        "test_independent_verification",
        "test_categories",
        "test_people_models",
        "test_partial_knowledge*",
        "test_people",
        "test_linked_rows",
        "test_harmless_values",
        "test_scenario*",
        "test_person_crowds",
    ),
    "verification": (
        "test_independent_*",
        "test_reading_of_the_original",
        "test_scenario*",
        "test_check_completeness",
        "test_harmless_values",
        "test_person_crowds",
        "test_missing_kinds",
        "test_texts_read_as_missing",
        "test_verify*",
        "test_papers_tables",
        "test_partial_knowledge*",
        "test_people_models",
        "test_spelling",
        "test_people",
        "test_linked_rows",
        "test_models_exact",
    ),
    "table": (
        "test_encoding*",
        "test_microaggregation",
        "test_linked_*",
        "test_person_crowds",
        "test_attacks*",
        "test_models",
        "test_papers_tables",
        "test_pseudonyms",
        "test_partial_knowledge*",
        "test_independent_verification",
        "test_publish_categories",
        "test_recoding_reuse",
        "test_spelling",
        "test_label_disclosure",
        "test_people_models",
        "test_person_dates",
        "test_people",
        "test_local_suppression",
        "test_repeated_rows",
        "test_hostile",
    ),
    "output": (
        "test_output*",
        "test_scratch*",
        "test_output_safety",
        "test_sinks",
        "test_recoding_reuse",
        "test_hostile",
    ),
    "budget": (
        "test_identifiability_*",
        "test_grids",
        "test_query_cli",
        "test_declared_values",
        "test_time_zone",
    ),
    "kernels": (
        "test_*kernel*",
        "test_switching",
        "test_full_domain",
        "test_top_down",
        "test_refine",
        "test_bounds",
        "test_full_domain_evaluation",
        "test_mondrian",
    ),
}


def modules() -> Iterator[tuple[str, str]]:
    """Yield every area and module."""
    for area, patterns in AREAS.items():
        for path in sorted({path for pattern in patterns for path in SOURCE.glob(pattern)}):
            yield area, str(path.relative_to(SOURCE))


def equivalent() -> dict[Key, str]:
    """Read the mutants that change nothing, with the reason."""
    listed = _read_list("equivalent.toml")
    return {(one["module"], one["function"], one["before"], one["after"]): one["reason"] for one in listed}


def former_survivors() -> list[tuple[str, Mutant]]:
    """Read the mutants that survived earlier, with their areas."""
    area_of = {module: area for area, module in modules()}
    return [(area_of[one["module"]], replace_line(SOURCE, **one)) for one in _read_list("once.toml")]


def _read_list(name: str) -> list[dict[str, str]]:
    return tomllib.loads((Path(__file__).parent / name).read_text()).get("mutant", [])


def sample(count: int, seed: int, only: str) -> list[tuple[str, Mutant]]:
    """Draw mutants evenly from the areas.

    Small areas contribute all of their mutants, and the others the rest.
    """
    known = equivalent()
    pools: dict[str, list[tuple[str, Mutant]]] = {}
    for area, module in modules():
        if only in ("", area) or module.startswith(only):
            times: Counter[Key] = Counter()
            for mutant in mutants_of(SOURCE, module):
                if mutant.key not in known:
                    times[mutant.key] += 1
                    rank = digest(str((seed, mutant.key, times[mutant.key])).encode())
                    pools.setdefault(area, []).append((rank, mutant))
    chosen: list[tuple[str, Mutant]] = []
    for position, area in enumerate(sorted(pools, key=lambda area: len(pools[area]))):
        share = min(len(pools[area]), (count - len(chosen)) // (len(pools) - position))
        drawn = sorted(pools[area], key=lambda drawn: drawn[0])
        chosen += [(area, mutant) for _, mutant in drawn[:share]]
    return chosen


def digest(*contents: bytes) -> str:
    """Return a short digest of contents."""
    made = hashlib.sha256()
    for content in contents:
        made.update(len(content).to_bytes(8) + content)
    return made.hexdigest()[:16]
