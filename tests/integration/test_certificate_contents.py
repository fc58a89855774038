"""Contents of certificates, proofs of optimality, and refused settings.

The certificate has the plan that was carried out; the report and the answer have what is proven of the search.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import shoal
from shoal import methods, models
from shoal.api.release import Release
from shoal.cli.app import app
from shoal.errors import PlanError
from shoal.io.engines.base import EngineSettings, Source, memory_bytes
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.methods.auto import AutoFacts, MethodTrial
from shoal.plan.plan import Output, Plan
from shoal.report.wording import method_sentence, model_sentence
from shoal.results.release import bound_sentences
from shoal.schema import (
    Calendar,
    Categories,
    Column,
    Cuts,
    Flat,
    Intervals,
    Ordered,
    Prefix,
    Role,
    Schema,
    Table,
    Tree,
    Widths,
)
from shoal.table.method_facts import LevelFacts, MethodFacts, SearchFacts, WarningFacts
from tests.builders.plans import write_plan

QUASI, SENSITIVE = Role.QUASI_IDENTIFIER, Role.SENSITIVE
TABLE = pa.table({"a": ["1", "2", "1", "2"], "s": ["p", "q", "p", "q"]})
SCHEMA = Schema({"a": Column(QUASI, Widths((2,))), "s": Column(SENSITIVE)})

HIERARCHIES = [
    Flat(), Table((("1", "x"), ("2", "x"))), Tree({"x": ["1"], "y": {"z": ["2"]}}), Prefix(), Prefix((1, 2), 3),
    Ordered((2,)), Ordered((2, 2), ("1", "2")), Widths((5, 10)), Widths((0.5,), 1, -2.5, 10), Cuts(((1, 2), (2,))),
    Intervals((((-math.inf, 2), (2, math.inf)),)), Calendar(), Calendar(("year",), "%d.%m.%Y"),
]  # fmt: skip
METHODS = [
    methods.FullDomain(), methods.FullDomain("entropy", 0.1, {"a": (0, 1)}, {"a": 2}, 1, "mean", 2.5, True),
    methods.Levels({"a": 1}, 0.5), methods.Refine(start=methods.Mondrian(strict=False), publish={"a": "range"}),
    methods.Switching(p=2, alpha="4/3", start={"name": "top-down", "choose": "rate"}), methods.Auto(("levels",)),
    methods.AntiUnification(order=(">",), levels={"a": 1}),
    methods.VMdav(k=3, gamma=0.5, strata=("a",), scale={"a": "rank"}),
    methods.LocalSuppression({"a": 2.5}), methods.Univariate(k=4), methods.KFirst(base="cbfs"),
    methods.PFirst(refine=False),
]  # fmt: skip
MODELS = [
    models.KAnonymity(3), models.LDiversity(2.5, "entropy"), models.LDiversity(2, "recursive", "7/3", "s"),
    models.TCloseness(Fraction(1, 3)), models.AlphaK("0.5", 2), models.DeltaDisclosure(1.5, "ignored"),
    models.BetaLikeness(2, "enhanced"), models.PPlusAlphaSensitive(2, "1/3"),
]  # fmt: skip


@pytest.mark.parametrize("hierarchy", HIERARCHIES, ids=repr)
def test_plan_with_hierarchy_round_trip(hierarchy) -> None:
    plan = Plan(Schema({"a": Column(QUASI, hierarchy)}), (models.KAnonymity(2),))
    assert Plan.from_dict(plan.to_dict()) == plan


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_plan_with_method_round_trip(method) -> None:
    plan = Plan(SCHEMA, (models.KAnonymity(2),), method)
    assert Plan.from_dict(plan.to_dict()) == plan
    json.dumps(plan.to_dict())


def test_plan_with_all_settings_round_trip() -> None:
    """The certificate has no folder, key file, Spark option or host."""
    schema = Schema({
        "n": Column(Role.IDENTIFIER, pseudonym=True),
        "a": Column(QUASI, order=("1", "2")),
        "s": Column(SENSITIVE, categories=Categories((("p",), ("q",)), ("high", "low")), publish="categories"),
        "o": Column(Role.OTHER),
    })  # fmt: skip
    source = Source(Path("/a/b/t.txt"), csv=CsvFormat(";", "'", True, "latin-1", ("?",), True, ("x",)), format="csv")
    output = Output(Path("/c/r.csv"), True, False, True, Path("/secret/key"))
    engine = EngineSettings("1GB", 2, "spark", "local[2]", {"spark.secret": "word"})
    plan = Plan(schema, tuple(MODELS[:1]), methods.Levels(), source, output, engine, 2**64 - 1)
    assert Plan.from_dict(plan.to_dict()) == plan
    certified = json.dumps(plan.to_certificate_dict())
    for private in ("/a/b", "/c/", "secret", "key", "word", "local[2]"):
        assert private not in certified
    assert plan.to_certificate_dict()["source"]["path"] == "t.txt"
    assert plan.to_certificate_dict()["output"] == {
        "path": "r.csv",
        "overwrite": True,
        "report": False,
        "spreadsheet_safe": True,
    }


def test_models_round_trip() -> None:
    plan = Plan(SCHEMA, tuple(MODELS))
    assert Plan.from_dict(plan.to_dict()).models == tuple(MODELS)


def test_certificate_contains_a_plan_made_in_python() -> None:
    plan = Plan(SCHEMA, (models.KAnonymity(2),), methods.Levels({"a": 1}))
    certified = shoal.anonymize(TABLE, plan).figures["plan"]
    assert certified["columns"]["a"] == {"role": "quasi-identifier", "hierarchy": {"intervals": [2]}}
    assert certified["models"] == [{"name": "k-anonymity", "k": 2}]
    assert certified["method"] == {"name": "levels", "levels": {"a": 1}}
    changed = replace(plan, models=(models.KAnonymity(2), models.LDiversity(1)))
    certified = shoal.anonymize(TABLE, changed).figures["plan"]
    assert certified["models"] == [{"name": "k-anonymity", "k": 2}, {"name": "l-diversity", "l": 1}]
    assert Plan.from_dict(certified) == changed


def write_absolute_plan(folder: Path, **sections: object) -> Path:
    """Write a plan with absolute paths, for groups of two rows."""
    (folder / "h.csv").write_text("1;x\n2;x\n")
    return write_plan(
        folder,
        table="a,s\n1,p\n2,q\n1,p\n2,q\n",
        columns={"a": {"role": "quasi-identifier", "hierarchy": {"csv": str(folder / "h.csv")}}, "s": "other"},
        source=str(folder / "t.csv"),
        output=str(folder / "r.csv"),
        **sections,
    )


def test_certificate_of_a_reused_recoding_names_levels(tmp_path: Path) -> None:
    """It names the method that was used, not that of the plan file."""
    plan = write_absolute_plan(tmp_path)
    shoal.release(plan, save_recoding=True)
    again = shoal.release(plan, overwrite=True, recoding=tmp_path / "r.recoding").certificate
    assert again["plan"]["method"]["name"] == again["method"]["name"] == "levels"
    assert "full-domain" not in again.to_json()


def test_no_folder_of_the_machine_in_a_certificate(tmp_path: Path) -> None:
    made = shoal.release(write_absolute_plan(tmp_path))
    assert str(tmp_path) not in made.certificate.to_json()
    assert made.figures["plan"]["source"] == {"path": "t.csv"}
    assert made.figures["plan"]["columns"]["a"]["hierarchy"] == {"csv": "h.csv"}


# -- what is proven of the search --------------------------------------------------------------------------------


def test_answer_with_a_proven_optimum(tmp_path: Path) -> None:
    plan = write_absolute_plan(tmp_path)
    answer = json.loads(CliRunner().invoke(app, ["release", str(plan), "--json"]).stdout)
    assert answer["optimal"] is True
    assert answer["lower_bound"] == answer["method"]["loss"]
    assert answer["warnings"] == []
    printed = CliRunner().invoke(app, ["release", str(plan), "--overwrite"]).stdout
    assert "No recoding that the plan allows loses less" in printed
    page = shoal.release(plan, overwrite=True).report(internal=True).html
    assert "those that lose least were taken" in page
    assert "lose least" not in (tmp_path / "r.report.html").read_text()


@pytest.mark.parametrize("method", [{"weights": {"a": 3.0}}, {"loss": "precision"}])
def test_proof_is_about_the_measure_that_was_minimized(tmp_path: Path, method: dict[str, object]) -> None:
    """With weights, a release of the same kind may lose less by ncp itself."""
    plan = write_absolute_plan(tmp_path, method={"name": "full-domain", **method})
    printed = " ".join(CliRunner().invoke(app, ["release", str(plan)]).stdout.split())
    assert "No recoding that the plan allows loses less:" not in printed
    assert "loses less by the plan's measure (" in printed
    page = shoal.release(plan, overwrite=True).report(internal=True).html
    assert "those that lose least were taken, measured by" in page


def test_page_claims_the_optimum_of_the_displayed_loss_only() -> None:
    """The page displays ncp; a proof about another measure is called so."""
    pytest.importorskip("starlette")
    from shoal.web.view_models import _proof_of_ncp

    plain = {"optimal": True, "lower_bound": 0.5, "loss": {"ncp": 0.5}, "method": {"parameters": {"loss": "ncp"}}}
    assert _proof_of_ncp(plain) == {"optimal": "ncp", "least": 0.5}
    weighted = {**plain, "method": {"parameters": {"loss": "ncp", "weights": {"a": 3.0}}}}
    assert _proof_of_ncp(weighted) == {"optimal": "other", "least": None}
    bound = {"loss": 0.4, "lower_bound": 0.4, "optimal": True, "reported": {"ncp": 0.3}}
    assert _proof_of_ncp({**plain, "bound": bound}) == {"optimal": "other", "least": 0.3}
    assert _proof_of_ncp({**plain, "bound": {**bound, "reported": {"ncp": 0.5}}})["optimal"] == "ncp"
    assert _proof_of_ncp({**plain, "optimal": False})["optimal"] is None


def test_proven_bound_with_weights_names_them() -> None:
    bound = {"measure": "ncp, the mean over columns", "loss": 0.5, "lower_bound": 0.5, "optimal": True}
    weighted = {"bound": bound, "method": {"parameters": {"weights": {"a": 2.0}}}}
    assert "with the plan's weights" in bound_sentences(weighted)[0]
    assert "weights" not in bound_sentences({"bound": bound, "method": {"parameters": {"weights": {"a": 1.0}}}})[0]


def test_method_without_a_search_claims_no_optimum(tmp_path: Path) -> None:
    answer = shoal.release(write_absolute_plan(tmp_path, method={"name": "levels"})).to_dict()
    assert answer["optimal"] is False
    assert answer["lower_bound"] is None
    assert "least" not in method_sentence(answer["method"], MethodFacts())


def test_stopped_search_gives_its_lower_bound() -> None:
    search = SearchFacts(optimal=False, loss=0.5, lower_bound=0.25)
    sentence = method_sentence({"name": "full-domain", "parameters": {}}, search)
    assert "lose least" not in sentence
    assert "loses 0.5" in sentence
    assert "none loses less than 0.25" in sentence
    answer = Release(None, None, facts=search).to_dict()
    assert (answer["optimal"], answer["lower_bound"]) == (False, 0.25)
    assert [warning["code"] for warning in answer["warnings"]] == ["not-optimal"]
    assert "less than 0.25" in answer["warnings"][0]["text"]


def test_auto_claims_no_optimum() -> None:
    search = SearchFacts(optimal=True, loss=0.5, lower_bound=0.5)
    facts = AutoFacts(chosen="full-domain", tried=(), best=search)
    assert Release(None, None, facts=search).search == {"optimal": True, "lower_bound": 0.5}
    assert Release(None, None, facts=facts).search == {"optimal": False, "lower_bound": None}
    sentence = method_sentence({"name": "auto", "parameters": {}}, facts)
    assert "A method that was not tried may lose less" in sentence
    assert "those that lose least were taken" not in sentence


@dataclass(frozen=True, kw_only=True)
class Own(MethodFacts):
    """Facts with a part, facts of levels and an absent value.

    ``part`` is written between the other figures, ``at`` separately, and ``silent`` not at all.
    """

    first: int
    part: MethodFacts
    at: LevelFacts
    silent: int | None = None
    last: tuple[MethodTrial, ...]


def test_order_and_lookup_of_method_facts() -> None:
    """Parts are written among the other facts and found by their class."""
    warned, at = WarningFacts(warning="Look."), LevelFacts(levels={"a": 1})
    facts = Own(
        first=1, part=warned, at=at, last=(MethodTrial("levels", ("ncp", 0.5)), MethodTrial("mdav", "PlanError"))
    )
    tried = [{"method": "levels", "ncp": 0.5}, {"method": "mdav", "outcome": "PlanError"}]
    assert list(facts.to_dict().items()) == [("first", 1), ("warning", "Look."), ("last", tried)]
    assert facts.entries() == at.entries() == {"levels": {"a": 1}}
    assert at.to_dict() == {}
    outer = AutoFacts(chosen="own", tried=(), best=facts)
    assert outer.entries() == {"levels": {"a": 1}}
    assert list(outer.to_dict()) == ["chosen", "tried", "first", "warning", "last"]
    assert (outer.get(WarningFacts), outer.get(LevelFacts), outer.get(Own), outer.get(SearchFacts)) == (
        warned,
        at,
        facts,
        None,
    )
    assert MethodFacts().get(WarningFacts) is None


def test_sentences_of_private_and_declared_grids() -> None:
    private = method_sentence({"name": "sampled-grid", "parameters": {"choose": "private"}}, MethodFacts())
    assert "without looking" not in private
    declared = method_sentence({"name": "sampled-grid", "parameters": {"choose": "declared"}}, MethodFacts())
    assert "without looking" in declared


def test_sentences_of_kinds_of_l_diversity() -> None:
    def sentence(**parameters: object) -> str:
        return model_sentence({"name": "l-diversity", "parameters": parameters}, ("s",))

    assert "at least 2 different values" in sentence(l=2)
    assert "different values" not in sentence(l=2, kind="entropy")
    assert "3 times" in sentence(l=2, kind="recursive", c=3)


# -- settings that cannot work -----------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", ["1KB", "0GB", "1", "-1GB", "GB", "", "1e9", "99999999999TB", "one", "10%"])
def test_impossible_amount_of_memory_is_refused(memory: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="memory"):
        EngineSettings(memory)
    plan = write_absolute_plan(tmp_path, engine={"memory": memory})
    assert CliRunner().invoke(app, ["release", str(plan)]).exception.exit_status == 2  # type: ignore[union-attr]
    with pytest.raises(PlanError, match="memory"):
        shoal.check(TABLE, ["k-anonymity k=2"], quasi_identifiers=["a"], memory=memory)


def test_amounts_of_memory() -> None:
    assert [memory_bytes(text) for text in ("512MiB", "1.5 GB", "2g", "100")] == [1 << 29, 15 * 10**8, 2 * 10**9, 100]


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, True, "1"])
def test_invalid_seeds_are_refused(seed: object) -> None:
    """A seed is a whole number of 64 bits."""
    document = Plan(SCHEMA, (models.KAnonymity(2),)).to_dict()
    with pytest.raises(PlanError, match="seed"):
        Plan.from_dict({**document, "seed": seed})
    with pytest.raises(PlanError, match="seed"):
        Plan(SCHEMA, (models.KAnonymity(2),), seed=seed)  # type: ignore[arg-type]
    assert Plan.from_dict({**document, "seed": 2**64 - 1}).seed == 2**64 - 1


def test_deeply_nested_recoding_is_refused(tmp_path: Path) -> None:
    plan = write_absolute_plan(tmp_path)
    (tmp_path / "deep.recoding").write_text("[" * 200_000)
    with pytest.raises(PlanError, match="not a recoding"):
        shoal.release(plan, recoding=tmp_path / "deep.recoding")
    (tmp_path / "deep.recoding").write_text('{"levels": ' + "[" * 200_000)
    with pytest.raises(PlanError, match="not a recoding"):
        shoal.release(plan, recoding=tmp_path / "deep.recoding")


def test_deeply_nested_plan_is_refused(tmp_path: Path) -> None:
    for text in ("a = " + "[" * 100_000, "seed = 1" + "0" * 5000, "a = " + "{a=" * 100_000):
        (tmp_path / "plan.toml").write_text(text)
        with pytest.raises(PlanError, match="plan"):
            Plan.read(tmp_path / "plan.toml")


# -- values of unsupported types ---------------------------------------------------------------------------------

STRANGE = {
    "an interval": pa.array([(1, 0, 0), (1, 0, 0), (0, 77, 0), (0, 77, 0)], pa.month_day_nano_interval()),
    "a duration": pa.array([1, 1, 77, 77], pa.duration("us")),
    "bytes": pa.array([b"77"] * 4, pa.binary(2)),
    "decimals beyond 38 digits": pa.array([77, 77, 10**60, 10**60], pa.decimal256(76, 0)),
}
FAR = {
    "whole numbers beyond 2^53": pa.array([2**53 + 7, 2**53 + 77, 5, 6], pa.int64()),
    "decimals beyond 2^53": pa.array([10**30, 10**30 + 77, 5, 6], pa.decimal128(38, 0)),
    "floats whose squares are infinite": pa.array([1e308, -1e308, 5, 6.0]),
    "numbers as text whose squares are infinite": pa.array(["1e308", "-1e308", "5", "77"]),
    "times after year 9999": pa.array([2**62, 2**62 + 77, 5, 6], pa.timestamp("us")),
}


@pytest.mark.parametrize("method", ["levels", "mdav"])
@pytest.mark.parametrize("values", STRANGE.values(), ids=STRANGE)
def test_column_of_unsupported_type_is_refused_by_name(values: pa.Array, method: str) -> None:
    plan = {"columns": {"col": {"role": "quasi-identifier"}}, "models": [{"name": "k-anonymity", "k": 2}]}
    with pytest.raises(shoal.errors.TableError, match="'col'") as caught:
        shoal.anonymize(pa.table({"col": values}), {**plan, "method": {"name": method}})
    assert "77" not in str(caught.value)
    with pytest.raises(shoal.errors.TableError, match="'col'"):
        shoal.check(pa.table({"col": values}), ["k-anonymity k=2"], quasi_identifiers=["col"])


@pytest.mark.parametrize("values", FAR.values(), ids=FAR)
def test_numbers_without_distance_are_refused_by_column(values: pa.Array) -> None:
    plan = {"columns": {"col": {"role": "quasi-identifier"}}, "models": [{"name": "k-anonymity", "k": 2}]}
    with pytest.raises(PlanError, match="'col'") as caught:
        shoal.anonymize(pa.table({"col": values}), {**plan, "method": {"name": "mdav"}})
    assert "77" not in str(caught.value)


def test_wording_of_models_with_known_columns(tmp_path, monkeypatch, capsys):
    """Groups of one row are no fault here, and are not called one.

    No intruder is taken to know all columns.
    """
    monkeypatch.chdir(tmp_path)
    data = pa.table({f"c{m}": [str(n >> m & 1) for n in range(16)] for m in range(4)})
    pyarrow.csv.write_csv(data, "t.csv")
    plan = {
        "source": {"path": "t.csv"},
        "columns": {name: {"role": "quasi-identifier", "hierarchy": {"flat": True}} for name in data.column_names},
        "models": [{"name": "k-anonymity", "k": 4, "known": 2, "reading": "loose"}],
        "method": {"name": "hidden-cells"},
        "output": {"path": "out.csv"},
    }
    (tmp_path / "plan.toml").write_text(shoal.Plan.from_dict(plan).to_toml())
    app(["release", "plan.toml", "--quiet"], standalone_mode=False)
    promised = "Whoever knows at most 2 of the quasi-identifiers of somebody finds at least 4 rows."
    beyond = "All quasi-identifiers at once are not covered: they tell 16 groups apart, the smallest of 1."
    out = " ".join(capsys.readouterr().out.split())
    assert f"Released 16 of 16 rows; 0 suppressed. {promised} {beyond}" in out
    page = " ".join((tmp_path / "out.report.html").read_text().split())
    assert promised in page
    assert "one of at least 1 that look alike" not in page
    release = shoal.anonymize(data, {key: value for key, value in plan.items() if key not in ("source", "output")})
    assert promised in " ".join(repr(release).split())
    plan["models"].append({"name": "k-anonymity", "k": 2})
    release = shoal.anonymize(data, {key: value for key, value in plan.items() if key in ("columns", "models")})
    assert "Whoever knows at most" not in repr(release)
