"""Releases of all pairs of method, format, unit and knowledge.

They are checked by brute force from the files, without the package. The checker finds wrong releases.
"""

from __future__ import annotations

import csv
import itertools
import random
from pathlib import Path

import pytest
import tomli_w
from tools.fuzz.checker import Release, check_release
from tools.fuzz.harness import call, within
from tools.fuzz.judge import judge_release
from tools.fuzz.tables import fold, read_table

METHODS = [
    {"name": "full-domain"}, {"name": "full-domain", "suppression": 0.3}, {"name": "top-down"}, {"name": "mondrian"},
    {"name": "refine"}, {"name": "switching"}, {"name": "local-suppression"},
    {"name": "local-suppression", "missing": "loose"}, {"name": "hidden-cells"}, {"name": "mdav", "k": 3},
    {"name": "k-first", "k": 3}, {"name": "p-first", "k": 3, "effort": 50}, {"name": "anti-unification"},
    {"name": "auto", "methods": ["full-domain", "mondrian"]},
]  # fmt: skip
SUFFIXES = ["csv", "parquet", "xlsx", "sav", "dta", "sqlite"]
UNITS = ["rows", "people", "linked"]
KNOWLEDGE = ["all", "known", "keys", "known, loose", "keys, loose"]
MODELS = [
    {"name": "p-sensitive", "p": 2},
    {"name": "l-diversity", "l": 2},
    {"name": "l-diversity", "l": 1.5, "kind": "entropy"},
    {"name": "l-diversity", "l": 2, "kind": "recursive", "c": 3},
    {"name": "alpha-k", "alpha": 0.8, "k": 3},
    {"name": "t-closeness", "t": 0.6},
    {"name": "t-closeness", "t": 0.7, "distance": "ordered"},
    {"name": "beta-likeness", "beta": 3},
    {"name": "p-alpha-sensitive", "p": 2, "alpha": 0.5},
    None,
]
SIZES_ONLY = ("mdav", "k-first", "anti-unification")


def all_pairs(*factors):
    """Choose combinations in which any two values of two factors meet."""
    chance = random.Random(5)
    wanted = {
        ((i, a), (j, b))
        for (i, one), (j, other) in itertools.combinations(enumerate(factors), 2)
        for a in range(len(one))
        for b in range(len(other))
    }
    chosen = []
    while wanted:
        (i, a), (j, b) = min(wanted)
        tried = []
        for _ in range(20):
            row = [chance.randrange(len(factor)) for factor in factors]
            row[i], row[j] = a, b
            new = wanted & set(itertools.combinations(enumerate(row), 2))
            tried.append((len(new), row, new))
        _, best, new = max(tried, key=lambda one: one[0])
        wanted -= new
        chosen.append(tuple(best))
    return chosen


def make_source(path: Path, seed: int, people: bool) -> None:
    chance = random.Random(seed)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["row", "who", "age", "place", "ward", "ill"])
        for number in range(48):
            person = f"n{chance.randrange(20) if people else number}"
            region, ward = chance.choice(["aa", "aa", "ab", "ba", "bb"]), chance.choice("xxxyz")
            ill = chance.choice(["flu", "flu", "gout", "rash", "HIV"])
            writer.writerow([f"r{number}", person, chance.choice([21, 22, 23, 34, 35, 41]), region, ward, ill])


def make_plan(method, suffix, unit, knowledge, model):
    role = {"rows": "identifier", "people": "person", "linked": "person"}[unit]
    columns = {
        "row": {"role": "other"},
        "who": {"role": role, **({"pseudonym": True} if unit == "linked" else {})},
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}},
        "place": {"role": "quasi-identifier", "hierarchy": {"tree": {"A": ["aa", "ab"], "B": ["ba", "bb"]}}},
        "ward": {"role": "quasi-identifier"},
        "ill": {
            "role": "sensitive",
            "categories": [["HIV"], ["gout", "rash"], ["flu"]],
            "order": ["flu", "rash", "gout", "HIV"],
        },
    }
    models = [{"name": "k-anonymity", "k": 3}]
    if model is not None and method["name"] not in SIZES_ONLY and "missing" not in method:
        models.append(model)
    if unit == "linked":
        models.append({"name": "trajectory-anonymity", "k": 2, "known_rows": 2})
    plan = {
        "source": {"path": "source.csv"}, "output": {"path": f"released.{suffix}", "pseudonym_key": "key"},
        "columns": columns, "models": models, "method": method, "engine": {"threads": 1},
    }  # fmt: skip
    reading = {"reading": "loose"} if "loose" in knowledge else {}
    if knowledge.startswith("known"):
        plan["models"] = [{**one, "known": 2, **reading} for one in models]
    if knowledge.startswith("keys"):
        plan["keys"] = [{"columns": ["age", "ward"], **reading}, {"columns": ["place"], "k": 4, **reading}]
    return plan


def test_all_pairs_of_releases(tmp_path):
    """Every release keeps what its plan promises; other plans are refused."""
    released, factors = 0, (METHODS, SUFFIXES, UNITS, KNOWLEDGE)
    combinations = all_pairs(*factors)
    for number, combination in enumerate(combinations):
        method, suffix, unit, knowledge = (factor[i] for factor, i in zip(factors, combination, strict=True))
        model = MODELS[number % len(MODELS)]
        folder = tmp_path / str(number)
        folder.mkdir()
        make_source(folder / "source.csv", number, unit != "rows")
        (folder / "key").write_bytes(b"k" * 64)
        (folder / "key").chmod(0o600)
        (folder / "plan.toml").write_text(tomli_w.dumps(make_plan(method, suffix, unit, knowledge, model)))
        with within(folder):
            done = call(["release", "plan.toml"])
        assert done.status in (0, 2, 3), (method, suffix, unit, knowledge, model, done.err)
        if done.status == 0:
            released += 1
            wrong = judge_release(folder, Path("plan.toml"))
            assert wrong is None, (method, suffix, unit, knowledge, model, wrong)
    assert released > len(combinations) / 4


# -- the checker finds wrong releases ------------------------------------------------------------------

PATIENTS = [("20", "A", "HIV")] * 2 + [
    (age, zip_code, ill) for age, zip_code in (("20", "B"), ("30", "A")) for ill in ("flu", "cancer")
]


def release_of(folder, source, released, document, header=("age", "zip", "ill")):
    with (folder / "source.csv").open("w", newline="") as file:
        csv.writer(file).writerows([document["columns"].keys(), *source])
    whole = {"source": {"path": "source.csv"}, "method": {}, **document}
    return Release(folder, whole, list(header), [list(row) for row in released])


def columns_of(**others):
    quasi = {"role": "quasi-identifier"}
    return {**others, "age": quasi, "zip": quasi, "ill": {"role": "sensitive"}}


def test_checker_finds_candidates_of_one_value(tmp_path):
    models = [{"name": "k-anonymity", "k": 2}, {"name": "p-sensitive", "p": 2}]
    document = {"columns": columns_of(), "models": models, "keys": [{"columns": ["age", "zip"]}]}
    loose = {**document, "keys": [{"columns": ["age", "zip"], "reading": "loose"}]}
    hidden = [("*", "A", "HIV")] * 2 + PATIENTS[2:]
    assert "rows that can be a person's" in check_release(release_of(tmp_path, PATIENTS, hidden, loose))
    assert "in a group of 2" in check_release(release_of(tmp_path, PATIENTS, hidden, document))
    safe = [("*", "A", "HIV")] * 2 + [("20", "*", ill) for _, _, ill in PATIENTS[2:4]] + PATIENTS[4:]
    assert check_release(release_of(tmp_path, PATIENTS, safe, loose)) is None


@pytest.mark.parametrize(
    ("models", "rows", "wrong"),
    [
        ([{"name": "k-anonymity", "k": 3}], PATIENTS, True),
        ([{"name": "k-anonymity", "k": 2}], PATIENTS, False),
        ([{"name": "p-sensitive", "p": 2}], [("20", "A", "HIV"), ("20", "A", "hiv\u00a0")], True),
        ([{"name": "l-diversity", "l": 2}], [("20", "A", "1"), ("20", "A", "1.0")], True),
        ([{"name": "k-anonymity", "k": 3, "known": 1}], PATIENTS, True),
        ([{"name": "k-anonymity", "k": 2, "known": 1}], PATIENTS, False),
        ([{"name": "alpha-k", "alpha": 0.5, "k": 2}], PATIENTS, True),
        ([{"name": "t-closeness", "t": 0.1}], PATIENTS, True),
        ([{"name": "beta-likeness", "beta": 0.1}], PATIENTS, True),
        ([{"name": "delta-disclosure", "delta": 0.1}], PATIENTS, True),
    ],
)
def test_checker_evaluates_rows(tmp_path, models, rows, wrong):
    found = check_release(release_of(tmp_path, rows, rows, {"columns": columns_of(), "models": models}))
    assert (found is not None) == wrong, found


def test_checker_counts_people(tmp_path):
    """Four rows of one person are no group of two."""
    columns = {"row": {"role": "other"}, **columns_of(who={"role": "person"})}
    source = [(str(n), person, "20", "A", "flu") for n, person in enumerate(["a", "a", "A ", "a"])]
    released = [(row[0], *row[2:]) for row in source]
    header = ("row", "age", "zip", "ill")
    document = {"columns": columns, "models": [{"name": "k-anonymity", "k": 2}]}
    assert "1 people" in check_release(release_of(tmp_path, source, released, document, header))
    source[0] = ("0", "b", "20", "A", "flu")
    assert check_release(release_of(tmp_path, source, released, document, header)) is None
    linked = {**document, "models": [{"name": "trajectory-anonymity", "k": 2}]}
    assert "1 people" in check_release(release_of(tmp_path, source, released, linked, header))


def test_checker_reads_stars_loosely(tmp_path):
    document = {
        "columns": columns_of(), "models": [{"name": "k-anonymity", "k": 2}],
        "method": {"name": "local-suppression", "missing": "loose"},
    }  # fmt: skip
    source = [("20", "A", "x"), ("20", "B", "x"), ("20", "B", "x"), ("30", "A", "x"), ("30", "A", "x")]
    alone = [("20", "*", "x"), *source[1:]]
    assert "candidates" in check_release(release_of(tmp_path, source, alone, document))
    good = [("20", "*", "x")] * 3 + source[3:]
    assert check_release(release_of(tmp_path, source, good, document)) is None


def test_cells_are_those_of_two_readers(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b\n1,"x\ny"\n,NA\n')
    assert read_table(path) == (["a", "b"], [["1", "x\ny"], [None, "NA"]])
    assert fold("ＨＩＶ \u200b") == fold("hiv")
    assert fold(" ") is None
