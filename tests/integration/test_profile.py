"""Profiles of tables: kinds, identifiers, and drafted plans that run.

Identifiers are found by name and by content.
"""

from __future__ import annotations

import json
import random
import tomllib

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.advice.draft import draft_plan
from shoal.advice.profile import profile as profile_table
from shoal.advice.try_methods import MethodTrial, least_loss
from shoal.advice.value_kinds import separators_of
from shoal.datasets.census import census_table
from shoal.datasets.patients import FOLDER
from shoal.errors import OutputError, PlanError, TableError
from shoal.methods import FullDomain, Mondrian, Refine
from shoal.plan.plan import Plan
from shoal.schema.column_vocabulary import SENSITIVE, meaning_of, words_of
from shoal.schema.detect_identifiers import _identifier_meaning, identifier_reason, sensitive_reason
from tests.builders.errors import has_code

ROW = random.Random(7)


def column(values, name="x"):
    (found,) = profile_table(pa.table({name: values})).columns
    return found


def column_of_two(values, name):
    """Profile a column next to another one.

    The other one can be the quasi-identifier that a plan needs.
    """
    return profile_table(pa.table({name: values, "filler": [str(n % 3) for n in range(len(values))]})).columns[0]


# -- identifiers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (["ann@example.org", "bob.b@mail.example.com"], "e-mail"),
        (["+49 30 901820", "+44 20 7946 0958"], "telephone"),
        (["(212) 555-0142", "(415) 555-0101"], "telephone"),
        (["015112345678", "0301234567"], "telephone"),  # bare, but for the leading zero
        (["078-05-1120", "219-09-9999"], "social security"),
        (["RSSMRA85T10A562S", "VRDLGI70A01H501X"], "national"),  # codice fiscale, by its form
        (["12345678Z", "X1234567L"], "national"),  # DNI and NIE with right letters
        (["QQ123456C".replace("QQ", "AB"), "CE654321A"], "national"),  # NINO
        (["811218-9876", "19811218-9876"], "national"),  # Swedish, with check digit
        (["111222333", "123456782"], "national"),  # Dutch, eleven test
        (["DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432"], "bank"),
        (["4111 1111 1111 1111", "5500005555555559"], "payment"),
        (["123e4567-e89b-12d3-a456-426614174000"] * 2, "records"),
        (["192.168.0.1", "2001:db8::1"], "network"),
        (["https://example.org/~ann", "www.example.org"], "web"),
    ],
)
def test_identifiers_by_content(values, reason):
    assert reason in identifier_reason("x", values, 1.0, len(values))
    assert identifier_reason("x", [*values, *("abc" + str(n) for n in range(8 * len(values)))], 1.0, 10) is None


@pytest.mark.parametrize(
    "values",
    [
        ["111222334", "123456781"],  # nine digits without a check digit
        ["12345678A", "X1234567A"],  # wrong letters
        ["4111111111111112", "5500005555555550"],
        ["DE89 3704 0044 0532 0130 01"],
        ["2024-02-29", "1999-12-31"],
        ["1234567", "7654321"],
        ["1.234.567", "7.654.321"],
        ["-12345678.5", "2345678.25"],
        ["Never-married", "Married-civ-spouse"],
        ["01234", "00123", "0012345678"],  # codes with zeros in front
        ["142**", "130**"],
    ],
)
def test_not_identifiers(values):
    assert identifier_reason("x", values, 0.5, 1000) is None


@pytest.mark.parametrize(
    "name",
    ["name", "Name", "firstName", "last_name", "E-Mail", "e-mail address", "phone number", "Telefon", "SSN", "Straße",
     "patient name", "national_id", "customer-email", "IP", "Handy", "tel", "Kontonummer"],
)  # fmt: skip
def test_identifiers_by_name(name):
    assert "by its name" in identifier_reason(name, ["a", "b"], 0.01, 1000)


@pytest.mark.parametrize("name", ["country name", "file_name", "age", "idea", "paid", "nameless", "zip", "category id"])
def test_names_of_other_columns(name):
    assert identifier_reason(name, ["a", "b"], 0.01, 1000) is None


def test_keys_row_numbers_and_names_of_people():
    numbers = [str(n) for n in range(1000, 1100)]
    ROW.shuffle(numbers)
    assert "numbers the rows" in identifier_reason("x", numbers, 1.0, 100)
    assert identifier_reason("year", [str(n) for n in range(1900, 2000)], 0.1, 1000) is None
    assert "key" in identifier_reason("item id", [f"A{n * 37}" for n in range(100)], 1.0, 100)
    people = [f"{'ABCDEFGHIJ'[n // 10]}nna {'KLMNOPQRST'[n % 10]}ovak" for n in range(100)]
    assert "names of people" in identifier_reason("x", people, 1.0, 100)
    assert identifier_reason("x", people, 0.1, 1000) is None  # towns such as New York are shared
    assert sensitive_reason("primary_diagnosis")
    assert sensitive_reason("age") is None


@pytest.mark.parametrize(
    "name",
    ["first", "last", "given", "surname", "Vorname", "Nachname", "prénom", "nom de famille", "apellidos", "sobrenome",
     "cognome", "nome_completo", "courriel", "correo", "celular", "cellulare", "Handynummer telefon", "r_case_number",
     "case.id", "caseID", "SEQN", "numero_de_cuenta", "licensePlate", "Kennzeichen", "targa", "matrícula", "ip_addr ip",
     "device_id", "profile url", "patient_last", "codice fiscale", "CPF", "Steuer-ID", "sozialversicherungsnummer",
     "Aktenzeichen", "mac address", "adresse", "endereço", "domicilio", "account number"],
)  # fmt: skip
def test_identifiers_by_name_in_six_languages(name):
    assert "by its name" in identifier_reason(name, [f"v{n}" for n in range(50)], 0.05, 1000)


@pytest.mark.parametrize(
    "name", ["last visit", "first_seen", "given dose", "device", "plate", "number of children", "case type", "mailing"]
)
def test_names_similar_to_identifiers(name):
    assert identifier_reason(name, ["a", "b"], 0.01, 1000) is None


def test_keys_are_unique_among_present_values():
    values = [f"{n * 7919 % 100003}.0" for n in range(1, 300)]
    found = column_of_two([*values, *[None] * 3000], "x")
    assert found.role == "identifier"
    assert "no two rows" in found.reason
    assert column_of_two([float(n) for n in range(500)], "x").reason == "it numbers the rows"
    assert (
        column_of_two([n / 7 for n in range(500)], "x").role == "quasi-identifier"
    )  # measurements are nearly unique as well


def test_repeating_keys_are_never_quasi_identifiers():
    for name in ("id", "patient_id", "kunde_nr"):
        found = column_of_two([str(1000 + 13 * (n // 7)) for n in range(700)], name)
        assert found.role == "person"
        assert "whose rows" in found.reason


def test_one_of_two_repeating_keys_is_the_person():
    rows = 700
    table = pa.table({
        "doctor_id": [str(n % 25) for n in range(rows)], "patient_id": [str(n % 231) for n in range(rows)],
        "ward": ["a", "b"] * (rows // 2),
    })  # fmt: skip
    assert [str(part.role) for part in profile_table(table).columns] == ["identifier", "person", "quasi-identifier"]


def test_dates_are_quasi_identifiers():
    """Dates are known to others and never published exactly."""
    assert column_of_two([f"2024-02-{n:02}" for n in range(1, 29)], "offense_date").role == "quasi-identifier"
    assert column_of_two(["theft", "arson"] * 20, "offense").role == "sensitive"
    zoned = pa.array([n * 10**12 for n in range(30)], pa.timestamp("us", "UTC"))
    assert column_of_two(zoned, "seen").kind == "date"
    assert column_of_two(["2024-02-29T10:00:00+01:00", "2023-01-01T00:00:00Z"], "seen").kind == "date"
    assert column_of_two(["Mar-2018", "Feb-2018"], "issued").hierarchy == {
        "dates": ["quarter", "year", "decade"], "format": "%b-%Y",
    }  # fmt: skip


def test_coordinates_become_grid_cells():
    assert column_of_two([48.2 + n / 997 for n in range(90)], "Latitude").hierarchy == {"intervals": [0.01, 0.1, 1, 10]}
    assert column_of_two([148.2 + n / 997 for n in range(90)], "lat").hierarchy != {"intervals": [0.01, 0.1, 1, 10]}


def test_notes_are_counts():
    """Notes for the user contain counts, no values."""
    town = column_of_two(["Wien", "wien", "Graz", " Graz"] * 10, "town")
    assert town.notes == ("2 values differ from another only in case or blanks",)
    assert column_of_two([*range(20, 60), 999, 999], "age").notes == (
        "in 2 rows a number of nines only, far from the others: missing?",
    )
    assert column_of_two([*range(20, 120)], "age").notes == ()


def test_free_text_and_constants_are_dropped():
    assert column_of_two([f"assistant to {chr(97 + n % 26)}{n}" for n in range(400)], "title").role == "drop"
    assert column_of_two(["x"] * 30, "zzq").role == "drop"
    assert column_of_two(["x", "y"] * 15, "kind").role == "quasi-identifier"


# -- kinds -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "kind", "hierarchy"),
    [
        (["31", "45", "62", "18"], "number", {"intervals": [5, 10, 20, 40]}),
        ([1.5, 2.25, 8.0, 9.5], "number", {"intervals": [0.5, 1.0, 2.0, 4.0]}),
        (["0", "1"], "number", {"flat": True}),
        (["01234", "14248", "13053"], "code", {"prefix": True}),
        (["AB12", "CD34", "EF56"], "code", {"prefix": True}),
        (["2024-02-29", "1999-12-31"], "date", {"dates": ["month", "quarter", "year", "decade"]}),
        (["29.02.2024", "31.12.1999"], "date",
         {"dates": ["month", "quarter", "year", "decade"], "format": "%d.%m.%Y"}),
        (["20240229", "19991231"], "date", {"dates": ["month", "quarter", "year", "decade"], "format": "%Y%m%d"}),
        (["red", "green", "blue"], "word", {"flat": True}),
        (["1e999", "2", "3"], "word", {"flat": True}),
        (["inf", "1", "2"], "word", {"flat": True}),
        (["1,5", "12,25", "100"], "word", {"flat": True}),
    ],
)  # fmt: skip
def test_kinds_and_hierarchies(values, kind, hierarchy):
    found = column(values)
    assert (found.kind, found.hierarchy) == (kind, hierarchy)


def test_decimal_comma_in_description():
    assert "decimal comma" in column(["1,5", "12,25", "100"]).how
    assert "decimal comma" not in column(["red", "green", "blue"]).how


def test_zip_codes_by_name():
    assert column(["14248", "14207"] * 2 + ["13053"], "zip").kind == "code"
    assert column(["14248", "14207"] * 2 + ["13053"], "steps").kind == "number"


def test_missing_values_by_markers():
    table = pa.table(
        {"a": ["1", "?", "3"], "b": ["x", "NA", "z"], "c": ["DE", "NA", "FR"], "d": ["-", "minus", "plus"]}
    )
    found = profile_table(table)
    assert found.missing == ("?", "NA")
    assert profile_table(pa.table({"c": ["DE", "NA", "FR"]})).missing == ()
    assert [part.missing for part in found.columns] == [1, 1, 1, 0]
    assert found.columns[0].kind == "number"


def test_counts_by_hand():
    table = pa.table({"a": [1, 1, 2, 3, None], "b": ["x", "x", "x", "y", "y"]})
    found = profile_table(table)
    a, b = found.columns
    assert (a.distinct, a.unique, a.missing) == (3, 2, 1)
    assert (b.distinct, b.unique, b.missing) == (2, 0, 0)
    assert found.unique == 3
    assert [(pair.columns, pair.unique) for pair in found.pairs] == [(("a", "b"), 3)]


# -- plans that run --------------------------------------------------------------------------------


def release_draft(folder, source):
    profile = profile_table(source)
    text = draft_plan(profile, source, folder)
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    return profile, text, shoal.release(folder / "plan.toml", overwrite=True)


def test_patients(tmp_path):
    (tmp_path / "patients.csv").write_bytes((FOLDER / "patients.csv").read_bytes())
    profile, text, release = release_draft(tmp_path, tmp_path / "patients.csv")
    roles = {part.name: str(part.role) for part in profile.columns}
    assert roles == {
        "name": "identifier", "age": "quasi-identifier", "country": "quasi-identifier", "zip": "quasi-identifier",
        "condition": "sensitive",
    }  # fmt: skip
    assert all(model["holds"] for model in release.figures["models"])
    for value in ("Rick", "USA", "14248", "Cancer", "HIV"):
        assert value not in text


def test_generated_census(tmp_path):
    pyarrow.csv.write_csv(census_table(2000), tmp_path / "census.csv")
    _, text, release = release_draft(tmp_path, tmp_path / "census.csv")
    assert release.figures["smallest_group"] >= 5
    assert "Country-01" not in text
    assert "Prof-specialty" not in text


def test_parquet_and_another_folder(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "plans").mkdir()
    pq.write_table(pa.table({"age": [1, 2, 3, 4] * 5, "wage": [1.5, 2.5] * 10}), tmp_path / "data" / "t.parquet")
    profile = profile_table(tmp_path / "data" / "t.parquet")
    text = draft_plan(profile, tmp_path / "data" / "t.parquet", tmp_path / "plans")
    assert tomllib.loads(text)["source"]["path"] == "../data/t.parquet"
    (tmp_path / "plans" / "plan.toml").write_text(text)
    assert shoal.release(tmp_path / "plans" / "plan.toml").figures["rows"] == 20


NASTY = {
    "one column of names": "name\n" + "".join(f"P{n}\n" for n in range(9)),
    "all empty": "a,b\n" + ",\n" * 6,
    "one value": "a\n" + "x\n" * 6,
    "quotes and line ends in names": '"a\nb","c""d]",e # f\n' + "1,2,3\n4,5,6\n" * 4,
    "names like TOML": 'columns.x,"[output]","path = ""x"""\n' + "1,2,3\n4,5,6\n" * 4,
    "two rows": "age,x\n1,a\n2,b\n",
    "numbers with one word": "n\n1\n2\n3\nmany\n4\n5\n",
    "huge numbers": "n\n1e300\n-1e300\n5\n1e-300\n7\n8\n",
    "mixed dates": "d\n2024-01-01\n01.02.2024\n2024-13-45\nnever\n",
    "long texts": "t\n" + "".join(f"{n} {'lorem ipsum ' * 30}\n" for n in range(30)),
    "formulas": "f\n=cmd()\n+1+1\n-2+3\n@SUM(A1)\n=cmd()\n",
    "right to left": "שם,‮x\nדוד,1\nרות,2\nדוד,1\nרות,2\n",
    "markers only": "m,n\n?,1\n?,2\n?,1\n?,2\n",
    "blanks around cells": "age, work, pay\n" + "39, State-gov, <=50K\n 50, ?, >50K\n" * 4,
    "semicolons": "a;b\n1,5;x\n2,5;y\n1,5;x\n2,5;y\n",
    "no header": "1,2\n3,4\n1,2\n3,4\n",
    "many columns": ",".join(f"c{n}" for n in range(30)) + "\n" + (",".join("ab" * 15) + "\n") * 8,
    "negative and zero": "n\n-5\n0\n5\n-5\n0\n5\n",
    "tiny steps": "n\n0.0001\n0.0002\n0.00035\n0.0001\n",
}


@pytest.mark.parametrize("case", NASTY)
def test_nasty_tables(tmp_path, case):
    (tmp_path / "nasty.csv").write_text(NASTY[case], encoding="utf-8")
    profile, text, release = release_draft(tmp_path, tmp_path / "nasty.csv")
    assert release.figures["smallest_group"] >= 2
    assert [part.name for part in profile.columns] == list(Plan.read(tmp_path / "plan.toml").schema.columns)
    assert all(line.isprintable() for line in text.split("\n"))


def test_blanks_around_cells_are_trimmed(tmp_path):
    """Read blanks as the Adult file of the UCI repository has them.

    There " ?" stands for a missing value.
    """
    (tmp_path / "adult.csv").write_text("age, work, pay\n" + "39, State-gov, <=50K\n50, ?, >50K\n" * 4)
    profile, text, _ = release_draft(tmp_path, tmp_path / "adult.csv")
    assert [part.name for part in profile.columns] == ["age", "work", "pay"]
    assert profile.missing == ("?",)
    assert tomllib.loads(text)["source"]["trim"] is True
    assert "trim" not in draft_plan(profile_table(tmp_path / "adult-released.csv"), tmp_path / "x.csv", tmp_path)


def test_csv_dialect_goes_into_the_plan(tmp_path, monkeypatch, capsys):
    from shoal.cli.app import app

    monkeypatch.chdir(tmp_path)
    rows = "".join(f"M\xfcller;{n % 3}\nJos\xe9;{n % 3}\n" for n in range(18))
    (tmp_path / "latin.csv").write_text(rows, encoding="latin-1")
    app(["plan", "latin.csv", "--delimiter", ";", "--no-header"], standalone_mode=False)
    assert 'encoding = "latin-1"   # the file is not UTF-8' in (tmp_path / "plan.toml").read_text()
    app(["release", "plan.toml"], standalone_mode=False)
    assert "M\xfcller" in (tmp_path / "latin-released.csv").read_text(encoding="utf-8")
    assert "Released 36 of 36 rows" in " ".join(capsys.readouterr().out.split())
    with pytest.raises(PlanError, match="one character"):
        app(["plan", "latin.csv", "--delimiter", ";;", "--overwrite"], standalone_mode=False)


def test_one_row_and_no_rows(tmp_path):
    with pytest.raises(TableError, check=has_code("table.no-rows")):
        profile_table(pa.table({"a": pa.array([], pa.string())}))
    with pytest.raises(TableError, match="one row"):
        draft_plan(profile_table(pa.table({"a": ["x"]})), tmp_path / "t.csv", tmp_path)


def test_columns_sharing_a_name_are_numbered(tmp_path):
    rows = "".join(f"{n % 3},{n % 4},{n % 2},x\n" for n in range(24))
    (tmp_path / "t.csv").write_text("score,age,score,score_2\n" + rows)
    with pytest.raises(TableError, check=has_code("table.column-names-equal")):
        shoal.check(tmp_path / "t.csv", ["k-anonymity k=2"], quasi_identifiers=["age"])
    profile, text, _ = release_draft(tmp_path, tmp_path / "t.csv")
    assert [part.name for part in profile.columns] == ["score", "age", "score_3", "score_2"]
    assert tomllib.loads(text)["source"]["rename"] is True
    plan = Plan.read(tmp_path / "plan.toml")
    assert Plan.from_dict(plan.to_dict()) == plan


def test_k_is_the_given_one_or_an_error(tmp_path):
    profile = profile_table(pa.table({"age": list(range(12))}))
    assert "k = 3 " in draft_plan(profile, tmp_path / "t.csv", tmp_path)
    assert "k = 12 " in draft_plan(profile, tmp_path / "t.csv", tmp_path, k=12)
    for k in (13, 1):
        with pytest.raises(PlanError, check=has_code("models.k-out-of-range", rows=12)):
            draft_plan(profile, tmp_path / "t.csv", tmp_path, k=k)


def test_draft_takes_the_method_of_least_loss(tmp_path):
    profile = profile_table(pa.table({"age": list(range(40))}))
    tried = (
        MethodTrial(FullDomain(), 0.7, 40, 0.1),
        MethodTrial(Mondrian(), 0.25, 40, 0.1),
        MethodTrial(Refine(), None, 40, 0.1),
    )
    text = draft_plan(profile, tmp_path / "t.csv", tmp_path, tried=tried)
    assert tomllib.loads(text)["method"] == {"name": "mondrian"}
    assert text.index("mondrian: 0.25") < text.index("full-domain: 0.70") < text.index("refine: no release")
    assert "More than half" not in text
    assert "More than half" in draft_plan(profile, tmp_path / "t.csv", tmp_path, tried=tried[:1])
    assert least_loss(()) is None


def test_methods_are_tried_on_a_fixed_sample(tmp_path, monkeypatch):
    from shoal.advice import try_methods

    pyarrow.csv.write_csv(census_table(900), tmp_path / "census.csv")
    plan = Plan.from_dict(
        tomllib.loads(draft_plan(profile_table(tmp_path / "census.csv"), tmp_path / "census.csv", tmp_path)), tmp_path
    )
    monkeypatch.setattr(try_methods, "SAMPLE_ROWS", 500)
    first, second = (try_methods.try_methods(plan, plan.source, 0.05) for _ in range(2))
    assert [trial.loss for trial in first[:1]] == [trial.loss for trial in second[:1]]
    assert {trial.rows for trial in first} == {500}
    assert all(0 < trial.loss < 1 for trial in first)


# -- the command -----------------------------------------------------------------------------------


def test_command(tmp_path, monkeypatch, capsys):
    from shoal.cli.plan import plan

    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(
        "mail,age,[bold]x\n" + "".join(f"p{n}@x.org,{n % 5},{n % 2}\n" for n in range(20))
    )
    plan(tmp_path / "people.csv", tmp_path / "plan.toml", 5, False, True)
    answer = json.loads(capsys.readouterr().out)
    assert [part["role"] for part in answer["columns"]] == ["identifier", "quasi-identifier", "quasi-identifier"]
    with pytest.raises(OutputError, match="exists"):
        plan(tmp_path / "people.csv", tmp_path / "plan.toml", 5, False, False)
    plan(tmp_path / "people.csv", tmp_path / "plan.toml", 5, True, False)
    printed = capsys.readouterr().out
    assert "[bold]x" in printed
    assert "p1@x.org" not in printed
    with pytest.raises(OutputError, check=has_code("output.directory-not-found")):
        plan(tmp_path / "people.csv", tmp_path / "absent" / "plan.toml", 5, False, False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.csv", "plan.toml"]


def test_command_in_a_narrow_terminal(tmp_path, monkeypatch, capsys):
    """Print whole words in 80 columns.

    A name of 5,000 characters does not flood the screen.
    """
    from shoal.cli import console
    from shoal.cli.app import app

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(console.output, "_width", 80)
    (tmp_path / "t.csv").write_text(f"age,{'w' * 5000}\n" + "1,2\n3,4\n" * 10)
    app(["plan", "t.csv"], standalone_mode=False)
    printed = capsys.readouterr().out
    assert "quasi-identifier" in printed
    assert max(map(len, printed.splitlines())) <= 80
    assert len(printed.splitlines()) < 30


SEPARATORS = {
    "a decimal comma": ([["1,5", "20"]], (",", None)),
    "three decimals or thousands": ([["1,234", "5,678"]], (None, None)),
    "three decimals, told by another column": ([["1,234", "5,678"], ["0,25", "3,1"]], (",", None)),
    "points between thousands": ([["1.234,5", "9"]], (",", ".")),
    "two points between thousands": ([["1.234.567", "9"]], (None, ".")),
    "commas between thousands": ([["1,234.5", "9"], ["2.5", "3"]], (None, ",")),
    "blanks between thousands": ([["1 234", "950", "12\u00a0345"]], (None, " ")),
    "blanks in what may be a number of a telephone": ([["555 123", "555 124"]], (None, None)),
    "Swiss": ([["1'234.50", "950"]], (None, "'")),
    "columns that contradict each other": ([["1,5"], ["1,234.5"]], (None, None)),
    "plain numbers": ([["1.5", "1234"]], (None, None)),
    "words": ([["a,b", "1,5"]], (None, None)),
    "nothing": ([[]], (None, None)),
}


@pytest.mark.parametrize("case", SEPARATORS)
def test_separators_are_found_if_unambiguous(case):
    """Find separators only if numbers can be read in no other way."""
    columns, expected = SEPARATORS[case]
    assert separators_of(columns) == expected


def test_draft_reads_decimal_commas_as_numbers(tmp_path):
    rows = [f"{20 + n % 40};{1 + n % 3}.{n % 10}50,{n % 10}5;{'NA' if n == 7 else 'x'}" for n in range(60)]
    (tmp_path / "t.csv").write_text("age;income;note\n" + "\n".join(rows) + "\n")
    profile = profile_table(tmp_path / "t.csv")
    assert (profile.source.decimal, profile.source.thousands) == (",", ".")
    assert next(column for column in profile.columns if column.name == "income").kind == "number"
    text = draft_plan(profile, tmp_path / "t.csv", tmp_path)
    assert 'decimal = ","   # numbers are written like 1,5' in text
    assert 'thousands = "."   # numbers are written like 1.234' in text
    assert shoal.Plan.from_toml(text, tmp_path).source.csv.decimal == ","


# -- cases from tables of users --------------------------------------------------------------------


def test_utf_8_cut_by_the_sample(tmp_path):
    from shoal.io.formats.csv_dialect import SAMPLE_BYTES, detect_legacy_encoding

    path = tmp_path / "t.csv"
    path.write_bytes(b"a" * (SAMPLE_BYTES - 1) + "\u00fc".encode())
    assert not detect_legacy_encoding(path)
    path.write_bytes(b"a" * (SAMPLE_BYTES - 1) + "\u00fc".encode()[:1])
    assert detect_legacy_encoding(path)
    path.write_bytes(b"\x1f\x8b\xff\xff")
    assert not detect_legacy_encoding(path)
    for far in (0, SAMPLE_BYTES):  # quotes and dashes are no control characters; 0x81 is nothing in cp1252
        for written, encoding in ((b"\xfc", "latin-1"), (b"\xfc\x93", "cp1252"), (b"\xfc\x93\x81", "latin-1")):
            path.write_bytes(written + b"a" * far + b"\xfc")
            assert detect_legacy_encoding(path) == encoding
    assert not detect_legacy_encoding(tmp_path / "none.csv")


def test_repeating_personal_identifiers_are_persons():
    """Identifiers of one person that repeat name the person of a row."""
    emails = column_of_two([f"c{n % 40}@example.org" for n in range(200)], "contact")
    assert emails.role == "person"
    assert "e-mail" in emails.reason
    assert column_of_two([f"{n % 40:09d}X" for n in range(200)], "kvnr").role == "person"
    device = column_of_two([f"00:1b:44:11:3a:{n % 40:02x}" for n in range(200)], "device_id")
    assert (device.role, "of a device" in device.reason) == ("person", True)
    assert column_of_two([f"10.0.0.{n % 40}" for n in range(200)], "client_host").role == "identifier"  # many share one
    assert column_of_two([f"https://example.org/{n % 40}" for n in range(200)], "cookie").role == "identifier"
    assert column_of_two([f"c{n}@example.org" for n in range(200)], "contact").role == "identifier"
    assert column_of_two([f"c{n % 25}@example.org" for n in range(25 * 201)], "hotline").role == "identifier"
    assert column_of_two([f"Ann{n % 40} Lee" for n in range(200)], "surname").role == "identifier"  # names are shared


def test_key_of_staff_is_no_person_next_to_subjects():
    """A key of staff is no person if the table is about other people."""
    officers = [n % 40 for n in range(400)]
    about = profile_table(pa.table({"officer_id": officers, "subject_age": [20 + n % 7 for n in range(400)]}))
    assert [str(part.role) for part in about.columns] == ["identifier", "quasi-identifier"]
    alone = profile_table(pa.table({"officer_id": officers, "age": [20 + n % 7 for n in range(400)]}))
    assert alone.columns[0].role == "person"


def test_remarks_are_dropped():
    """Drop remarks whatever their present values are."""
    assert column_of_two(["ok", "asked for Mia"] * 30, "Bemerkung").role == "drop"
    assert column_of_two([3, 4] * 30, "notes").role == "quasi-identifier"  # a number of notes


def test_one_value_with_missing_ones_is_no_constant():
    """One value together with missing ones carries information."""
    assert column_of_two(["SPRING", None] * 30, "coupon").role == "quasi-identifier"
    assert column_of_two(["SPRING"] * 60, "coupon").role == "drop"


def test_numbers_with_a_sign_are_dropped_with_a_reason():
    found = column_of_two([f"{n / 7:.1f}%" for n in range(300)], "attendance")
    assert found.role == "drop"
    assert "sign" in found.reason


def test_time_of_day_is_generalized_first():
    found = column([f"2024-03-{1 + n % 28:02d}T10:{n % 60:02d}:00" for n in range(90)])
    assert found.hierarchy == {"dates": ["day", "month", "quarter", "year", "decade"]}
    assert column(["2024-03-01", "2024-03-02"] * 9).hierarchy["dates"][0] == "month"


def test_unmixable_sensitive_column_is_dropped():
    """Drop a sensitive column that no group can mix.

    Each officer made arrests and let people go, so that the values known of each person are the same for all.
    """
    rows = 400
    data = pa.table({
        "employee_id": [n % 40 for n in range(rows)], "age": [20 + n // 80 for n in range(rows)],
        "arrest": [str(n // 40 % 2) for n in range(rows)],
    })  # fmt: skip
    drafted = shoal.draft(data)
    roles = {part.name: str(part.role) for part in drafted.profile.columns}
    assert roles == {"employee_id": "person", "age": "quasi-identifier", "arrest": "drop"}
    assert "no group of its rows" in drafted.text
    assert shoal.anonymize(data, drafted.plan).table.column_names == ["age"]


def test_person_by_content_needs_the_whole_table():
    """Find a person by content only if it holds in all rows.

    A sample rules columns out; the remaining ones are counted in all rows.
    """
    rows, wrong = 9000, 8999
    data = {"thing": [f"x{n // 3}" for n in range(rows)]}
    data |= {f"fact{m}": [str(n // 3 % (m + 2)) for n in range(rows)] for m in range(4)}
    assert profile_table(pa.table(data)).columns[0].role == "person"
    for m in range(3):
        data[f"fact{m}"][wrong] = "other"
    assert profile_table(pa.table(data)).columns[0].role != "person"


def test_equally_dropped_columns_share_a_line(tmp_path, monkeypatch, capsys):
    from shoal.cli.app import app

    monkeypatch.chdir(tmp_path)
    data = pa.table({"age": [n % 4 for n in range(40)], **{f"void{n}": [""] * 40 for n in range(7)}})
    pyarrow.csv.write_csv(data, "t.csv")
    app(["plan", "t.csv"], standalone_mode=False)
    printed = " ".join(capsys.readouterr().out.replace("\u2502", " ").split())
    assert "void0 and 6 others" in printed
    assert "void1 " not in printed


@pytest.mark.parametrize(
    ("name", "words", "sensitive"),
    [
        ("Hauptdiagnose", ["hauptdiagnose"], "health"),
        ("Bruttolohn", ["bruttolohn"], "income"),
        ("Patientenname", ["patienten", "name"], None),
        ("Kundennummer", ["kunden", "nummer"], None),
        ("syndicat", ["syndicat"], "political opinion"),
        ("Diagnosed with?", ["diagnosed", "with"], "health"),
        ("covid", ["covid"], None),
    ],
)
def test_german_compounds_by_their_last_part(name, words, sensitive):
    assert words_of(name) == words
    assert meaning_of(words, SENSITIVE) == sensitive
    assert _identifier_meaning(words) == ("a name" if name == "Patientenname" else None)
