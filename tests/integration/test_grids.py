"""The methods population-grid and sampled-grid.

Covers what they publish, what they withhold and what they refuse.
"""

from __future__ import annotations

import csv
import json
import math
import sys
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import shoal
from shoal.budget import Ledger, errors
from shoal.budget.arithmetic import sampled_factor
from shoal.budget.grids import sampled_grid_counts
from shoal.budget.methods.grids import LOSS_UNITS, PopulationGrid, SampledGrid, choice_scores
from shoal.errors import InfeasibleError
from shoal.io.engines.base import Source
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.methods import METHODS, Method, Problem
from shoal.models import KAnonymity, combine
from shoal.plan.plan import Plan
from shoal.risk import release_audits
from shoal.schema import Column, Ordered, Prefix, Role, Schema, Tree, Widths
from shoal.table import ByGroup, ByLevel, read_frequency_set, recode_codes
from tests.builders.errors import has_code
from tests.builders.grids import AREAS, SCHEMA, people
from tests.reference.identifiability import SeededSource, recoding_score

PLAN = """
[source]
path = "people.csv"
[columns.name]
role = "identifier"
[columns.age]
role = "quasi-identifier"
hierarchy = { intervals = [10, 20] }
[columns.town]
role = "quasi-identifier"
hierarchy = { tree = { north = ["Ayr", "Bute"], south = ["Cove", "Dell", "Esk"] } }
[method]
name = "sampled-grid"
k = 66
beta = "1/2"
bound = 2
levels = { age = 2, town = 1 }
ledger = "people.ledger"
[output]
path = "released.csv"
"""
SAMPLED = PLAN[PLAN.index("[method]") : PLAN.index("[output]")]
POPULATION = """[method]
name = "population-grid"
k = 20
universe = 1000
levels = { age = 2, town = 1 }
ledger = "people.ledger"
"""


def cell_of(age: int, town: str) -> tuple[str, str]:
    """The cell at the levels of the plan, from the definition."""
    return f"{age // 20 * 20}..{age // 20 * 20 + 19}", "north" if town in AREAS["north"] else "south"


def cells_of(table: pa.Table) -> Counter[tuple[str, str]]:
    return Counter(map(cell_of, table["age"].to_pylist(), table["town"].to_pylist()))


def problem_of(table: pa.Table, schema: Schema = SCHEMA, model: Any = None) -> Problem:
    with DuckDBEngine() as engine:
        relation = engine.read(Source(frame=table))
        frequencies = read_frequency_set(engine, relation, schema)
        ladders = frequencies.ladders(schema, engine, relation)
    return Problem(frequencies, ladders, model or combine([KAnonymity(2)]), schema=schema)


def prepare(folder: Path, method: str = SAMPLED, rows: int = 800, plan: str = PLAN) -> Ledger:
    table = people(rows)
    with (folder / "people.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table.column_names)
        writer.writerows(zip(*table.to_pydict().values(), strict=True))
    (folder / "plan.toml").write_text(plan.replace(SAMPLED, method))
    return Ledger.create(folder / "people.ledger", m=100_000, k=20, name="people")


def released(folder: Path) -> list[tuple[str, ...]]:
    with (folder / "released.csv").open(newline="") as file:
        return list(map(tuple, csv.reader(file)))[1:]


# -- verification of grids from their files -----------------------------------------------------------

FORGERIES = {
    "rho": lambda c: c["guarantee"].update(rho=0.0001, rho_exact="1/10000"),
    "delta": lambda c: c["guarantee"].update(delta=0.0, delta_exact="0", kind="sampled grid"),
    "k": lambda c: c["guarantee"].update(k=c["guarantee"]["k"] * 50),
    "m": lambda c: c["guarantee"].update(m=10**9),
    "epsilon": lambda c: c["guarantee"].update(epsilon=0.1),
    "assumptions": lambda c: c["guarantee"].update(assumptions=[]),
    "limits": lambda c: c["guarantee"]["not_promised"].pop(),
    "kind": lambda c: c["guarantee"].update(kind="query"),
    "further statement": lambda c: c["guarantee"].update(approved=True),
    "method": lambda c: c["method"].update(name="other-grid"),
    "no guarantee in it": lambda c: c.update(guarantee={}),
    "text": lambda c: c.update(guarantee="perfect"),
    "rows": lambda c: c.update(released=c["released"] + 1),
    "groups": lambda c: c.update(groups=c["groups"] + 1),
    "hidden columns": lambda c: c.update(hidden_columns=["age"]),
    "risk": lambda c: c.update(risk={"highest": 0.001}),
    "columns": lambda c: c["plan"]["columns"].pop("town"),
    "roles": lambda c: c["plan"]["columns"]["town"].update(role="other"),
    "models": lambda c: c.update(models=[{"name": "k-anonymity", "parameters": {"k": 9}, "holds": True}]),
}


@pytest.mark.parametrize("method", [SAMPLED, POPULATION])
def test_forged_statements_of_grids_are_noticed(tmp_path: Path, method: str) -> None:
    """A guarantee follows from its parameters, and the rest from the table."""
    prepare(tmp_path, method, rows=787)
    shoal.release(tmp_path / "plan.toml")
    honest = shoal.verify(tmp_path / "released.csv")
    assert {finding.name: finding.outcome for finding in honest.findings}["guarantee"] == "holds"
    assert honest.holds
    path = tmp_path / "released.certificate.json"
    genuine = path.read_text()
    for name, forge in FORGERIES.items():
        content = json.loads(genuine)
        forge(content)
        path.write_text(json.dumps(content))
        assert not shoal.verify(path).holds, name


def test_guarantee_on_any_table_is_not_called_certified(tmp_path: Path) -> None:
    """The models of a release are removed, and a guarantee takes their place."""
    prepare(tmp_path, POPULATION, rows=787)
    shoal.release(tmp_path / "plan.toml")
    guarantee = json.loads((tmp_path / "released.certificate.json").read_text())["guarantee"]
    table = pa.table({"age": ["1", "1", "2", "2"], "ill": ["a", "b", "c", "d"]})
    plan = {"columns": {"age": "quasi-identifier", "ill": "sensitive"}, "models": "k-anonymity k=2"}
    shoal.anonymize(table, plan).save(tmp_path, "other.csv")
    path = tmp_path / "other.certificate.json"
    content = json.loads(path.read_text())
    content["plan"] = {"columns": content["plan"]["columns"]}
    path.write_text(
        json.dumps({**content, "models": [], "guarantee": guarantee, "method": {"name": "population-grid"}})
    )
    found = shoal.verify(path)
    assert not found.holds
    assert not found.complete


# -- the sampled grid ----------------------------------------------------------------------------------


def test_a_sampled_release_by_plan(tmp_path: Path) -> None:
    ledger = prepare(tmp_path, rows=2000)
    made = shoal.release(tmp_path / "plan.toml")
    rows, cells = released(tmp_path), cells_of(people(2000))
    counts = Counter(rows)
    assert set(counts) <= set(cells)
    assert all(66 <= count <= cells[cell] for cell, count in counts.items())  # type: ignore[index]
    assert 800 < len(rows) < 1150
    assert rows == sorted(rows)  # the order reveals nothing beyond the rows
    content = json.loads((tmp_path / "released.certificate.json").read_text())
    assert [(model["name"], model["parameters"], model["holds"]) for model in content["models"]] == [
        ("k-anonymity", {"k": 66}, True)
    ]
    assert (content["released"], content["groups"]) == (len(rows), len(counts))
    promise = content["guarantee"]
    assert (promise["rho_exact"], promise["E_exact"], promise["m"], promise["k"]) == ("4/100003", "4", 100_000, 66)
    assert 0 < promise["delta"] < 1e-6
    assert promise["epsilon"] == pytest.approx(np.log(4))
    assert any("fixed without looking" in sentence for sentence in promise["assumptions"])
    assert any("about attributes" in sentence for sentence in promise["not_promised"])
    assert made.figures["method"]["repeatable"] is False
    assert "by design" in made.figures["method"]["randomness"]
    (entry,) = ledger.entries()
    booked = made.figures["guarantee"]
    assert (entry.number, entry.factor) == (booked["ledger_entry"], sampled_factor(2, "1/2"))
    assert {key: value for key, value in booked.items() if key in promise} == promise
    assert "ledger_head" not in promise  # it is a digest of a file that is not published


@pytest.mark.parametrize("method", [SAMPLED, POPULATION])
def test_certificate_withholds_source_facts(tmp_path: Path, method: str) -> None:
    """No key of the certificate reveals the number of rows.

    The number is chosen so that it would be recognized under any key.
    """
    prepare(tmp_path, method, rows=787)
    result = shoal.release(tmp_path / "plan.toml")
    verified = shoal.verify(tmp_path / "released.csv")
    assert verified.holds
    assert any("guarantee of the method was not recomputed" in sentence for sentence in verified.not_recomputed)
    (tmp_path / "released.csv").unlink()
    certificate = json.loads((tmp_path / "released.certificate.json").read_text())
    answer = result.to_dict()
    for content in (certificate, answer):
        assert {"source", "rows", "suppressed", "loss", "risk"}.isdisjoint(content)
        assert {"released", "groups", "smallest_group", "models", "guarantee", "method"} <= set(content)
    assert "levels" in answer
    if method == SAMPLED:
        assert "787" not in json.dumps({key: value for key, value in certificate.items() if key != "output"})
    assert str(tmp_path) not in json.dumps(certificate)
    assert (result.utility, result.risk) == ({}, {})


def test_two_releases_differ_and_both_are_booked(tmp_path: Path) -> None:
    ledger = prepare(tmp_path)
    plan = Plan.read(tmp_path / "plan.toml")
    tables = [shoal.anonymize(people(800), plan).table for _ in range(3)]
    assert len({str(table.to_pydict()) for table in tables}) > 1  # equal by chance less than once in a thousand runs
    assert ledger.status().bound == 4**3


def test_type_of_table_is_preserved(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    prepare(tmp_path)
    frame = shoal.anonymize(people(800).to_pandas(), tmp_path / "plan.toml").table
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == ["age", "town"]


def test_draw_matches_its_definition(tmp_path: Path) -> None:
    """The same coins on cells counted in Python keep the same rows."""
    ledger = Ledger.create(tmp_path / "l", m=10**6, k=2, delta_limit="0.9")
    method = SampledGrid(k=5, ledger=ledger, levels={"age": 2, "town": 1}, beta="1/4", bound=2)
    table = people(200)
    cells = cells_of(table)
    order = sorted(cells)
    for seed in range(20):
        recoding = method.draw(problem_of(table), SeededSource(seed))
        drawn = Counter()  # type: ignore[var-annotated]
        for group, count in zip(recoding.group.tolist(), recoding.count.tolist(), strict=True):
            drawn[tuple(labels[group] for labels in recoding.labels)] += count
        expected = sampled_grid_counts([cells[cell] for cell in order], "1/4", 5, SeededSource(seed))
        assert drawn == Counter({cell: int(count) for cell, count in zip(order, expected, strict=True) if count})
        ledger.path.unlink()
        Ledger.create(ledger.path, m=10**6, k=2, delta_limit="0.9")


@given(st.integers(1, 60), st.integers(0, 10**6), st.integers(2, 6))
def test_published_rows_per_combination(rows: int, seed: int, k: int) -> None:
    """No combination gives more rows than it has; no group is below k."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.create(Path(folder) / "l", m=10**6, k=2, delta_limit="0.9")
        method = SampledGrid(k=k, ledger=ledger, levels={"age": 2, "town": 2}, beta="1/2", bound=2)
        problem = problem_of(people(rows, seed))
        try:
            recoding = method.draw(problem, SeededSource(seed))
        except InfeasibleError:
            assert ledger.status().entries == 1
            return
    assert (np.diff(recoding.row) > 0).all()
    assert (recoding.count > 0).all()
    assert (recoding.count <= problem.frequencies.count[recoding.row]).all()
    sizes = np.bincount(recoding.group, weights=recoding.count)
    assert len(sizes) == len(recoding.height) == len(recoding.share)
    assert sizes.min() >= k
    for row, group in zip(recoding.row, recoding.group, strict=True):
        codes = problem.frequencies.codes[row]
        expected = [
            ladder.labels[2][ladder.codes[2][code]] for ladder, code in zip(problem.ladders, codes, strict=True)
        ]
        assert expected == [labels[group] for labels in recoding.labels]


def test_sampled_cells_are_binomial(tmp_path: Path) -> None:
    """Distribution of the published rows of a cell of 12 at rate 1/3.

    For j = 4 .. 12 it counts how often j rows are published, and how often none.
    """
    table = pa.table({"name": ["x"] * 12, "age": [30] * 12, "town": ["Ayr"] * 12})
    problem = problem_of(table)
    found = np.zeros(13)
    source = SeededSource(7)
    for _ in range(30):
        ledger = Ledger.create(tmp_path / "l", m=10**9, k=2, delta_limit="0.9")
        method = SampledGrid(k=4, ledger=ledger, levels={"age": 0, "town": 0}, beta="1/3", bound=2)
        for _ in range(10):
            try:
                found[int(method.draw(problem, source).count.sum())] += 1
            except InfeasibleError:
                found[0] += 1
        ledger.path.unlink()
    chance = [math.comb(12, j) * (1 / 3) ** j * (2 / 3) ** (12 - j) for j in range(13)]
    expected = 300 * np.array([sum(chance[:4]), *chance[4:7], sum(chance[7:])])
    seen = np.array([found[0], *found[4:7], found[7:].sum()])
    assert found[1:4].sum() == 0
    assert ((seen - expected) ** 2 / expected).sum() < 18.47  # chi-square of 4 degrees, once in a thousand


def test_missing_value_is_a_separate_label(tmp_path: Path) -> None:
    table = people(3000)
    gaps = [None if row % 3 == 0 else age for row, age in enumerate(table["age"].to_pylist())]
    prepare(tmp_path)
    plan = Plan.read(tmp_path / "plan.toml")
    labels = set(shoal.anonymize(table.set_column(1, "age", pa.array(gaps)), plan).table["age"].to_pylist())
    assert None in labels
    assert len(labels) > 1


def test_no_cell_is_large_enough(tmp_path: Path) -> None:
    ledger = prepare(tmp_path, rows=90)
    with pytest.raises(InfeasibleError, check=has_code("release.no-cell-large-enough")):
        shoal.release(tmp_path / "plan.toml")
    assert ledger.status().entries == 1
    assert not (tmp_path / "released.csv").exists()


def test_models_of_the_plan_leave_cells_out(tmp_path: Path) -> None:
    prepare(tmp_path, SAMPLED.replace("[method]", '[[models]]\nname = "k-anonymity"\nk = 70\n[method]'), rows=2000)
    result = shoal.release(tmp_path / "plan.toml")
    assert result.figures["smallest_group"] >= 70
    assert [model["parameters"]["k"] for model in result.figures["models"]] == [70, 66]


# -- the private choice of levels ------------------------------------------------------------------------


@given(st.integers(0, 80), st.integers(0, 10**6), st.integers(2, 6))
def test_scores_match_their_definition(rows: int, seed: int, k: int) -> None:
    problem = problem_of(people(rows + 1, seed))
    counts = np.random.default_rng(seed).integers(0, problem.frequencies.count + 1)
    candidates = [(age, town) for age in range(4) for town in range(3)]
    expected = []
    for node in candidates:
        codes, _ = recode_codes(problem.frequencies.codes, problem.ladders, node)
        sizes = Counter()  # type: ignore[var-annotated]
        for cell, count in zip(map(tuple, codes.tolist()), counts.tolist(), strict=True):
            sizes[cell] += count
        loss = (node[0] / 3 + node[1] / 2) / 2
        expected.append(recoding_score(list(sizes.values()), [loss] * len(sizes), k, LOSS_UNITS))
    assert choice_scores(problem, counts, candidates, k) == expected


PRIVATE = SAMPLED.replace("bound = 2", 'bound = 2\nchoose = "private"\nchoice = 3').replace(
    "levels = { age = 2, town = 1 }\n", ""
)


def test_levels_chosen_privately(tmp_path: Path) -> None:
    ledger = prepare(tmp_path, PRIVATE, rows=20_000)
    result = shoal.release(tmp_path / "plan.toml")
    levels = result.figures["levels"]
    # of 10,000 sampled rows, towns by ages of 10 years leave no cell under 66; far from the finest and the coarsest
    assert (levels["age"], levels["town"]) in {(1, 0), (1, 1), (0, 1), (0, 0), (2, 0)}
    (entry,) = ledger.entries()
    assert entry.factor == sampled_factor(2, "1/2") * 3
    assert "chosen privately" in entry.label
    promise = result.figures["guarantee"]
    assert promise["E"] == 12
    assert any("chosen privately, with E = 3" in sentence for sentence in promise["assumptions"])


def test_levels_chosen_within_bounds(tmp_path: Path) -> None:
    prepare(tmp_path, PRIVATE + "levels = { age = [2, 3], town = 1 }\n", rows=5000)
    levels = shoal.release(tmp_path / "plan.toml").figures["levels"]
    assert levels["age"] in (2, 3)
    assert levels["town"] == 1


def test_rho_of_choice_and_release(tmp_path: Path) -> None:
    """For a given ρ, the release gets the E that the choice leaves."""
    prepare(tmp_path, PRIVATE.replace("bound = 2", 'rho = "12/100011"'), rows=5000)
    promise = shoal.release(tmp_path / "plan.toml").figures["guarantee"]
    assert promise["rho_exact"] == str(Fraction(12, 100011))
    assert promise["E_exact"] == "12"


# -- the population grid -----------------------------------------------------------------------------------

CENSUS = "town,age,count\n" + "".join(
    f"{town},{age},9000\n" for town in ("north", "south") for age in ("0..19", "20..39", "40..59", "60..79")
)
BY_CENSUS = POPULATION.replace("universe = 1000", 'universe = "census.csv"').replace("m = 100000", "m = 60000")


def by_census(folder: Path, census: str = CENSUS, m: int = 60_000) -> Ledger:
    prepare(folder, BY_CENSUS)
    (folder / "census.csv").write_text(census)
    (folder / "people.ledger").unlink()
    return Ledger.create(folder / "people.ledger", m=m, k=20)


def test_a_population_release_publishes_every_cell(tmp_path: Path) -> None:
    ledger = by_census(tmp_path)
    result = shoal.release(tmp_path / "plan.toml")
    assert Counter(released(tmp_path)) == cells_of(people(800))
    assert released(tmp_path) == sorted(released(tmp_path))
    promise = result.figures["guarantee"]
    assert (promise["rho_exact"], promise["delta"], promise["m"]) == ("1/20", 0.0, 8 * 9000 - 799)
    assert any("only population release" in sentence for sentence in promise["assumptions"])
    assert result.figures["method"]["parameters"]["universe"] == "census.csv"
    assert result.figures["models"] == []
    assert ledger.status().base == Fraction(1, 20)


def test_a_population_of_least_counts(tmp_path: Path) -> None:
    prepare(tmp_path, POPULATION)
    promise = shoal.release(tmp_path / "plan.toml").figures["guarantee"]
    assert (promise["rho_exact"], promise["m"]) == ("1/20", 100_000)


def test_models_of_a_population_release(tmp_path: Path) -> None:
    prepare(tmp_path, POPULATION.replace("[method]", '[[models]]\nname = "k-anonymity"\nk = 60\n[method]'))
    shoal.release(tmp_path / "plan.toml")
    cells = cells_of(people(800))
    assert Counter(released(tmp_path)) == {cell: count for cell, count in cells.items() if count >= 60}
    assert len(set(released(tmp_path))) < len(cells)


def test_population_grid_in_python(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "l", m=10_000, k=20)
    method = PopulationGrid(20, ledger, {"age": 2, "town": 1}, universe=1000)
    release = shoal.anonymize(people(700), Plan(SCHEMA, (), method))
    assert release.table.num_rows == 700
    assert release.figures["method"]["parameters"]["ledger"] == "l"


# -- audits, through the real methods ------------------------------------------------------------------


def audit(method: Method, rows: int = 400, k: int = 5) -> release_audits.Locality:
    """Rerun a method on random subsets of the rows.

    Every row is its own combination or shares its labels.
    """
    table = people(rows)
    texts = [list(map(str, table[name].to_pylist())) for name in ("age", "town")]

    def publish(chosen: NDArray[np.int64]) -> tuple[list[NDArray[Any]], NDArray[np.bool_]]:
        problem = problem_of(table.take(pa.array(chosen)), model=combine([KAnonymity(k)]))
        recoding = method.decide(problem)
        published_labels: dict[tuple[str, ...], tuple[str | None, ...]] = {}
        frequencies = problem.frequencies
        if isinstance(recoding, ByGroup):
            entries = zip(recoding.row.tolist(), recoding.group.tolist(), strict=True)
            labels = {row: tuple(column[group] for column in recoding.labels) for row, group in entries}
        else:
            assert isinstance(recoding, ByLevel)
            codes, _ = recode_codes(frequencies.codes, problem.ladders, recoding.levels)
            steps = list(zip(problem.ladders, recoding.levels, strict=True))
            labels = {
                row: tuple(ladder.labels[level][code] for (ladder, level), code in zip(steps, codes[row], strict=True))
                for row in np.flatnonzero(recoding.group >= 0).tolist()
            }
        for row, label in labels.items():
            key = tuple(
                dictionary.text[code]
                for dictionary, code in zip(frequencies.quasi, frequencies.codes[row], strict=True)
            )
            published_labels[key] = label
        found = [published_labels.get((texts[0][row], texts[1][row])) for row in chosen.tolist()]
        published = np.asarray([label is not None for label in found])
        columns = [np.asarray([None if label is None else label[j] for label in found], object) for j in range(2)]
        return columns, published

    return release_audits.locality(publish, rows, np.random.default_rng(3))


def test_the_grids_pass_locality(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "l", m=10**9, k=2, delta_limit="0.9")
    sampled = audit(SampledGrid(k=5, ledger=ledger, levels={"age": 2, "town": 1}, beta="1/2", bound=2))
    assert sampled.holds
    assert sampled.compared > 300

    class Repeated(PopulationGrid):
        """Create a separate ledger for each run.

        The audit is about the recoding, not about the budget.
        """

        def open_ledger(self) -> Ledger:
            path = tmp_path / f"run {len(list(tmp_path.iterdir()))}"
            return Ledger.create(path, m=10**6, k=2)

    every = audit(Repeated(5, ledger, {"age": 2, "town": 1}, universe=1000))
    assert every.holds
    assert every.compared == 3 * 320


@pytest.mark.parametrize("method", [SAMPLED, POPULATION])
def test_the_attack_audits_a_grid_and_spends_nothing(
    tmp_path: Path, shoal_command: Callable[..., Any], method: str
) -> None:
    ledger = prepare(tmp_path, method)
    assert shoal_command("release", "plan.toml")[0] == 0
    arguments = ("released.csv", "--plan", "plan.toml", "--original", "people.csv", "--locality")
    status, answer, _ = shoal_command("attack", *arguments)
    assert status == 0
    found = {attack["attack"]: attack for attack in answer["attacks"]}
    assert (found["locality"]["exposed"], found["declared grid"]["exposed"]) == (0, 0)
    assert found["locality"]["attacked"] > 1000
    assert ledger.status().entries == 1


def test_private_choice_has_no_dry_run(tmp_path: Path) -> None:
    prepare(tmp_path, PRIVATE)
    with pytest.raises(shoal.errors.PlanError, check=has_code("budget.private-levels-not-repeatable")):
        Plan.read(tmp_path / "plan.toml").method.dry_run_variant()


@pytest.mark.parametrize("name", ["mondrian", "mdav", "top-down", "k-first"])
def test_data_dependent_methods_fail_locality(name: str) -> None:
    if name not in METHODS:
        pytest.skip(f"the method {name} does not exist yet; its twin in tests/reference is audited elsewhere")
    parameters = {"k": 5} if "k" in METHODS[name].__dataclass_fields__ else {}
    found = audit(METHODS[name](**parameters))
    assert found.compared > 0
    assert not found.holds


# -- refusals, which leave the ledger unchanged ----------------------------------------------------------


@pytest.fixture
def shoal_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., Any]:
    from shoal.cli.app import run

    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, dict[str, Any], str]:
        monkeypatch.setattr(sys, "argv", ["shoal", *arguments, "--json"])
        with pytest.raises(SystemExit) as ended:
            run()
        printed = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, json.loads(printed.out), printed.err

    return call


def swapped(old: str, new: str, method: str = SAMPLED) -> str:
    assert old in method
    return method.replace(old, new)


REFUSED: dict[str, tuple[str, int, str, str]] = {
    "rho at the blind guess": (swapped("bound = 2", "rho = 0.00001"), 2, "RhoTooSmallError", "above 1/m = 1/100000"),
    "rho above the crowd": (swapped("bound = 2", "rho = 0.02"), 2, "RhoAboveCrowdError", "at most 1/k = 1/66"),
    "bound above the crowd": (swapped("bound = 2", "bound = 2000"), 2, "RhoAboveCrowdError", "1/66"),
    "no sampling": (swapped('beta = "1/2"', "beta = 0"), 2, "SamplingRateError", "above 0"),
    "beta of one": (swapped('beta = "1/2"', "beta = 1"), 2, "SamplingRateError", "1 - 1/E"),
    "beta negative": (swapped('beta = "1/2"', "beta = -0.5"), 2, "SamplingRateError", "above 0"),
    "beta above the range": (swapped('beta = "1/2"', "beta = 0.6"), 2, "SamplingRateError", "1 - 1/E = 1/2"),
    "beta too large for rho": (
        swapped("bound = 2", "rho = 0.00003").replace('"1/2"', "0.9"), 2, "SamplingRateError", "Sample fewer",
    ),
    "beta is no number": (swapped('beta = "1/2"', 'beta = "half"'), 2, "PlanError", "'beta' must be a number"),
    "levels by search": (swapped("bound", 'choose = "search"\nbound'), 2, "RecodingNotPublicError", "privately"),
    "levels by no name": (swapped("bound", 'choose = "private-choice"\nbound'), 2, "RecodingNotPublicError", "plan"),
    "levels are no table": (swapped("{ age = 2, town = 1 }", "2"), 2, "PlanError", "'levels' must be a table"),
    "a ledger that is no path": (swapped('"people.ledger"', "7"), 2, "PlanError", "'ledger' must be a path"),
    "a level is not declared": (swapped(", town = 1", ""), 2, "RecodingNotPublicError", "Column 'town' has none"),
    "a level is too high": (swapped("town = 1", "town = 3"), 2, "PlanError", "from 0 to 2"),
    "a level is negative": (swapped("town = 1", "town = -1"), 2, "PlanError", "of at least 0"),
    "a range of levels is declared": (swapped("town = 1", "town = [0, 1]"), 2, "PlanError", "a whole number from 0"),
    "a level of no column": (swapped("town = 1", "twon = 1"), 2, "PlanError", "'twon'"),
    "bound and rho": (swapped("bound = 2", "bound = 2\nrho = 0.001"), 2, "ParameterError", "both"),
    "neither bound nor rho": (swapped("bound = 2\n", ""), 2, "ParameterError", "neither"),
    "a choice of no use": (swapped("bound = 2", "bound = 2\nchoice = 2"), 2, "ParameterError", 'choose = "private"'),
    "a choice of nothing": (PRIVATE.replace("choice = 3", "choice = 1"), 2, "PlanError", "above 1"),
    "a sample of fixed size": (
        swapped("bound = 2", 'bound = 2\ndesign = "fixed-size"'), 2, "FixedSizeSamplingError", "Give `beta`",
    ),
    "k of one": (swapped("k = 66", "k = 1"), 2, "PlanError", "at least 2"),
    "no ledger": (swapped("people.ledger", "other.ledger"), 2, "LedgerNotFoundError", "Create it first"),
    "another file": (swapped("people.ledger", "people.csv"), 2, "LedgerUnreadableError", "SQLite"),
    "ledger not named": (swapped('ledger = "people.ledger"\n', ""), 2, "PlanError", "'ledger'"),
    "delta above the limit": (swapped("k = 66", "k = 30"), 3, "DeltaExceededError", "larger `k`"),
    "universe not declared": (swapped("universe = 1000\n", "", POPULATION), 2, "UniverseError", "universe"),
    "universe too small": (swapped("1000", "818", POPULATION), 3, "UniverseTooSmallError", "n - 1 + k = 819"),
    "universe file missing": (swapped("1000", '"census.csv"', POPULATION), 2, "UniverseError", "No such file"),
    "population above the crowd": (swapped("k = 20", "k = 10", POPULATION), 2, "RhoAboveCrowdError", "1/20"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused(tmp_path: Path, shoal_command: Callable[..., Any], case: str) -> None:
    method, status, kind, message = REFUSED[case]
    prepare(tmp_path, method)
    assert_refused(tmp_path, shoal_command, status, kind, message)


def assert_refused(folder: Path, call: Callable[..., Any], status: int, kind: str, message: str) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    code, answer, printed = call("release", "plan.toml")
    assert (code, answer["kind"]) == (status, kind), answer
    assert message in answer["error"]
    assert printed.count("\n") == 1
    assert "person 1" not in printed
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def change(folder: Path, old: str, new: str) -> None:
    text = (folder / "plan.toml").read_text()
    assert old in text
    (folder / "plan.toml").write_text(text.replace(old, new))


@pytest.mark.parametrize("method", [SAMPLED, POPULATION])
@pytest.mark.parametrize("role", ["sensitive", "other"])
def test_a_raw_column_is_refused(tmp_path: Path, shoal_command: Callable[..., Any], method: str, role: str) -> None:
    prepare(tmp_path, method)
    change(tmp_path, 'role = "identifier"', f'role = "{role}"')
    assert_refused(tmp_path, shoal_command, 2, "RawColumnError", "'name'")


@pytest.mark.parametrize("method", [SAMPLED, POPULATION])
@pytest.mark.parametrize(
    ("hierarchy", "message"),
    [("{ prefix = true }", "length = 5"), ("{ order = { fanout = [2] } }", "values = [...]")],
)
def test_data_dependent_labels_are_refused(
    tmp_path: Path, shoal_command: Callable[..., Any], method: str, hierarchy: str, message: str
) -> None:
    prepare(tmp_path, method)
    tree = '{ tree = { north = ["Ayr", "Bute"], south = ["Cove", "Dell", "Esk"] } }'
    change(tmp_path, tree, hierarchy)
    assert_refused(tmp_path, shoal_command, 2, "RecodingNotPublicError", message)


def test_custom_hierarchy_is_refused(tmp_path: Path) -> None:
    class Own:
        def bind(self, values: Any, missing: bool, *, column: str = "") -> Any:
            return Tree(AREAS).bind(values, missing, column=column)

    schema = Schema({"town": Column(Role.QUASI_IDENTIFIER, Own())})
    method = SampledGrid(66, tmp_path / "l", {"town": 1}, beta="1/2", bound=2)
    with pytest.raises(errors.RecodingNotPublicError, match="not known to be public"):
        Plan(schema, (), method)


@pytest.mark.parametrize("hierarchy", ["{ intervals = [10, 20] }", "{ cuts = [[20, 40], [40]] }"])
@pytest.mark.parametrize("method", [SAMPLED, POPULATION])
def test_fractional_values_are_refused(
    tmp_path: Path, shoal_command: Callable[..., Any], method: str, hierarchy: str
) -> None:
    """One fractional value would change the labels of all rows."""
    prepare(tmp_path, method)
    change(tmp_path, "{ intervals = [10, 20] }", hierarchy)
    with (tmp_path / "people.csv").open("a") as file:
        file.write("person 800,20.5,Ayr\n")
    assert_refused(tmp_path, shoal_command, 2, "RecodingNotPublicError", "'age' has 1 distinct ones")


@pytest.mark.parametrize("widths", ["[0.5, 2.5]", "[10, 20], origin = 0.5"])
def test_fractional_bounds_accept_fractional_values(tmp_path: Path, widths: str) -> None:
    """Labels then have the form of fractional numbers for any data."""
    prepare(tmp_path, POPULATION)
    change(tmp_path, "intervals = [10, 20]", f"intervals = {widths}")
    without = set(shoal.anonymize(people(400), Plan.read(tmp_path / "plan.toml")).table["age"].to_pylist())
    assert all("<" in label or label.startswith(">=") for label in without)


def test_a_declared_length_makes_prefixes_public() -> None:
    declared = Prefix(length=5)
    assert declared.bind(["123", "12345"], False).labels[1] == ("123*", "1234*")
    assert declared.bind(["123"], False).labels[1] == ("123*",)
    with pytest.raises(shoal.errors.HierarchyError, match="1 distinct value"):
        declared.bind(["123456"], False)
    with pytest.raises(shoal.errors.HierarchyError, match="whole number from 1"):
        Prefix(length=0)
    plan = Schema({"zip": Column(Role.QUASI_IDENTIFIER, declared)})
    Plan(plan, (), SampledGrid(66, "l", {"zip": 2}, beta="1/2", bound=2))
    with pytest.raises(errors.RecodingNotPublicError):
        Plan(Schema({"a": Column(Role.QUASI_IDENTIFIER, Ordered((2,)))}), (), SampledGrid(66, "l", {"a": 1}, "1/2", 2))


def test_over_budget(tmp_path: Path, shoal_command: Callable[..., Any]) -> None:
    ledger = prepare(tmp_path)
    ledger.book_query("1/25", "an earlier question")
    change(tmp_path, "bound = 2", "bound = 3")
    assert_refused(tmp_path, shoal_command, 3, "BudgetExceededError", "1/k = 1/20")


def test_a_second_population_release(tmp_path: Path, shoal_command: Callable[..., Any]) -> None:
    prepare(tmp_path, POPULATION)
    assert shoal_command("release", "plan.toml")[0] == 0
    for path in tmp_path.glob("released*"):
        path.unlink()
    assert_refused(tmp_path, shoal_command, 3, "SecondPopulationReleaseError", "sampled release")


@pytest.mark.parametrize(
    ("census", "m", "status", "kind", "message"),
    [
        (CENSUS.replace("9000", "810", 1), 50_000, 3, "UniverseTooSmallError", "1 of 8 cells below this"),
        (CENSUS.replace("north", "North"), 50_000, 2, "UniverseError", "4 cells of the table"),
        (CENSUS.replace("9000\n", "0\n", 1), 50_000, 2, "UniverseError", "1 cell of the table"),
        (CENSUS, 71_202, 2, "UniverseError", "has 71201"),
        (CENSUS.replace("town,age", "town,years"), 50_000, 2, "UniverseError", "2 of them expected"),
        (CENSUS + CENSUS.splitlines()[1] + "\n", 50_000, 2, "UniverseError", "Row 10 repeats"),
        (CENSUS.replace("9000", "many", 1), 50_000, 2, "UniverseError", "Row 2"),
        (CENSUS.replace("9000", "-3", 1), 50_000, 2, "UniverseError", "Row 2"),
        ("", 50_000, 2, "UniverseError", "Found 0 columns"),
        (
            CENSUS.replace("9000", "9" * 40).replace("9" * 40, "5", 1),
            50_000,
            3,
            "UniverseTooSmallError",
            "1 of 8 cells",
        ),
        ("town,age,count\n", 50_000, 3, "UniverseTooSmallError", "smallest has 0"),
    ],
)
def test_unsuitable_universe_is_refused(
    tmp_path: Path, shoal_command: Callable[..., Any], census: str, m: int, status: int, kind: str, message: str
) -> None:
    by_census(tmp_path, census, m)
    assert_refused(tmp_path, shoal_command, status, kind, message)


def test_configured_count_column(tmp_path: Path) -> None:
    by_census(tmp_path, CENSUS.replace("count", "people"))
    change(tmp_path, "k = 20", 'k = 20\ncount_column = "people"')
    assert shoal.release(tmp_path / "plan.toml").figures["released"] == 800
    change(tmp_path, 'count_column = "people"', 'count_column = "age"')
    with pytest.raises(errors.UniverseError, match="column of their own"):
        shoal.release(tmp_path / "plan.toml", overwrite=True)


def test_too_large_lattice_is_refused(tmp_path: Path) -> None:
    columns = {f"c{number}": Column(Role.QUASI_IDENTIFIER, Widths((1, 2, 4, 8))) for number in range(8)}
    with pytest.raises(shoal.errors.PlanError, check=has_code("method.too-many-recodings", most=50000, found=1679616)):
        Plan(Schema(columns), (), SampledGrid(66, "l", beta="1/2", bound=2, choose="private", choice=2))


def test_a_check_needs_no_ledger(tmp_path: Path, shoal_command: Callable[..., Any]) -> None:
    """A recipient can check a release against the plan without the ledger."""
    prepare(tmp_path)
    assert shoal_command("release", "plan.toml")[0] == 0
    (tmp_path / "people.ledger").unlink()
    code, answer, _ = shoal_command("check", "released.csv", "--plan", "plan.toml")
    assert (code, answer["holds"]) == (0, True)


def test_terminal_output_of_a_grid_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from shoal.cli.app import run

    prepare(tmp_path)
    monkeypatch.setattr(sys, "argv", ["shoal", "release", str(tmp_path / "plan.toml")])
    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "suppressed" not in printed
    assert "Promise: rho = 3.99988e-05, delta = 9.49925e-07, E = 4, epsilon = 1.38629, m = 100,000, k = 66." in printed
    assert "It does not say" in printed


def test_release_expecting_an_unknown_ledger_head_is_refused(tmp_path: Path) -> None:
    """The ledger must continue from the expected head."""
    ledger = prepare(tmp_path, rows=100)
    method = Plan.read(tmp_path / "plan.toml").method
    assert isinstance(method, SampledGrid)
    method.expecting(ledger.status().head).preflight()
    with pytest.raises(errors.LedgerHeadError):
        method.expecting("0" * 64).preflight()
    assert method.expecting("0" * 64).parameters == method.parameters  # the certificate has no head but its own
