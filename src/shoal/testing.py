"""Conformance checks for extensions of shoal.

They cover models, methods, hierarchies, formats and engines.

Run these in the tests of a package that extends shoal:

    from shoal.testing import check_format, check_hierarchy, check_method, check_model

    def test_my_model():
        check_model(AtMost(2))

Each raises AssertionError with the broken requirement, on random tables that are the same in every run. shoal's
own models, methods and hierarchies must pass the same checks.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import replace
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
from shoal.models import MODELS, Model, combine, make_model
from shoal.pipeline.run import anonymize, check
from shoal.plan.plan import Plan
from shoal.runtime.validation import build_from_section
from shoal.schema import TOP, BaseHierarchy, Categories, Column, Role, Schema, Tree, Widths
from shoal.table import FrequencySet, read_frequency_set

__all__ = ["SCHEMA", "check_engine", "check_format", "check_hierarchy", "check_method", "check_model", "table_of"]

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


def _frequencies(rows: int, seed: int) -> FrequencySet:
    with open_engine() as engine:
        return read_frequency_set(engine, engine.read(Source(frame=table_of(rows, seed))), SCHEMA)


def check_model(model: Model, *, methods: Sequence[str] = ("full-domain", "mdav", "mondrian")) -> None:
    """Check a model's declarations.

    Verdicts are deterministic, declared properties of unions hold, the fields of the model define it, and methods meet
    it.
    """
    assert model.name, "a model has a name"
    assert replace(model) == model, "a model is a frozen dataclass that its fields make again"
    for seed in range(12):
        frequencies = _frequencies(40 + 20 * seed, seed)
        model.check(frequencies.domains)
        _check_unions(model, frequencies, seed)
    for name in methods:
        check_method(build_from_section(METHODS, {"name": name}, "method"), models=(model,), tables=((60, 1),))


def _check_unions(model: Model, frequencies: FrequencySet, seed: int) -> None:
    random = np.random.default_rng(seed)
    fine = np.unique(random.integers(0, 8, len(frequencies.count)), return_inverse=True)[1].astype(np.int64)
    groups = frequencies.groups_of(fine, int(fine.max()) + 1)
    first, second = model.assess(groups), model.assess(groups)
    assert first.holds.dtype == np.bool_, "a verdict is an array of booleans, one for each group"
    assert first.holds.shape == (groups.count,), "a verdict is an array of booleans, one for each group"
    assert (first.holds == second.holds).all(), "the same groups get the same verdict"
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


def check_method(
    method: Method,
    *,
    models: Sequence[Model] | None = None,
    tables: Sequence[tuple[int, int]] = ((60, 1), (200, 2)),
) -> None:
    """Check the requirements of every method.

    With each of shoal's models, or with ``models``.
    """
    size = make_model("k-anonymity", k=3)
    tried = [(size, model) for model in (_samples() if models is None else models)]
    for rows, seed in tables:
        table = table_of(rows, seed)
        for chosen in tried:
            try:
                plan = Plan(SCHEMA, combine(chosen).parts, method, seed=seed)
                release = anonymize(table, plan)
            except (PlanError, InfeasibleError):
                continue  # a method may refuse a plan
            released, certificate = release.table, release.certificate
            assert certificate["released"] == released.num_rows == rows - certificate["suppressed"], (
                "no row is lost untold"
            )
            assert check(released, chosen, quasi_identifiers=["age", "place"], sensitive=_sensitive()).holds
            assert anonymize(table, plan).table.equals(released), "the same table, plan and seed give the same rows"
            shuffled = table.take(np.random.default_rng(5).permutation(rows))
            assert anonymize(shuffled, plan).table.equals(released), "the order of rows does not matter"


def _sensitive() -> dict[str, Column]:
    return {"secret": SCHEMA.columns["secret"]}


def _samples() -> list[Model]:
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
    }
    return [make_model(name, **parameters) for name, parameters in given.items() if name in MODELS]


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
            assert theirs.table.equals(ours.table), "the same rows are released, in the same order"
