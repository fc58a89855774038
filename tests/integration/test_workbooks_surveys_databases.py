"""Workbooks, survey files and database files.

They are read, released, read back and verified, and hostile ones do no harm.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import resource
import sqlite3
import subprocess
import sys
import time
import tomllib
import zipfile

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.advice.draft import draft_plan
from shoal.advice.profile import profile as profile_table
from shoal.errors import OutputError, TableError
from shoal.io.engines.base import Source
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.io.formats import ColumnLabels, Options, Writing, sandbox
from shoal.io.formats.partitioned import common_schema
from tests.builders.errors import has_code
from tests.builders.plans import write_plan

pytest.importorskip("pyreadstat")
pytest.importorskip("fastexcel")
pytest.importorskip("xlsxwriter")

SEX = ColumnLabels("Sex of the person", (("1", "male"), ("2", "female"), ("9", "refused by Mrs Miller")))
AGE = ColumnLabels("Age in years")
NAME = ColumnLabels("Name, as told by the neighbour")
PEOPLE = pa.table(
    {
        "name": [f"p{n}" for n in range(40)],
        "age": [20 + n % 40 for n in range(40)],
        "sex": [1 + n % 2 for n in range(40)],
        "illness": ["=flu", "cold", "asthma", "gout"] * 10,
        "since": [datetime.date(2020, 1, 1 + n % 28) for n in range(40)],
        "weight": [50.5 + n for n in range(40)],
    }
)
WRITTEN = [".xlsx", ".sav", ".dta", ".xpt", ".sqlite", ".duckdb", ".parquet", ".csv"]
OTHERS = [suffix for suffix in WRITTEN if suffix not in (".csv", ".parquet")]


def write(path, table=PEOPLE, **options):
    with DuckDBEngine() as engine:
        return engine.write(engine.read(Source(frame=table)), path, Writing(**options))


def read(path, **given):
    with DuckDBEngine() as engine:
        table = engine.read(Source(path, **given))
        return engine.to_arrow(table), table


def plan(source, output, **more):
    return {
        "source": {"path": str(source), **more.pop("source", {})},
        "columns": {
            "name": {"role": "identifier"},
            "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}},
            "sex": {"role": "quasi-identifier"},
            "illness": {"role": "sensitive"},
            "since": {"role": "other"},
            "weight": {"role": "other"},
        },
        "models": [{"name": "k-anonymity", "k": 4}],
        "output": {"path": str(output), "report": False, **more},
    }


@pytest.mark.parametrize("suffix", OTHERS)
def test_round_trip_in_every_format(tmp_path, suffix):
    write(tmp_path / f"t{suffix}")
    found, _ = read(tmp_path / f"t{suffix}")
    for name in PEOPLE.column_names:
        texts = [str(value) for value in found.column(name).to_pylist()]
        assert sorted(texts) == sorted(str(value) for value in PEOPLE.column(name).to_pylist()), name


@pytest.mark.parametrize("suffix", OTHERS)
def test_missing_values_stay_missing(tmp_path, suffix):
    gaps = pa.table(
        {"n": [1, None, 3], "t": ["x", None, "z"], "f": [None, 0.5, 1.5], "d": [None, None, datetime.date(2024, 2, 29)]}
    )
    write(tmp_path / f"t{suffix}", gaps)
    found, _ = read(tmp_path / f"t{suffix}")
    assert [found.column(name).null_count for name in gaps.column_names] == [1, 1, 1, 2]


@pytest.mark.parametrize(
    ("origin", "suffix"), [*((".sav", suffix) for suffix in WRITTEN), (".xlsx", ".dta"), (".duckdb", ".sqlite")]
)
def test_release_is_verified_from_the_written_file(tmp_path, origin, suffix):
    write(tmp_path / f"people{origin}")
    done = shoal.release(plan(tmp_path / f"people{origin}", tmp_path / f"released{suffix}"))
    certificate = json.loads((tmp_path / "released.certificate.json").read_text())
    assert certificate["output"]["sha256"] == hashlib.sha256((tmp_path / f"released{suffix}").read_bytes()).hexdigest()
    assert done.figures["smallest_group"] >= 4
    assert shoal.check(
        tmp_path / f"released{suffix}", ["k-anonymity k=4"], quasi_identifiers=["age", "sex"], sensitive=["illness"]
    ).holds
    assert "name" not in read(tmp_path / f"released{suffix}")[0].column_names


@pytest.mark.parametrize("suffix", [".xlsx", ".sav", ".dta", ".xpt", ".sqlite"])
def test_bytes_of_a_release_do_not_depend_on_the_time(tmp_path, suffix):
    write(tmp_path / f"one{suffix}")
    time.sleep(1.1)
    write(tmp_path / f"two{suffix}")
    assert (tmp_path / f"one{suffix}").read_bytes() == (tmp_path / f"two{suffix}").read_bytes()
    head = (tmp_path / f"one{suffix}").read_bytes()[:400]
    now = datetime.datetime.now(datetime.UTC)
    assert not any(now.strftime(form).encode() in head for form in ("%d %b %y", "%d %b %Y", "%d%b%y:"))


# -- labels ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".sav", ".dta"])
def test_generalized_columns_are_labelled_codes(tmp_path, suffix):
    """Only labels of published values are written."""
    write(tmp_path / f"people{suffix}", labels={"sex": SEX, "age": AGE, "name": NAME})
    made = shoal.release(plan(tmp_path / f"people{suffix}", tmp_path / f"released{suffix}"))
    codes, about = read(tmp_path / f"released{suffix}")
    texts, _ = read(tmp_path / f"released{suffix}", values="labels")
    assert about.labels["age"].label == "Age in years"
    assert dict(about.labels["age"].values)["1"] == "20..29"  # in the order of ages, not of texts
    assert set(codes.column("age").to_pylist()) == {1, 2, 3, 4}
    assert set(texts.column("age").to_pylist()) == {"20..29", "30..39", "40..49", "50..59"}
    assert about.labels["sex"] == ColumnLabels("Sex of the person", (("1", "male"), ("2", "female")))
    content = (tmp_path / f"released{suffix}").read_bytes()
    assert b"Miller" not in content
    assert b"neighbour" not in content
    assert made.figures["labels"] == {"age": "Age in years", "sex": "Sex of the person"}
    assert "labels" not in json.loads((tmp_path / "released.certificate.json").read_text())


def test_labels_in_the_draft_and_in_the_report(tmp_path):
    hostile = ColumnLabels('Sex</small>\n[output]\npath = "x"', (("1", "male"), ("2", "female")))
    write(tmp_path / "people.sav", labels={"sex": hostile, "age": AGE, "name": NAME})
    profile = profile_table(tmp_path / "people.sav")
    found = {column["name"]: column["label"] for column in profile.to_dict()["columns"]}
    assert found["age"] == "Age in years"
    assert found["sex"] == 'Sex</small> [output] path = "x"; 1 = male; 2 = female'
    text = draft_plan(profile, tmp_path / "people.sav", tmp_path)
    assert "# The source says: Age in years\n" in text
    assert tomllib.loads(text)["output"]["path"] != "x"
    shoal.release(plan(tmp_path / "people.sav", tmp_path / "released.csv", report=True), internal_report=True)
    assert "Age in years" not in (tmp_path / "released.report.html").read_text()  # a CSV has no labels of columns
    report = (tmp_path / "released.internal.html").read_text()
    assert "Age in years" in report
    assert "neighbour" not in report
    assert "Sex</small>" not in report


def test_labels_can_be_read_instead_of_codes(tmp_path):
    write(tmp_path / "people.sav", labels={"sex": SEX})
    found, _ = read(tmp_path / "people.sav", values="labels")
    assert set(found.column("sex").to_pylist()) == {"male", "female"}


def test_user_missing_codes_are_missing_by_default(tmp_path):
    import pandas as pd
    import pyreadstat

    pyreadstat.write_sav(pd.DataFrame({"n": [1.0, 2.0, 99.0]}), str(tmp_path / "t.sav"), missing_ranges={"n": [99]})
    assert read(tmp_path / "t.sav")[0].column("n").to_pylist() == [None, 1, 2]
    assert read(tmp_path / "t.sav", user_missing="keep")[0].column("n").to_pylist() == [1, 2, 99]


def test_invalid_names_in_a_survey_file_are_refused(tmp_path):
    with pytest.raises(OutputError, match="must begin with a letter"):
        write(tmp_path / "t.sav", pa.table({"a b": [1]}))


@pytest.mark.parametrize(
    ("ending", "names", "code"),
    [
        ("sav", ["_x"], "not-allowed"),
        ("sav", ["ALL"], "reserved"),
        ("sav", ["with"], "reserved"),
        ("sav", ["n" * 65], "not-allowed"),
        ("sav", ["age", "Age"], "case"),
        ("dta", ["int"], "reserved"),
        ("dta", ["str20"], "reserved"),
        ("dta", ["_N"], "reserved"),
        ("dta", ["n" * 33], "not-allowed"),
        ("dta", ["int_", "INT", "str"], None),
        ("xpt", ["_n_"], "reserved"),
        ("xpt", ["straße"], "not-allowed"),
        ("xpt", ["age", "AGE"], "case"),
        ("sqlite", ["age", "AGE"], "case"),
        ("duckdb", ["age", "AGE"], "case"),
        ("sqlite", ["all", "a b", '"'], None),
        ("xlsx", ["age", "AGE", "int"], None),
    ],
)
def test_names_of_no_column_are_refused_before_any_work(tmp_path, monkeypatch, ending, names, code):
    """Programs have words that are no names, and some disregard case."""
    pq.write_table(pa.table({name: ["x"] * 4 for name in names}), tmp_path / "source.parquet")
    plan = {
        "source": {"path": str(tmp_path / "source.parquet")},
        "output": {"path": str(tmp_path / f"out.{ending}")},
        "columns": dict.fromkeys(names, "quasi-identifier"),
        "models": "k-anonymity k=2",
    }
    if code is None:
        assert shoal.release(plan).figures["released"] == 4
        return
    monkeypatch.setattr(shoal.pipeline.run, "decide", None)
    with pytest.raises(OutputError) as error:
        shoal.release(plan)
    expected = {"case": "output.column-names-differ-in-case-only"}.get(code, f"output.column-name-{code}")
    assert error.value.code == expected
    assert repr(names[-1]) in str(error.value)


# -- workbooks ---------------------------------------------------------------------------------------


def test_sheet_is_chosen_by_name_or_number(tmp_path):
    import xlsxwriter

    with xlsxwriter.Workbook(str(tmp_path / "t.xlsx")) as book:
        for name, value in (("one", 1), ("two", 2)):
            sheet = book.add_worksheet(name)
            sheet.write_string(0, 0, "v")
            sheet.write_number(1, 0, value)
    found = [read(tmp_path / "t.xlsx", **given)[0].to_pylist()[0]["v"]
             for given in ({}, {"sheet": 2}, {"sheet": "one"}, {"sheet": "two"})]  # fmt: skip
    assert found == [1, 2, 1, 2]
    for wrong in (3, "three"):
        with pytest.raises(TableError, match=r"has 2 sheets"):
            read(tmp_path / "t.xlsx", sheet=wrong)


def test_late_rows_of_another_type_are_not_lost(tmp_path):
    """Read values of another type after the first thousand rows.

    A reader that infers types from the first thousand rows turns all later values that do not fit into missing values.
    """
    import xlsxwriter

    with xlsxwriter.Workbook(str(tmp_path / "t.xlsx")) as book:
        sheet = book.add_worksheet()
        sheet.write_string(0, 0, "v")
        for row in range(1, 3000):
            sheet.write_number(row, 0, row)
        sheet.write_string(3000, 0, "late")
    found = read(tmp_path / "t.xlsx")[0].column("v").to_pylist()
    assert len(found) == 3000
    assert None not in found
    assert "late" in found


def test_no_cell_of_a_released_workbook_is_a_formula(tmp_path):
    write(tmp_path / "t.xlsx")
    with zipfile.ZipFile(tmp_path / "t.xlsx") as book:
        content = b"".join(book.read(name) for name in book.namelist())
    assert b"=flu" in content
    assert b"<f>" not in content


def test_formulas_are_read_as_their_stored_values(tmp_path):
    import xlsxwriter

    with xlsxwriter.Workbook(str(tmp_path / "t.xlsx")) as book:
        sheet = book.add_worksheet()
        sheet.write_string(0, 0, "v")
        sheet.write_formula(1, 0, '=HYPERLINK("file:///etc/passwd")', None, "seen")
    assert read(tmp_path / "t.xlsx")[0].column("v").to_pylist() == ["seen"]


def rebuilt(path, made, change):
    """Write a copy of a workbook with changed parts."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))


def test_two_distant_cells_do_not_take_all_memory(tmp_path):
    write(tmp_path / "t.xlsx", pa.table({"a": ["x"]}))
    far = b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    rebuilt(tmp_path / "t.xlsx", tmp_path / "far.xlsx", lambda name, text: text.replace(b"</sheetData>", far))
    with pytest.raises(TableError, match="ran out of memory or time"):
        read(tmp_path / "far.xlsx")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 4 << 20  # kilobytes


def test_cells_beyond_the_last_column_of_a_sheet_are_refused(tmp_path):
    write(tmp_path / "t.xlsx", pa.table({"a": ["x"]}))
    far = b'<row r="3"><c r="XFE3"><v>1</v></c></row></sheetData>'
    rebuilt(tmp_path / "t.xlsx", tmp_path / "wide.xlsx", lambda name, text: text.replace(b"</sheetData>", far))
    with pytest.raises(TableError, match="beyond column 16,384"):
        read(tmp_path / "wide.xlsx")


MILLION = 1_000_000


@pytest.mark.parametrize("way", ["counted", "named", "in one cell of many rows"])
def test_sheet_of_a_million_columns_is_refused_at_once(tmp_path, way):
    """Their names alone would take the reader hours."""
    write(tmp_path / "t.xlsx", pa.table({"a": ["x"]}))
    if way == "counted":
        rows = b"<row>" + b"<c><v>1</v></c>" * MILLION + b"</row>"
    elif way == "named":
        rows = b'<row r="3">' + b'<c r="BDWGN3"><v>1</v></c>' + b"</row>"
    else:
        rows = b"".join(b'<row r="%d"><c s="1" r="%s%d"/></row>' % (n, b"A" if n < 99_999 else b"ALLLL", n)
                        for n in range(3, 100_000))  # fmt: skip
    rebuilt(
        tmp_path / "t.xlsx",
        tmp_path / "wide.xlsx",
        lambda _, text: text.replace(b"</sheetData>", rows + b"</sheetData>"),
    )
    begun = resource.getrusage(resource.RUSAGE_CHILDREN)
    with pytest.raises(TableError, match="beyond column 16,384"):
        read(tmp_path / "wide.xlsx")
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime < 20


def test_cell_repeated_for_a_million_columns_is_refused(tmp_path):
    def sheet(columns):
        kinds = "".join(
            f' xmlns:{kind}="urn:oasis:names:tc:opendocument:xmlns:{kind}:1.0"' for kind in ("office", "table")
        )
        cell = (
            f'<table:table-cell office:value-type="float" office:value="1" table:number-columns-repeated="{columns}"/>'
        )
        rows = f"<table:table-row>{cell}</table:table-row>" * 3
        table = f'<office:spreadsheet><table:table table:name="S">{rows}</table:table></office:spreadsheet>'
        with zipfile.ZipFile(tmp_path / "t.ods", "w") as book:
            book.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
            book.writestr("META-INF/manifest.xml", "<manifest/>")
            book.writestr("content.xml", f"<office:document-content{kinds}><office:body>{table}</office:body>"
                                         "</office:document-content>")  # fmt: skip
        return tmp_path / "t.ods"

    assert read(sheet(3))[0].shape == (2, 3)
    with pytest.raises(TableError, match="beyond column 16,384"):
        read(sheet(MILLION))


def test_widest_sheet_is_accepted(tmp_path):
    from shoal.io.formats import excel

    cells = {f"n{number}": [f"<c r='XFE{number}'>", f'r="XFE{number}"'] for number in range(excel.MAX_COLUMNS)}
    excel.write(pa.table(cells), tmp_path / "t.xlsx", Writing())
    excel._check_width(tmp_path / "t.xlsx")
    rebuilt(tmp_path / "t.xlsx", tmp_path / "wide.xlsx", lambda _, text: text.replace(b"</row>", b"<c/></row>"))
    with pytest.raises(TableError, match="beyond column 16,384"):
        excel._check_width(tmp_path / "wide.xlsx")


def test_macros_links_and_entities_are_not_followed_or_copied(tmp_path):
    write(tmp_path / "t.xlsx")
    grown = b'<!DOCTYPE x [<!ENTITY a "boom"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    link = b'<externalLink><externalBook r:id="rId1"/></externalLink>'

    def hostile(name, text):
        return text.replace(b"?>", b"?>" + grown, 1) if name.endswith("sheet1.xml") else text

    rebuilt(tmp_path / "t.xlsx", tmp_path / "hostile.xlsm", hostile)
    with zipfile.ZipFile(tmp_path / "hostile.xlsm", "a") as book:
        book.writestr("xl/vbaProject.bin", b"Sub Auto_Open()")
        book.writestr("xl/externalLinks/externalLink1.xml", link)
    shoal.release(plan(tmp_path / "hostile.xlsm", tmp_path / "released.xlsx"))
    with zipfile.ZipFile(tmp_path / "released.xlsx") as book:
        assert not [name for name in book.namelist() if "vba" in name or "external" in name]
        assert b"boom" not in b"".join(book.read(name) for name in book.namelist())


def test_endless_reading_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(sandbox, "MIN_CPU_SECONDS", 2)
    with sqlite3.connect(tmp_path / "t.sqlite") as base:
        base.execute("CREATE VIEW v AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) "
                     "SELECT max(n) AS a FROM r")  # fmt: skip
    base.close()
    with pytest.raises(TableError, match="ran out of memory or time"):
        read(tmp_path / "t.sqlite")


def test_workbook_with_excessive_compression_is_refused(tmp_path, monkeypatch):
    from shoal.io.formats import excel

    monkeypatch.setattr(excel, "MAX_UNPACKED_BYTES", 1 << 20)
    write(tmp_path / "t.xlsx")
    rebuilt(tmp_path / "t.xlsx", tmp_path / "bomb.xlsx",
            lambda name, text: text + b" " * (2 << 20) if name.endswith("sheet1.xml") else text)  # fmt: skip
    with pytest.raises(TableError, match="larger than"):
        excel.load(tmp_path / "bomb.xlsx", Options())
    monkeypatch.setattr(excel, "MAX_UNPACKED_BYTES", 1 << 40)
    assert excel.load(tmp_path / "bomb.xlsx", Options())[0].num_rows == 40
    monkeypatch.setattr(excel, "ALWAYS_ALLOWED_BYTES", 1 << 20)
    with pytest.raises(TableError, match="200 times its size"):
        excel.load(tmp_path / "bomb.xlsx", Options())


def test_zip_archive_is_not_a_workbook(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.xlsx", "w") as archive:
        archive.writestr("secret.csv", "a,b\n")
    with pytest.raises(TableError, match=r"not a workbook. Unpack it first"):
        read(tmp_path / "t.xlsx")


@pytest.mark.parametrize("suffix", OTHERS)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_truncated_files_are_refused(tmp_path, suffix, share):
    write(tmp_path / f"t{suffix}")
    whole = (tmp_path / f"t{suffix}").read_bytes()
    (tmp_path / f"cut{suffix}").write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(TableError) as caught:
        read(tmp_path / f"cut{suffix}")
    assert "p39" not in str(caught.value)


# -- databases ---------------------------------------------------------------------------------------


def test_large_integers_in_a_mixed_column_are_not_rounded(tmp_path):
    with sqlite3.connect(tmp_path / "t.sqlite") as base:
        base.execute("CREATE TABLE t (exact, mixed)")
        base.executemany("INSERT INTO t VALUES (?, ?)", [(2**53 + 1, 1), (0.5, 0.5)])
    table, _ = read(tmp_path / "t.sqlite")
    assert sorted(table.column(0).to_pylist()) == ["0.5", str(2**53 + 1)]
    assert sorted(table.column(1).to_pylist()) == [0.5, 1.0]


@pytest.mark.parametrize("suffix", [".sqlite", ".duckdb"])
def test_database_of_several_tables_needs_a_table_name(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    with sqlite3.connect(path) if suffix == ".sqlite" else duckdb.connect(str(path)) as base:
        base.execute('CREATE TABLE "o""ne" (a INTEGER)')
        base.execute('INSERT INTO "o""ne" VALUES (1)')
        base.execute("CREATE TABLE two (b INTEGER)")
        base.commit()
    base.close()
    with pytest.raises(TableError, match="has 2 tables"):
        read(path)
    with pytest.raises(TableError, match="no table 'three'"):
        read(path, table="three")
    assert read(path, table='o"ne')[0].to_pylist() == [{"a": 1}]
    assert read(path, query='SELECT a + 1 AS c FROM "o""ne"')[0].to_pylist() == [{"c": 2}]
    with pytest.raises(TableError, match="Try it in"):
        read(path, query="SELEKT secret")
    with pytest.raises(OutputError, check=has_code("output.database-with-other-tables", tables=2)):
        shoal.release(plan(tmp_path / "x.csv", path, overwrite=True))


@pytest.mark.parametrize("query", ["DELETE FROM t", "DROP TABLE t", "ATTACH 'other.sqlite' AS o"])
def test_source_is_never_written_to(tmp_path, monkeypatch, query):
    monkeypatch.chdir(tmp_path)
    with sqlite3.connect(tmp_path / "t.sqlite") as base:
        base.execute("CREATE TABLE t AS SELECT 1 AS a")
    base.close()
    before = (tmp_path / "t.sqlite").read_bytes()
    with pytest.raises(TableError):
        read(tmp_path / "t.sqlite", query=query)
    assert (tmp_path / "t.sqlite").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["t.sqlite"]


def test_query_of_a_duckdb_file_reads_no_other_file(tmp_path):
    write(tmp_path / "t.duckdb")
    (tmp_path / "other.csv").write_text("secret\n1\n")
    with pytest.raises(TableError):
        read(tmp_path / "t.duckdb", query=f"SELECT * FROM read_csv('{tmp_path}/other.csv')")


def test_plan_names_the_table_in_a_database(tmp_path):
    write(tmp_path / "people.sav")
    shoal.release(plan(tmp_path / "people.sav", tmp_path / "r.duckdb", table="visits"))
    with duckdb.connect(str(tmp_path / "r.duckdb")) as base:
        assert base.sql("SELECT count(*) FROM visits").fetchall() == [(40,)]


def test_relation_is_returned_on_its_own_connection():
    with duckdb.connect() as mine:
        mine.register("people", PEOPLE)
        document = {key: value for key, value in plan("x", "y").items() if key in ("columns", "models")}
        released = shoal.anonymize(mine.sql("SELECT * FROM people"), document).table  # noqa: F841 - found by name
        mine.execute("CREATE TABLE kept AS SELECT * FROM released")
        assert mine.sql("SELECT count(*), count(DISTINCT age) FROM kept").fetchall() == [(40, 4)]


# -- standard output ---------------------------------------------------------------------------------


def test_release_to_standard_output_prints_only_the_table(tmp_path):
    write(tmp_path / "people.sav")
    document = plan(tmp_path / "people.sav", tmp_path / "r.csv")
    shoal.release(document)
    document["output"]["path"] = "-"
    command = [sys.executable, "-c", "import shoal.cli; shoal.cli.main()", "release", str(tmp_path / "plan.toml")]
    write_plan(tmp_path, **document)
    done = subprocess.run(command, capture_output=True)
    assert done.stdout == (tmp_path / "r.csv").read_bytes(), done.stderr
    document["models"][0]["k"] = 1000
    write_plan(tmp_path, **document)
    done = subprocess.run(command, capture_output=True)
    assert (done.returncode, done.stdout) == (3, b"")


def test_spark_names_the_engine_for_survey_files(tmp_path):
    from shoal.io.engines.spark_files import open_files

    write(tmp_path / "t.sav")
    with pytest.raises(TableError, check=has_code("engine.spark-format-not-read")):
        open_files(None, tmp_path / "t.sav", Source(tmp_path / "t.sav"))


def test_reader_respects_a_lower_cpu_limit(tmp_path):
    """Read a file with less CPU time left than a reader would get.

    A limit set by a scheduler, for example, applies to readers too.
    """
    with sqlite3.connect(tmp_path / "t.sqlite") as base:
        base.execute("CREATE TABLE t (a)")
        base.execute("INSERT INTO t VALUES (1)")
    base.close()
    code = (
        "import resource, sys, shoal; resource.setrlimit(resource.RLIMIT_CPU, (50, 50)); "
        "print(shoal.check(sys.argv[1], ['k-anonymity k=2'], quasi_identifiers=['a']).rows)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "t.sqlite")], capture_output=True, text=True)
    assert done.stdout == "1\n", done.stderr


def test_parquet_file_with_invalid_names_is_refused(tmp_path):
    damaged = tmp_path / "t.parquet"
    pq.write_table(pa.table({"abcdefgh": [1, 2]}), damaged, store_schema=False)
    damaged.write_bytes(damaged.read_bytes().replace(b"abcdefgh", b"abc\xff\xfegh!"))
    with pytest.raises(TableError, check=has_code("files.not-parquet")):
        common_schema([damaged])
