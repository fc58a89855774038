"""Conformance checks for extensions of shoal.

They cover models, methods, hierarchies, formats and engines.

Run these in the tests of a package that extends shoal:

    from shoal.testing import check_format, check_hierarchy, check_method, check_model

    def test_my_model():
        check_model(AtMost(2))

Each raises AssertionError with the broken requirement, on random tables that are the same in every run. All models,
methods, hierarchies, formats and engines of shoal must pass the same checks.
"""

from __future__ import annotations

import importlib
import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.errors import InfeasibleError, PlanError, TableError
from shoal.io.engines import open_engine
from shoal.io.engines.base import EngineSettings, Source
from shoal.io.formats import Format, Options, Writing
from shoal.io.formats.sandbox import load_in_sandbox
from shoal.methods import METHODS, Method
from shoal.models import Known, Model, combine, make_model, partial_knowledge_models
from shoal.models.base import SensitiveModel
from shoal.pipeline.check import check
from shoal.pipeline.run import anonymize
from shoal.plan.plan import Plan
from shoal.runtime.validation import build_from_section
from shoal.schema import TOP, BaseHierarchy, Categories, Column, Role, Schema, Tree, Widths
from shoal.table import FrequencySet, read_frequency_set
from shoal.verification.check import CheckResult
from shoal.verification.independent import (
    DEFINITIONS,
    ModelEvaluation,
    count_groups,
    differences,
    judge,
    list_sensitive_columns,
)

__all__ = [
    "PEOPLE_SCHEMA",
    "SCHEMA",
    "Case",
    "check_definition",
    "check_engine",
    "check_format",
    "check_hierarchy",
    "check_method",
    "check_model",
    "method_cases",
    "people_table",
    "sample_models",
    "table_of",
]

VALUES = ("u", "v", "w", "x")
SCHEMA = Schema(
    {
        "age": Column(Role.QUASI_IDENTIFIER, Widths((5, 20))),
        "place": Column(Role.QUASI_IDENTIFIER, Tree({"north": ["a", "b"], "south": ["c", "d", "e"]})),
        "secret": Column(
            Role.SENSITIVE,
            hierarchy=Tree({"1": ["u", "v"], "2": ["w", "x"]}),
            categories=Categories((("u",), ("v", "w"), ("x",))),
            order=VALUES,
        ),
        "note": Column(Role.OTHER),
    }
)
"""The columns of the test tables; the sensitive one has categories, an order and a hierarchy."""
HARMLESS_SCHEMA = Schema(
    {
        **SCHEMA.columns,
        "secret": Column(
            Role.SENSITIVE, categories=SCHEMA.columns["secret"].categories, harmless=("x",), missing="not applicable"
        ),
    }
)
"""The same columns, of which a sensitive value and missing ones are harmless."""
PEOPLE_SCHEMA = Schema({"patient": Column(Role.PERSON), **SCHEMA.columns})
"""The columns of :func:`people_table`."""


def table_of(rows: int, seed: int) -> pa.Table:
    """Return a random table with the columns of :data:`SCHEMA`.

    Every odd seed leaves some cells missing.
    """
    random = np.random.default_rng(seed)

    def with_missing(values: Sequence[Any], share: float) -> list[Any]:
        return [None if seed % 2 and random.random() < share else value for value in values]

    return pa.table(
        {
            "age": pa.array(with_missing(random.integers(20, 60, rows).tolist(), 0.1), pa.int64()),
            "place": pa.array(with_missing(random.choice(list("abcde"), rows).tolist(), 0.1), pa.string()),
            "secret": pa.array(
                with_missing(random.choice(VALUES, rows, p=[0.4, 0.3, 0.2, 0.1]).tolist(), 0.05), pa.string()
            ),
            "note": [f"note {i % 7}" for i in range(rows)],
        }
    )


def _frequencies(rows: int, seed: int, schema: Schema) -> FrequencySet:
    with open_engine() as engine:
        return read_frequency_set(engine, engine.read(Source(frame=table_of(rows, seed))), schema)


def _schemas(model: Model) -> tuple[Schema, ...]:
    """Return the columns that a model is tried with."""
    return (SCHEMA, HARMLESS_SCHEMA) if isinstance(model, SensitiveModel) and model.supports_harmless else (SCHEMA,)


def check_model(model: Model, *, methods: Sequence[str] = ("full-domain", "mdav", "mondrian")) -> None:
    """Check a model's declarations.

    Verdicts are deterministic, declared properties of unions hold, no group below ``least`` holds and none without a
    known value, the fields of the model define it, and methods meet it. A model that supports harmless values is tried
    with a column that has some, too.
    """
    assert model.name, "a model has a name"
    assert replace(model) == model, "a model is a frozen dataclass that its fields make again"
    for seed in range(0 if model.requires_people else 12):
        for schema in _schemas(model):
            frequencies = _frequencies(40 + 20 * seed, seed, schema)
            combine((model,)).check(frequencies.domains)
            _check_unions(model, frequencies, seed)
    case = next(case for case in method_cases((model,), ((200, 2),)) if model in case.models)
    released = [_is_released(build_from_section(METHODS, {"name": name}, "method"), case) for name in methods]
    assert any(released), f"one of the methods {', '.join(methods)} meets the model"


def _check_unions(model: Model, frequencies: FrequencySet, seed: int) -> None:
    random = np.random.default_rng(seed)
    fine = np.unique(random.integers(0, 8, len(frequencies.count)), return_inverse=True)[1].astype(np.int64)
    missing = frequencies.secrets[:, 0] < 0
    if missing.any():
        fine[missing & (random.random(len(fine)) < 0.5)] = fine.max() + 1  # a group without a known value
    groups = frequencies.groups_of(fine, int(fine.max()) + 1)
    first, second = model.assess(groups), model.assess(groups)
    assert first.holds.dtype == np.bool_, "a verdict is an array of booleans, one for each group"
    assert first.holds.shape == (groups.count,), "a verdict is an array of booleans, one for each group"
    assert (first.holds == second.holds).all(), "the same groups get the same verdict"
    assert (groups.size[first.holds] >= model.least).all(), "no group smaller than the model's least size holds"
    if isinstance(model, SensitiveModel):
        known = groups.histogram("secret").known
        assert (known[first.holds] > 0).all(), "a group without a known value fails: missing values never help"
    for condition in first.conditions:
        within_bound = condition.value >= condition.bound if condition.at_least else condition.value <= condition.bound
        assert within_bound[first.holds].all(), f"a group that holds keeps the bound of {condition.parameter!r}"
    pairs = [(a, b) for a in range(groups.count) for b in range(a)]
    for a, b in pairs:
        joined: npt.NDArray[np.int64] = np.where(fine == a, b, fine)
        joined = np.unique(joined, return_inverse=True)[1].astype(np.int64)
        after = model.assess(frequencies.groups_of(joined, int(joined.max()) + 1)).holds[joined[fine == b][0]]
        if model.closed_under_superset and (first.holds[a] or first.holds[b]):
            assert after, "absorbs: the union of a group that meets the model with any group meets it"
        if model.closed_under_union and first.holds[a] and first.holds[b]:
            assert after, "unites: the union of two groups that meet the model meets it"


@dataclass(frozen=True)
class Case:
    """A plan that a method is tried with: models, columns and a table."""

    name: str
    models: tuple[Model, ...]
    schema: Schema
    table: pa.Table


def method_cases(
    models: Sequence[Model] | None = None, tables: Sequence[tuple[int, int]] = ((60, 1), (200, 2))
) -> list[Case]:
    """Return the plans that every method is tried with.

    They are each of shoal's models, or of ``models``, with k-anonymity, by rows; and k-anonymity under partial
    knowledge, by people, and by linked rows of people. ``tables`` are numbers of rows and seeds.
    """
    size = make_model("k-anonymity", k=3)
    by_rows = [model for model in (sample_models() if models is None else models) if not model.requires_people]
    found = []
    for rows, seed in tables:
        table, people = table_of(rows, seed), people_table(rows, seed)
        found += [Case(model.name, combine((size, model)).parts, SCHEMA, table) for model in by_rows]
        found.append(Case("any one column", (Known(size, 1),), SCHEMA, table))
        found.append(Case("people", (size,), PEOPLE_SCHEMA, people))
        linked = make_model("trajectory-anonymity", k=2, known_rows=2)
        found.append(Case("linked rows of people", (linked,), PEOPLE_SCHEMA, people))
    return found


def people_table(rows: int, seed: int) -> pa.Table:
    """Return a random table of :data:`PEOPLE_SCHEMA`: two rows per person."""
    patients = pa.array([f"patient {row // 2}" for row in range(rows)])
    return table_of(rows, seed).add_column(0, "patient", patients)


def check_method(method: Method, *, cases: Sequence[Case] | None = None) -> None:
    """Check the requirements of every method, on several plans.

    A method refuses a plan before any work, or releases a table that meets it. It must support at least one of the
    plans. ``cases`` replaces :func:`method_cases`.
    """
    assert method.name, "a method has a name"
    assert replace(method) == method, "a method is a frozen dataclass that its fields make again"
    tried = method_cases() if cases is None else cases
    released = [case for case in tried if _is_released(method, case)]
    assert released, "a method supports at least one of the plans that it is tried with"


def _is_released(method: Method, case: Case) -> bool:
    """Check the release of one case; return False where it is refused."""
    try:
        plan = Plan(case.schema, case.models, method, seed=7)
    except PlanError:
        return False  # a method may refuse a plan
    try:
        release = anonymize(case.table, plan)
    except InfeasibleError:
        return False
    released, rows, answer = release.table, case.table.num_rows, release.to_dict()
    if method.reveals_source:
        assert answer["released"] == rows - answer["suppressed"], "no row is lost untold"
    else:
        assert not {"rows", "suppressed"} & answer.keys(), "nothing is told of the source"
    if plan.method.forms_groups:
        assert answer["released"] == released.num_rows, "all rows that are told of are released"
        untouched = (*case.schema.sensitive, *case.schema.named(Role.OTHER))
        before, after = (
            Counter(map(tuple, zip(*(table.column(name).to_pylist() for name in untouched), strict=True)))
            for table in (case.table, released)
        )
        assert after <= before, "sensitive and other columns are those of the source, row by row"
    if case.schema is SCHEMA and plan.method.forms_groups and not partial_knowledge_models(combine(case.models)):
        assert _check_rows(released, case.models).holds, "the models hold"
    shuffled = case.table.take(np.random.default_rng(5).permutation(rows))
    repeated = replace(plan, method=method.dry_run_variant())
    first, second = (anonymize(table, repeated).table for table in (case.table, shuffled))
    assert first.equals(second), "the same rows in any order, plan and seed give the same release"
    assert repeated.method is not method or first.equals(released), "the same plan gives the same release again"
    return True


def sample_models() -> list[Model]:
    """Return every model of shoal, with parameters for the test tables."""
    given: dict[str, dict[str, Any]] = {
        "k-anonymity": {"k": 3},
        "p-sensitive": {"p": 2},
        "p-alpha-sensitive": {"p": 2, "alpha": 1},
        "p-plus-alpha-sensitive": {"p": 2, "alpha": 1.5},
        "l-diversity": {"l": 1.7, "kind": "entropy"},
        "t-closeness": {"t": 0.35, "distance": "ordered"},
        "alpha-k": {"alpha": 0.7, "k": 3},
        "delta-disclosure": {"delta": 2},
        "beta-likeness": {"beta": 1.5},
        "trajectory-anonymity": {"k": 2, "known_rows": 2},
        "risk": {"highest": "1/4"},
    }
    return [make_model(name, **parameters) for name, parameters in given.items()]


def check_definition(model: Model) -> None:
    """Check that a model has a second definition, and that both agree.

    On random groups of test tables, with all figures, and on every group. See :class:`shoal.plugins.Definition`.
    """
    assert model.name in DEFINITIONS, f"the entry point group shoal.definitions has no {model.name!r}"
    for schema, seed in itertools.product(_schemas(model), range(12)):
        random = np.random.default_rng(seed)
        table = table_of(40 + 20 * seed, seed)
        group = random.integers(0, 3 if seed < 6 else table.num_rows // 3, table.num_rows)  # some of a row or two
        missing = table.column("secret").is_null().to_numpy()
        group[missing & (random.random(len(group)) < 0.5)] = -1  # a group without a known value
        table = table.set_column(0, "age", pa.array(group)).set_column(1, "place", pa.array(["a"] * table.num_rows))
        verdict = _check_rows(table, (model,), schema).models[0]
        evaluation, failing = _evaluate_independently(table, model, schema)
        found = differences(evaluation, model, verdict.holds, verdict.effective)
        assert not found, f"model and definition differ in {' and in '.join(found)}"
        assert failing == verdict.failing_groups, "model and definition agree on every group"


def _check_rows(table: pa.Table, models: Sequence[Model], schema: Schema = SCHEMA) -> CheckResult:
    """Check a table of a schema by rows."""
    by_name = {name: schema.columns[name] for name in schema.sensitive}
    return check(table, models, quasi_identifiers=schema.quasi_identifiers, sensitive=by_name)


def _evaluate_independently(table: pa.Table, model: Model, schema: Schema) -> tuple[ModelEvaluation, int]:
    """Evaluate a table by a definition, and count failing groups."""
    with open_engine() as engine:
        relation = engine.read(Source(frame=table))
        quasi, (secret,) = relation.positions(SCHEMA.quasi_identifiers), relation.positions(SCHEMA.sensitive)
        counted = engine.frequencies(relation, [*quasi, secret])
    columns = {"secret": (secret, counted.column(f"c{secret}"), counted.column("n"))}
    sensitive = list_sensitive_columns(columns, schema)
    counts, definition = count_groups(counted, quasi, sensitive), DEFINITIONS[model.name]
    evaluation = judge(counts, sensitive, (model,)).evaluations[0]
    assert evaluation is not None, "the definition evaluates the model"
    sizes = Counter({(size, ()): times for size, times in counts.sizes.items()})
    kinds = counts.value_counts["secret"] if definition.sensitive else sizes
    evaluate = definition.judge(model, sensitive[0] if definition.sensitive else None)
    return evaluation, sum(times for (size, values), times in kinds.items() if not evaluate(size, values)[0])


def check_hierarchy(hierarchy: BaseHierarchy, values: Sequence[str]) -> None:
    """Check that a hierarchy binds to nested levels, and its plan section.

    Levels run from the value itself to `*`.
    """
    for missing in (False, True):
        ladder = hierarchy.bind(list(values), missing, column="tried")
        assert ladder.labels[0][: len(values)] == tuple(values), "level 0 is the value itself"
        assert ladder.labels[ladder.height] == (TOP,), "the last level is *"
        for level in range(ladder.height):
            parents: dict[int, int] = {}
            for below, above in zip(ladder.codes[level].tolist(), ladder.codes[level + 1].tolist(), strict=True):
                assert parents.setdefault(below, above) == above, (
                    f"what shares a label at level {level} shares it above"
                )
            assert ladder.share[level].min() <= ladder.share[level + 1].min() + 1e-12, (
                "a level covers no less than below"
            )
    if hierarchy.keys:
        (key,) = [key for key in hierarchy.keys if key in hierarchy.to_plan()]
        written = hierarchy.to_plan()
        options = {name: value for name, value in written.items() if name != key}
        assert type(hierarchy).from_plan(key, written[key], options, Path()) == hierarchy, "a plan says it wholly"


def check_format(form: Format, folder: Path) -> None:
    """Check a format by the requirements of shoal's own formats.

    ``folder`` is an empty one, for the files that are written. A written table is read back unchanged, by another
    process;
    missing values stay missing; the same table has the same bytes at any time; and a truncated file is refused, with an
    error that quotes none of its content.
    """
    assert form.module is not None, "a format of one's own names the module that reads and writes it"
    assert form.reads, "what cannot be read back cannot be verified, and is not written"
    assert form.suffixes, "a format has an end of names, such as .xyz"
    assert all(suffix.startswith(".") for suffix in form.suffixes), "names of files end in a dot and some letters"
    if not form.writes:
        return
    path = folder / f"one{form.suffixes[0]}"
    with open_engine() as engine:
        table = engine.to_arrow(engine.read(Source(frame=table_of(60, 1))))
    options = importlib.import_module(form.module).write(table, path, Writing())
    again = folder / f"two{form.suffixes[0]}"
    importlib.import_module(form.module).write(table, again, Writing())
    if form.has_fixed_bytes:
        assert path.read_bytes() == again.read_bytes(), "the same table has the same bytes"
    again.unlink()
    passed = folder / "passed"
    passed.mkdir()
    back, _ = load_in_sandbox(form, path, options, passed)
    assert back.column_names == table.column_names, "the columns come back in their order"
    assert back.num_rows == table.num_rows, "all rows come back"
    for name in table.column_names:
        assert back.column(name).cast("string").equals(table.column(name).cast("string")), f"{name!r} comes back"
    whole = path.read_bytes()
    for share in (3, 2):
        path.write_bytes(whole[: len(whole) // share - 1])
        words = _refusal(form, path, options, passed)
        assert words is not None, "a file that is cut off is refused"
        assert not any(word in words for word in ("note 1", "secret")), "an error quotes nothing of a file"


def _refusal(form: Format, path: Path, options: Options, passed: Path) -> str | None:
    try:
        load_in_sandbox(form, path, options, passed)
    except TableError as error:
        return str(error)
    return None


def check_engine(name: str, *, methods: Sequence[str] = ("full-domain", "mondrian", "mdav")) -> None:
    """Check that an installed engine gives the same results as DuckDB.

    The engine is given by its name; rows and certificates must be the same.
    """
    size = make_model("k-anonymity", k=3)
    for rows, seed in ((60, 1), (60, 2)):
        table = table_of(rows, seed)
        for method in methods:
            plan = Plan(SCHEMA, (size,), build_from_section(METHODS, {"name": method}, "method"), seed=seed)
            ours, theirs = (
                anonymize(table, replace(plan, engine=EngineSettings(name=engine))) for engine in ("duckdb", name)
            )
            assert theirs.certificate.content == ours.certificate.content, "the same is told of a release"
            assert theirs.figures == ours.figures, "the same is told to its owner"
            assert theirs.table.equals(ours.table), "the same rows are released, in the same order"
