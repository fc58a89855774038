"""Independent verification of releases.

It judges as the models do for any counts and parameters, and a release that either rejects is not published.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import shoal
import shoal.verification.check
import shoal.verification.independent
import shoal.verification.verify
from shoal.errors import VerificationError
from shoal.io.engines.base import Source
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.models import (
    MODELS,
    AlphaK,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    LDiversity,
    PAlphaSensitive,
    PPlusAlphaSensitive,
    PSensitive,
    TCloseness,
    combine,
)
from shoal.models.base import Assessment, Condition, Model
from shoal.models.by_people import ByPeople
from shoal.models.partial_knowledge import LooselyKnown
from shoal.plan.coerce import as_models
from shoal.risk.patterns import PatternExposure
from shoal.schema import Categories, Column, Role, Schema, Tree
from shoal.table import read_frequency_set
from shoal.table.groups import Groups, histogram
from shoal.verification import pattern_sets
from shoal.verification.check import ModelVerdict, assess_groups, verdict_grid
from shoal.verification.independent import (
    DEFINITIONS,
    CountedRelease,
    Counts,
    ModelEvaluation,
    SensitiveColumn,
    count_groups_with_wildcards,
    differences,
    judge,
)
from shoal.verification.independent.definitions import _LogarithmBound as LogarithmBound
from shoal.verification.independent.interval_arithmetic import (
    BelowExponential,
    exponential,
    logarithm,
    product_is_at_least_one,
)
from shoal.verification.independent.interval_arithmetic import _cancels as cancels
from shoal.verification.independent.judge import _is_close as is_close
from shoal.verification.pattern_sets import PatternCheck
from shoal.verification.verify import verify
from tests.builders.errors import has_code

VALUES = ("a", "b", "c", "d", "e", "f")
CLASSES = (("a", "b"), ("c",), ("d", "e"), ("f",))
TREE = {"x": ["a", "b"], "y": ["c", "d"], "z": ["e", "f"]}
SCHEMA = Schema({"s": Column(Role.SENSITIVE, hierarchy=Tree(TREE), categories=Categories(CLASSES), order=VALUES)})

# -- both computations --------------------------------------------------------------------------------

small = st.integers(0, 9)
huge = st.one_of(small, st.sampled_from([2**31, 2**40 - 1, 2**53, 2**53 + 1, 10**16]), st.integers(0, 2**56))
tables = st.one_of(
    st.lists(st.lists(counts, min_size=7, max_size=7), min_size=1, max_size=5) for counts in (small, huge)
)
shares = st.one_of(
    st.sampled_from([1, 0.5, 0.3333333333333333, "1/3", 0.2, 1e-300, "99999999999999999999/100000000000000000000"]),
    st.fractions(Fraction(1, 10**40), 1),
    st.floats(1e-6, 1),
)
amounts = st.one_of(
    st.sampled_from([1.4142135623730951, 1, 2, 3, 0.5, 1e-300, 1e300, "0.69314718055994530941723212145817656"]),
    st.fractions(Fraction(1, 10**30), 50),
    st.floats(1e-6, 50),
)
models = st.one_of(
    st.builds(KAnonymity, st.one_of(st.integers(2, 30), st.just(2**53 - 1))),
    st.builds(PSensitive, st.integers(1, 7)),
    st.builds(PAlphaSensitive, st.integers(1, 7), amounts),
    st.builds(PPlusAlphaSensitive, st.integers(1, 4), amounts),
    st.builds(PAlphaSensitive, st.just(1), st.just(0)),
    st.builds(LDiversity, st.integers(1, 7)),
    st.builds(
        lambda least: LDiversity(least, "entropy"), st.one_of(st.integers(1, 6), st.fractions(1, 6), st.floats(1, 6))
    ),
    st.builds(LDiversity, st.integers(1, 6), st.just("recursive"), amounts),
    st.builds(TCloseness, st.one_of(shares, st.just(0)), st.sampled_from(["equal", "ordered", "hierarchical"])),
    st.builds(AlphaK, shares, st.integers(2, 9)),
    st.builds(DeltaDisclosure, amounts, st.sampled_from(["fails", "ignored"])),
    st.builds(BetaLikeness, amounts, st.sampled_from(["basic", "enhanced"])),
)


def groups_and_counts(table):
    """Return groups for the models and counts for the verification.

    Both come from the counts of a, ..., f and of missing values.
    """
    table = [counts if sum(counts) else [*counts[:-1], 1] for counts in table]
    present = [j for j in range(6) if any(counts[j] for counts in table)]
    domain = SCHEMA.domain("s", [VALUES[j] for j in present])
    flat = [(g, i, counts[j]) for g, counts in enumerate(table) for i, j in enumerate(present) if counts[j]]
    owner, value, count = (np.asarray([entry[i] for entry in flat], np.int64) for i in range(3))
    size = np.asarray([sum(counts) for counts in table], np.int64)
    groups = Groups(size, (histogram(owner, value.astype(np.int32), count, len(table), domain),))
    totals = tuple(sum(counts[j] for counts in table) for j in present)
    column = SensitiveColumn("s", 1, {VALUES[j]: i for i, j in enumerate(present)}, totals, domain)
    value_counts = [tuple((i, counts[j]) for i, j in enumerate(present) if counts[j]) for counts in table]
    sizes = [int(n) for n in size]
    by_content = Counter(zip(sizes, value_counts, strict=True))
    return groups, column, value_counts, Counts(sum(sizes), len(sizes), Counter(sizes), {"s": by_content})


def assert_same_verdict(model, table):
    groups, column, value_counts, counts = groups_and_counts(table)
    assessment = model.assess(groups)
    verdict = DEFINITIONS[model.name].judge(model, column)
    found = [verdict(int(size), one) for size, one in zip(groups.size, value_counts, strict=True)]
    assert [holds for holds, _ in found] == assessment.holds.tolist(), model
    (opinion,) = judge(counts, (column,), (model,)).evaluations
    assert differences(opinion, model, bool(assessment.holds.all()), assessment.effective) == [], (
        model,
        opinion,
        assessment.effective,
    )
    return opinion


@settings(max_examples=400, deadline=None)
@given(tables, models)
@example([[1999, 1, 0, 0, 0, 0, 0]], AlphaK(0.3333333333333333, 5))
@example([[3000, 1000, 0, 0, 0, 0, 0]], LDiversity(2, "recursive", 1.4142135623730951))
@example([[0, 0, 0, 0, 0, 0, 5], [1, 1, 0, 0, 0, 0, 0]], TCloseness(1))
@example([[0, 0, 0, 0, 0, 0, 5]], TCloseness(1, "ordered"))
@example([[7, 0, 0, 0, 0, 0, 5]], TCloseness(1e-300, "ordered"))
@example([[7, 0, 0, 0, 0, 0, 0], [9, 0, 0, 0, 0, 0, 0]], BetaLikeness(1e-300, "enhanced"))
@example([[4 * 2**50, 2**50, 2**50, 2**50, 2**50, 0, 0]], LDiversity(4, "entropy"))
@example([[2**60, 0, 0, 0, 0, 0, 0], [0, 2**60, 0, 0, 0, 0, 0]], TCloseness(0.5, "hierarchical"))
@example([[5, 0, 0, 0, 0, 0, 0], [0, 5, 0, 0, 0, 0, 0]], BetaLikeness(1e300, "enhanced"))
@example([[2**62, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 2**61, 0]], PAlphaSensitive(1, 2**61))
def test_models_and_verification_agree(table, model):
    assert_same_verdict(model, table)


@settings(max_examples=60, deadline=None)
@given(tables, models)
def test_table_in_parts_is_judged_as_a_whole(table, model):
    """Each group is a part by itself; the totals are those of the table."""
    _, column, value_counts, counts = groups_and_counts(table)
    sizes = [sum(table[index]) or 1 for index in range(len(table))]
    parts = [
        Counts(size, 1, Counter([size]), {"s": Counter([(size, one)])})
        for size, one in zip(sizes, value_counts, strict=True)
    ]
    requested = (model, KAnonymity(2), _Even())
    whole = judge(counts, (column,), requested)
    assert (
        shoal.verification.independent.merge_evaluations(
            [judge(part, (column,), requested) for part in parts], requested
        )
        == whole
    )
    assert whole.evaluations[2] is None
    assert None not in whole.evaluations[:2]
    assert shoal.verification.independent.merge_evaluations([], requested).smallest == 0


@settings(max_examples=100, deadline=None)
@given(tables, st.data())
def test_models_and_verification_agree_at_the_bound(table, data):
    """A parameter that a group meets exactly, and both of its neighbours."""
    shift = data.draw(st.sampled_from([0, 1, -1])) * Fraction(1, 10**40)
    counts = data.draw(st.sampled_from(table))
    known = sum(counts[:6])
    if not known:
        return
    share = Fraction(max(counts[:6]), known) + shift
    if 0 < share <= 1:
        assert_same_verdict(AlphaK(share, 2), table)
    for ell in (1, 2, 3):
        ordered = sorted(counts[:6], reverse=True)
        tail = sum(ordered[ell - 1 :])
        if tail and Fraction(ordered[0], tail) + shift > 0:
            assert_same_verdict(LDiversity(ell, "recursive", Fraction(ordered[0], tail) + shift), table)
    total = [sum(other[j] for other in table) for j in range(6)]
    risen = max(Fraction(counts[j] * sum(total), known * total[j]) for j in range(6) if counts[j]) - 1 + shift
    if risen > 0:
        assert_same_verdict(BetaLikeness(risen), table)
    moved = sum(abs(Fraction(counts[j], known) - Fraction(total[j], sum(total))) for j in range(6)) / 2 + shift
    if 0 <= moved <= 1:
        assert_same_verdict(TCloseness(moved), table)


@given(st.lists(st.tuples(st.sampled_from("xy"), st.sampled_from(["1", None]), st.sampled_from(["a", "b", None]),
                          st.integers(1, 5)), min_size=1, max_size=8))  # fmt: skip
def test_groups_are_counted_from_rows(rows):
    """Combinations may repeat; equal contents of groups are stored once."""
    sizes, values, total = Counter(), {}, Counter()
    for q, r, s, n in rows:
        sizes[q, r] += n
        values.setdefault((q, r), Counter())[s] += n
        total[s] += n
    number = {text: index for index, text in enumerate(sorted(text for text in total if text is not None))}
    value_counts = Counter(
        (sizes[group], tuple(sorted((number[text], count) for text, count in found.items() if text is not None)))
        for group, found in values.items()
    )
    columns = [pa.array(list(column), pa.string()) for column in list(zip(*rows, strict=True))[:3]]
    counted = pa.table({"c0": columns[0], "c1": columns[1], "c2": columns[2], "n": [row[3] for row in rows]})
    (column,) = shoal.verification.independent.list_sensitive_columns({"s": (2, counted["c2"], counted["n"])}, ROLES)
    assert column.total == tuple(total[text] for text in number)
    found = shoal.verification.independent.count_groups(counted, [0, 1], [column])
    assert (found.rows, found.groups) == (sum(sizes.values()), len(sizes))
    assert (found.sizes, found.value_counts) == (Counter(sizes.values()), {"s": value_counts})


def test_every_model_has_an_independent_definition():
    assert set(DEFINITIONS) == set(MODELS)


def test_verification_shares_no_code_with_models_or_search():
    """No file imports what models or methods use.

    The order of imports forbids it, too; this test checks every file.
    """
    for path in Path(shoal.verification.independent.__file__).parent.glob("*.py"):
        text = path.read_text()
        for package in ("models", "encoding", "kernels", "methods", "verify", "risk", "utility"):
            assert f"shoal.{package} import" not in text
        if path.stem != "array_counts":  # numbers of rows below 2**53, of models of sizes alone
            assert "import numpy" not in text
        assert ".assess(" not in text


def test_person_without_a_matching_row_has_size_zero():
    """If no released row can belong to a person, all sizes are 0."""
    counted = pa.table({"c0": ["a", "*"], "n": [3, 2]})
    people = {("a",): 4, ("b",): 1}
    assert count_groups_with_wildcards(counted, [0], "*", people).sizes == {2: 1, 4: 1}
    assert count_groups_with_wildcards(counted.slice(0, 1), [0], "*", people).sizes == {0: 1}


def test_figures_are_close_within_rounding_near_zero():
    assert is_close(0.0, 1e-13)
    assert is_close(1e6, 1e6 + 1e-7)
    assert not is_close(0.0, 1e-6)
    assert not is_close(math.inf, 1.0)


# -- enclosures ---------------------------------------------------------------------------------------


def test_powers_with_common_divisors_cancel():
    """Powers that share divisors in part cancel if their product is one."""
    assert cancels([(4, 3), (8, -2), (5, 2), (25, -1)])
    assert not cancels([(4, 3), (8, -2), (5, 2), (25, -2)])
    assert not cancels([(4, 3), (8, -1), (5, 2), (25, -1)])


@given(st.fractions(0, 60), st.sampled_from([8, 64, 200]))
def test_exponentials_are_enclosed(power, bits):
    low, high = exponential(power, bits)
    context = Context(prec=160)
    exact = context.exp(context.divide(Decimal(power.numerator), Decimal(power.denominator)))
    assert low <= Fraction(exact) * 2**bits + Fraction(1, 2**200)
    assert high >= Fraction(exact) * 2**bits - Fraction(1, 2**200)
    assert high - low <= 2 * (3 * power + bits + 10) * (1 + Fraction(exact))


@given(st.one_of(st.integers(1, 100), st.integers(1, 2**130)), st.sampled_from([8, 64, 200]))
def test_logarithms_are_enclosed(number, bits):
    low, high = logarithm(number, bits)
    exact = Fraction(Context(prec=160).ln(Decimal(number))) * 2**bits
    assert low - Fraction(1, 2**200) <= exact <= high + Fraction(1, 2**200)
    assert high - low <= 10 * bits * number.bit_length()


def test_a_ratio_is_compared_with_a_power_of_e_however_close():
    below = BelowExponential(Fraction(1))
    digits = "2.71828182845904523536028747135266249775724709369995957496696762772407663035354759457138217"
    e = Fraction(digits)
    assert below(e.numerator, e.denominator)
    e += Fraction(1, 10 ** (len(digits) - 2))
    assert not below(e.numerator, e.denominator)
    assert BelowExponential(Fraction(1, 10**300))(5, 5)
    assert not BelowExponential(Fraction(1, 10**300))(10**40 + 1, 10**40)
    assert BelowExponential(Fraction(10**300))(2**100, 1)


@pytest.mark.parametrize("power", ["0.01", "0.5", "0.99", "1.01", "1.1", "1.39", "1.5", "2.01", "2.5", "3.2"])
def test_small_ratios_are_compared_with_powers_of_e(power):
    below = BelowExponential(Fraction(power))
    for above in range(1, 40):
        for under in range(1, above + 1):
            assert below(above, under) == (Decimal(above) / under < Decimal(power).exp()), (above, under)


def test_ratios_are_compared_with_enclosed_logarithms():
    """Compare ratios with logarithms that lie within their enclosure."""
    exactly = Context(prec=80)
    for rows in (2, 3, 5, 8, 60, 64, 1000, 1024):
        for count in (1, 2, 3, 7, 31, 59, 511, 999):
            if count >= rows:
                continue
            limit = LogarithmBound(rows, count)
            true = exactly.subtract(exactly.ln(rows), exactly.ln(count))
            for above, under in ((1, 10**9), (10**9, 1), (693, 1000), (694, 1000), (11, 10)):
                assert limit(above, under) == (Decimal(above) <= exactly.multiply(true, under))
            assert limit.low <= exactly.multiply(true, 2**limit.bits) <= limit.high


def test_products_of_bases_without_a_common_divisor_can_be_one():
    assert product_is_at_least_one([(6, 1), (35, 1), (210, -1)])
    assert product_is_at_least_one([(6, 2), (35, 1), (4, -1), (9, -1), (5, -1), (7, -1)])
    assert not product_is_at_least_one([(10**40, 1), (35, 1), (35 * 10**40 + 1, -1)])
    assert product_is_at_least_one([(10**40, 1), (35, 1), (35 * 10**40 - 1, -1)])


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(-6, 6)), max_size=6))
def test_products_of_powers_are_compared_with_one(powers):
    exact = math.prod((Fraction(base) ** exponent for base, exponent in powers), start=Fraction(1))
    assert product_is_at_least_one(powers) == (exact >= 1)
    again = [(base, exponent * 10**40) for base, exponent in powers]
    assert product_is_at_least_one(again) == (exact >= 1)


# -- accepted and refused releases ---------------------------------------------------------------------

TABLE = pa.table(
    {
        "q": ["x"] * 4 + ["y"] * 4,
        "r": [None] * 4 + ["1"] * 4,
        "s": list("aabbaabb"),
        "o": range(8),
    }
)
ROLES = Schema(
    {
        "q": Column(Role.QUASI_IDENTIFIER),
        "r": Column(Role.QUASI_IDENTIFIER),
        "s": Column(Role.SENSITIVE),
        "o": Column(Role.OTHER),
    }
)
MODEL = combine([KAnonymity(4), PSensitive(2), AlphaK(0.5, 2)])


def verify_table(table=TABLE, model=MODEL, rows=8, wildcard=None):
    with DuckDBEngine() as engine:
        return verify(engine, engine.read(Source(frame=table)), ROLES, model, rows, wildcard)


def test_good_release_passes_and_names_its_judges():
    result = verify_table()
    assert [model.judged_by for model in result.models] == ["the model and the independent verification"] * 3
    assert result.to_dict()["models"][0]["judged_by"] == "the model and the independent verification"
    assert (result.rows, result.groups, result.smallest_group) == (8, 2, 4)


@pytest.mark.parametrize("rows", [7, 9, 0])
def test_wrong_number_of_rows_is_refused(rows):
    with pytest.raises(VerificationError, check=has_code("verification.other-number-of-rows")):
        verify_table(rows=rows)


@pytest.mark.parametrize("model", [KAnonymity(5), PSensitive(3), AlphaK(0.4, 2), LDiversity(3, "entropy")])
def test_release_failing_a_model_is_refused(model):
    with pytest.raises(VerificationError, check=has_code("verification.model-not-met")):
        verify_table(model=combine([model]))


def falsify(monkeypatch, kind, **changes):
    """Make a model's assess report something other than it finds."""
    honest = kind.assess

    def assess(self, groups):
        found = honest(self, groups)
        return replace(found, **{key: change(found) for key, change in changes.items()})

    monkeypatch.setattr(kind, "assess", assess)


def test_model_accepting_everything_is_overruled(monkeypatch):
    falsify(monkeypatch, KAnonymity, holds=lambda found: np.ones_like(found.holds))
    with pytest.raises(VerificationError, check=has_code("verification.judgements-differ", model="k-anonymity")):
        verify_table(model=combine([KAnonymity(5)]))


def test_model_rejecting_everything_is_a_fault(monkeypatch):
    falsify(monkeypatch, KAnonymity, holds=lambda found: np.zeros_like(found.holds))
    with pytest.raises(VerificationError, check=has_code("verification.judgements-differ")):
        verify_table()


@pytest.mark.parametrize("figure", [3.0, 5.0, math.inf])
def test_unconfirmed_figure_is_a_fault(monkeypatch, figure):
    """A figure that the verification does not find is a fault."""
    reported = (Condition("k", np.asarray([figure]), 4.0),)
    falsify(monkeypatch, KAnonymity, conditions=lambda _: reported)
    with pytest.raises(VerificationError, check=has_code("verification.judgements-differ")):
        verify_table()


def test_figure_contradicting_its_verdict_is_a_fault():
    """Equal within rounding, but on the other side of the bound."""
    model = AlphaK(0.5, 2)
    own = ModelEvaluation(True, {"k": 4, "alpha": 0.5})
    assert differences(own, model, True, {"k": 4, "alpha": 0.5}) == []
    assert differences(own, model, True, {"k": 4, "alpha": 0.5 + 1e-12}) == ["what its figures mean"]
    assert differences(own, model, True, {"k": 4}) == ["what the table reaches", "what its figures mean"]
    strict = DeltaDisclosure(1)
    assert differences(ModelEvaluation(True, {"delta": 1.0}), strict, True, {"delta": 1.0}) == ["what its figures mean"]
    assert differences(ModelEvaluation(True, {"delta": 1.0}), strict, True, {"delta": 1 - 1e-12}) == []
    recursive = LDiversity(2, "recursive", 3)
    assert differences(ModelEvaluation(True, {"c": 3.0}), recursive, True, {"c": 3}) == ["what its figures mean"]
    assert differences(ModelEvaluation(False, {"c": math.inf}), recursive, False, {"c": math.inf}) == []


def test_wrongly_packed_groups_are_a_fault(monkeypatch):
    import shoal.table.frequency_set as frequency

    monkeypatch.setattr(frequency, "group_keys", lambda codes, sizes: (np.zeros(len(codes), np.int64), 1))
    with pytest.raises(VerificationError, match="1 groups of at least 8 rows, but 2 of at least 4"):
        verify_table()


def test_wrongly_counted_rows_are_a_fault(monkeypatch):
    import shoal.table.frequency_set as frequency

    honest = frequency.sum_by
    monkeypatch.setattr(frequency, "sum_by", lambda *given: honest(*given) * 2)
    with pytest.raises(VerificationError, match="has 16 rows"):
        verify_table(rows=16)


@dataclass(frozen=True)
class _Even(Model):
    """A third party's model."""

    name: ClassVar[str] = "even"

    def assess(self, groups):
        return Assessment(groups.size % 2 == 0, ())


def test_model_without_independent_definition():
    """Such a model is judged by itself alone, and the certificate says so."""
    result = verify_table(model=combine([KAnonymity(2), _Even()]))
    assert [model.to_dict()["judged_by"] for model in result.models] == [
        "the model and the independent verification",
        "the model alone",
    ]
    odd = TABLE.slice(0, 7)
    with pytest.raises(
        VerificationError, check=has_code("verification.model-not-met", model="even", failing=1, groups=2)
    ):
        verify_table(odd, model=combine([KAnonymity(2), _Even()]), rows=7)


def test_check_of_a_table_uses_the_models_alone():
    checked = shoal.check(TABLE, ["k-anonymity k=2"], quasi_identifiers=["q", "r"])
    assert checked.found.size.tolist() == [4, 4]
    verdict = checked.models[0]
    assert verdict.judged_by is None
    assert "judged_by" not in verdict.to_dict()


def test_loose_groups_are_counted_again(monkeypatch):
    """Verification counts groups with loose wildcards independently."""
    columns = {"s": list("aabba"), "o": range(5)}
    original = pa.table({"q": list("xxyyy"), "r": ["1", "1", "1", "2", "2"], **columns})
    table = pa.table({"q": ["x", "x", "*", "y", "y"], "r": ["1", "*", "1", "*", "*"], **columns})

    def verify_loosely(k):
        with DuckDBEngine() as engine:
            source = read_frequency_set(engine, engine.read(Source(frame=original)), ROLES)
            return verify(engine, engine.read(Source(frame=table)), ROLES, combine([KAnonymity(k)]), 5, "*", source)

    # candidate rows: 3 of x1; *1 and both y* of y1; both y* of y2; candidate people: 2 of x1 and x*, 3 of *1 and y*
    assert verify_loosely(2).models[0].effective == {"k": 2}
    with pytest.raises(VerificationError, check=has_code("verification.model-not-met", model="k-anonymity")):
        verify_loosely(3)
    honest = shoal.verification.check.smallest_candidate_count
    monkeypatch.setattr(shoal.verification.check, "smallest_candidate_count", lambda *given: honest(*given) + 1)
    with pytest.raises(VerificationError, match="when counted again"):
        verify_loosely(2)


@pytest.mark.parametrize("column", ["s", "t"])
def test_a_model_of_one_column_is_judged_on_that_column(column):
    table = TABLE.append_column("t", pa.array(["a", "b", "c", "d"] * 2))
    schema = Schema({**ROLES.columns, "t": Column(Role.SENSITIVE)})
    for model, good in [(PSensitive(2), True), (PSensitive(3), False), (PSensitive(3, column=column), column == "t")]:
        with DuckDBEngine() as engine:
            relation = engine.read(Source(frame=table))
            if good:
                result = verify(engine, relation, schema, [model], 8)
                assert result.models[0].effective == {"p": 4 if model.column == "t" else 2}
            else:
                with pytest.raises(
                    VerificationError, check=has_code("verification.model-not-met", model="p-sensitive")
                ):
                    verify(engine, relation, schema, [model], 8)


def test_release_runs_the_verification(monkeypatch, tmp_path):
    """Nothing is published unverified: in memory, in a dry run, written."""
    monkeypatch.setattr(
        shoal.verification.verify, "judge", lambda *_: replace(HONEST, evaluations=(ModelEvaluation(False, {"k": 2}),))
    )
    plan = {
        "columns": {"q": {"role": "quasi-identifier"}, "r": {"role": "quasi-identifier"}, "s": {"role": "sensitive"},
                    "o": {"role": "other"}},
        "models": [{"name": "k-anonymity", "k": 4}],
        "method": {"name": "levels"},
    }  # fmt: skip
    with pytest.raises(VerificationError, check=has_code("verification.judgements-differ")):
        shoal.anonymize(TABLE, plan)
    import pyarrow.parquet as pq

    pq.write_table(TABLE, tmp_path / "in.parquet")
    written = {**plan, "source": {"path": str(tmp_path / "in.parquet")}, "output": {"path": str(tmp_path / "out.csv")}}
    with pytest.raises(VerificationError):
        shoal.release(written)
    with pytest.raises(VerificationError):
        shoal.pipeline.run.dry_run(shoal.Plan.from_dict(written))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.parquet"]


HONEST = shoal.verification.independent.TableEvaluation(8, 2, 4, ())


def test_unverified_verdict_names_no_judge():
    assert ModelVerdict("k-anonymity", {"k": 2}, True, {"k": 2}, 0, 0).judged_by is None


def test_spellings_of_a_value_are_one_in_verification():
    spelled = pa.table(
        {**{name: TABLE[name] for name in "qro"}, "s": ["HIV", "hiv ", "flu", None, "1", "1.0", "2", " "]}
    )
    result = verify_table(spelled, combine([KAnonymity(4), PSensitive(2), TCloseness(0.6)]))
    assert [model.judged_by for model in result.models] == ["the model and the independent verification"] * 3
    assert result.models[1].effective == {"p": 2}
    with pytest.raises(VerificationError, check=has_code("verification.model-not-met", model="p-sensitive")):
        verify_table(spelled, combine([PSensitive(3)]))


@pytest.mark.parametrize("fewer", [0, 1])
def test_patterns_claiming_excess_records_are_refused(monkeypatch, fewer):
    """Refused if one record fewer matches each pattern than it states.

    Exactly the stated number is accepted.
    """
    honest = pattern_sets.expose_patterns

    def expose(*given):
        exposure = honest(*given)
        return replace(exposure, support=exposure.support - fewer)

    monkeypatch.setattr(pattern_sets, "expose_patterns", expose)
    table = TABLE.drop_columns(["o"])
    if fewer:
        with pytest.raises(VerificationError, check=has_code("verification.patterns-without-records")):
            shoal.anonymize(table, OVERLAPPING)
    else:
        assert shoal.anonymize(table, OVERLAPPING).figures["models"][0]["effective"] == {"k": 2}


def test_risk_of_patterns_by_the_smallest_set():
    """The risk of patterns is that of the smallest set they single out."""
    exposure = PatternExposure(np.array([5, 9]), np.array([3, 0]), 12, 4, np.array([3, 2, 7]))
    checked = PatternCheck(12, 2, 5, (), 0, 0, least=3, exposure=exposure)
    assert checked.risk == {
        "highest": 0.5, "average": 0.25, "records_in_cells_below_k": 2, "patterns_below_k_own_records": 1,
        "patterns_without_own_records": 1, "disclosed_records": 4,
    }  # fmt: skip


OVERLAPPING = {
    "columns": {"q": {"role": "quasi-identifier"}, "r": {"role": "quasi-identifier"}, "s": {"role": "sensitive"}},
    "models": [{"name": "k-anonymity", "k": 2}],
    "method": {"name": "anti-unification", "patterns": "overlapping"},
}


@pytest.mark.parametrize("figure", ["support", "fitting"])
def test_matching_records_of_patterns_are_counted_again(monkeypatch, figure):
    """One record more is reported as matching than verification finds."""
    honest = shoal.verification.independent.count_matching_records
    monkeypatch.setattr(
        shoal.verification.independent.patterns,
        "count_matching_records",
        lambda *given: _one_less(honest(*given), figure),
    )
    with pytest.raises(VerificationError, check=has_code("verification.pattern-counts-differ")):
        shoal.anonymize(TABLE.drop_columns(["o"]), OVERLAPPING)


def _one_less(counted, figure):
    support, fitting = counted
    return ([support[0] - 1, *support[1:]], fitting) if figure == "support" else (support, fitting - 1)


cells = st.sampled_from(["a", "b", None, "*"])


@given(
    st.integers(0, 2).flatmap(
        lambda quasi: st.tuples(
            st.just(quasi),
            *(st.lists(st.tuples(*[cells] * quasi, st.sampled_from(["1", "2"])), max_size=6) for _ in range(2)),
        )
    ),
    st.lists(st.integers(1, 9), min_size=6, max_size=6),
)
def test_records_match_patterns_by_visible_cells(given_cells, counts):
    """A record matches if it has every value that the pattern shows."""
    quasi, patterns, records = given_cells

    def fits(record, pattern):
        return all(
            visible == cell or (visible == "*" and j < quasi)
            for j, (visible, cell) in enumerate(zip(pattern, record, strict=True))
        )

    counts = counts[: len(records)]
    expected = [sum(n for record, n in zip(records, counts, strict=True) if fits(record, one)) for one in patterns]
    fitting = sum(n for record, n in zip(records, counts, strict=True) if any(fits(record, one) for one in patterns))
    by_column = [[[row[j] for row in rows] for j in range(quasi + 1)] for rows in (patterns, records)]
    assert shoal.verification.independent.count_matching_records(*by_column, counts, quasi, "*") == (expected, fitting)


def test_failing_groups_next_to_a_partial_knowledge_model():
    """Groups that fail a model of all columns are reported.

    The other model considers one known column only.
    """
    table = TABLE.set_column(2, "s", pa.array(list("aaaaaabb")))
    checked = shoal.check(
        table, ["k-anonymity k=2 known=1", "p-sensitive p=2"], quasi_identifiers=["q", "r"], sensitive=["s"]
    )
    assert [model.holds for model in checked.models] == [True, False]
    assert (checked.failing_groups, checked.failing_rows, checked.failing_sizes) == (1, 4, (4,))


def test_ordered_distance_of_two_values():
    """Rows are moved along an order of two values."""
    secrets = ["low", "low", "low", "high", "low", "high", "high", "high"]
    table = pa.table({"q": ["x"] * 4 + ["y"] * 4, "s": secrets})
    roles = {"q": Column(Role.QUASI_IDENTIFIER), "s": Column(Role.SENSITIVE, order=("low", "high"))}
    plan = shoal.Plan(Schema(roles), (TCloseness(0.3, "ordered"),), shoal.methods.Levels({"q": 0}))
    assert shoal.anonymize(table, plan).figures["models"][0]["effective"] == {"t": 0.25}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_worst_part_decides_a_table_in_parts(order):
    model = combine([KAnonymity(3)])
    sizes = ([5, 2, 9], [4, 4])
    parts = [shoal.verification.check.assess_part(Groups(np.asarray(sizes[index])), model) for index in order]
    found = shoal.verification.check.merge_parts(parts, model)
    assert (found.rows, found.groups, found.smallest_group, found.failing_sizes) == (24, 5, 2, (2,))
    assert found.models[0].effective == {"k": 2}
    assert not found.holds


def test_ordered_distance_of_one_value():
    """Nothing is moved along an order of one value."""
    table = pa.table({"age": ["3"] * 4 + ["4"] * 4, "ill": ["flu"] * 8})
    schema = Schema({"age": Column(Role.QUASI_IDENTIFIER), "ill": Column(Role.SENSITIVE, order=("flu",))})
    found = shoal.anonymize(table, shoal.Plan(schema, (TCloseness(0.1, "ordered"),)))
    (verdict,) = found.figures["models"]
    assert (verdict["holds"], verdict["effective"], verdict["judged_by"]) == (
        True,
        {"t": 0},
        "the model and the independent verification",
    )


# -- faults that a random sample of mutants showed to go unnoticed ------------------------------------------


def test_candidates_of_a_person_bind_sensitive_models():
    """A person of 40 can only be a hidden one, and all of these have the flu."""
    cells = {"c0": ["20", "20", "*", "*"], "c1": ["flu", "gout", "flu", "flu"], "c2": [0, 1, 2, 3], "n": [1] * 4}
    table = pa.table(cells)
    schema = Schema({"age": Column(Role.QUASI_IDENTIFIER), "ill": Column(Role.SENSITIVE), "who": Column(Role.PERSON)})
    people = table.select(["c2", "c1", "n"]).rename_columns(["who", "ill", "n"])
    part = LooselyKnown(ByPeople(PSensitive(2)), known=1)
    for labels, holds in (({("20",): 4}, True), ({("20",): 2, ("40",): 2}, False)):
        release = CountedRelease(table, {"age": 0, "ill": 1}, schema, (), Counter(labels), 2, people)
        assert release.evaluate(part).holds is holds


def test_counts_beyond_two_bytes_in_sets_of_columns():
    """Fields of one and two bytes are too small for these counts."""
    for times in (1, 2**7, 2**9, 2**17):
        table = pa.table({"c0": ["a", "a", "b"], "c1": ["x", "y", "x"], "n": pa.array([times, times, 1], pa.int64())})
        schema = Schema({"age": Column(Role.QUASI_IDENTIFIER), "sex": Column(Role.QUASI_IDENTIFIER)})
        (part,) = as_models("k-anonymity k=2 known=2")
        labels = Counter({("a", "x"): times, ("a", "y"): times, ("b", "x"): 1})
        release = CountedRelease(table, {"age": 0, "sex": 1}, schema, (), labels)
        found = release.evaluate(part)
        assert not found.holds
        assert found.effective["k"] == 1


def test_grid_of_verdicts_names_people_and_failures():
    verdict = {"name": "k-anonymity", "parameters": {"k": 2}, "holds": True, "effective": {"k": 3}}
    people = verdict_grid([{**verdict, "counts": "people"}, verdict])
    assert [row[0] for row in people.rows] == ["k-anonymity of people", "k-anonymity"]
    assert tuple(people.columns) == ("model", "asked for", "holds", "the table has")
    failing = verdict_grid([{**verdict, "holds": False, "failing_groups": 2, "failing_rows": 3}])
    assert failing.rows[0][-1] == "3 rows in 2 groups"


def test_average_risk_where_cells_are_hidden():
    """The mean over rows of one over the number of candidate rows."""
    groups, seen = Groups(np.array([1, 2])), Groups(np.array([3, 2]))
    assert assess_groups(groups, combine([KAnonymity(2)]), seen).average == pytest.approx((1 / 3 + 2 / 2) / 3)
