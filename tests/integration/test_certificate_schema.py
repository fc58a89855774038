"""Certificates as a typed tree, and their shipped JSON schema."""

from __future__ import annotations

import dataclasses
import json

import pyarrow as pa
import pytest

import shoal
from shoal.results import certificate_schema
from shoal.results.certificate import Certificate, PublishedFile, PublishedTable, to_plain
from tests.builders.conformance import METHODS, SCHEMA, table_of
from tests.builders.people import people_of, people_schema
from tests.reference.json_schema import holds

SHIPPED = json.loads(certificate_schema.FILE.read_text(encoding="utf-8"))
COLUMNS = {
    "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}},
    "illness": {
        "role": "sensitive", "categories": [["HIV"], ["flu", "cold"]], "category_names": ["grave", "light"],
        "order": ["cold", "flu", "HIV"], "exact": True, "hierarchy": {"tree": {"viral": ["HIV", "flu", "cold"]}},
        "harmless": ["cold"],
    },
}  # fmt: skip
TABLE = pa.table({"age": [21, 22, 31, 32, 33], "illness": ["flu", "HIV", "cold", "HIV", "flu"]})


def releases():
    """Yield releases with all kinds of entries in their certificates."""
    for name in ("full-domain", "mdav", "local-suppression"):
        models = (shoal.models.KAnonymity(3), shoal.models.PSensitive(2))
        yield shoal.anonymize(table_of(120, 3), shoal.Plan(SCHEMA, models, METHODS[name], seed=3))
    models = (shoal.models.KAnonymity(4), shoal.models.PSensitive(2))
    yield shoal.anonymize(people_of(150), shoal.Plan(people_schema(), models, METHODS["mondrian"]))
    known = [{"name": "k-anonymity", "k": 2, "known": 1}]
    yield shoal.anonymize(TABLE, {"columns": COLUMNS, "models": known, "method": "hidden-cells"})
    plan = {"columns": COLUMNS, "models": ["k-anonymity k=2"], "recipient": {"kind": "public"}}
    yield shoal.anonymize(TABLE, plan)
    categories = {**COLUMNS, "illness": {**COLUMNS["illness"], "publish": "categories", "harmless": []}}
    yield shoal.anonymize(TABLE, {"columns": categories, "models": ["k-anonymity k=2"]})


def test_shipped_schema_is_current():
    assert certificate_schema.certificate_schema() == SHIPPED, "run: python -m shoal.results.certificate_schema"


def test_certificates_follow_the_schema_and_come_back():
    for release in releases():
        text = release.certificate.to_json()
        content = json.loads(text)
        assert holds(SHIPPED, content, SHIPPED)
        read = Certificate.from_dict(content)
        assert read == release.certificate
        assert read.to_json() == text
        assert release.certificate.to_dict() == content


def test_typed_fields_and_mapping_agree():
    certificate = next(releases()).certificate
    assert certificate.models[0].effective["k"] == certificate["models"][0]["effective"]["k"]
    assert certificate.plan.columns["age"].role == certificate["plan"]["columns"]["age"]["role"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        certificate.groups = 1


def test_published_files_and_tables():
    certificate = next(releases()).certificate
    file = PublishedFile(name="t/r.csv", bytes=3, sha256="0" * 64)
    table = PublishedTable(table="t", columns=2, rows=3, content_sha256="0" * 64)
    for changed in (
        dataclasses.replace(certificate, output=file, objects=(file,)),
        dataclasses.replace(certificate, output=table),
    ):
        content = json.loads(changed.to_json())
        assert holds(SHIPPED, content, SHIPPED)
        assert Certificate.from_dict(content) == changed


@pytest.mark.parametrize(
    "change",
    [
        {"released": "5"}, {"models": None}, {"software": {"name": "shoal"}}, {"folded": {"a": "b"}},
        {"models": [{"name": "k-anonymity", "parameters": {}, "holds": 1, "effective": {}}]},
    ],
)  # fmt: skip
def test_other_values_are_refused(change):
    content = {**next(releases()).certificate.to_dict(), **change}
    assert not holds(SHIPPED, content, SHIPPED)
    with pytest.raises(ValueError, match="validation error"):
        Certificate.from_dict(content)


def test_unknown_keys_are_ignored_but_not_in_the_schema():
    certificate = next(releases()).certificate
    content = {**certificate.to_dict(), "later": 1, "former": {"rows": 5}}
    assert Certificate.from_dict(content) == certificate
    assert not Certificate.from_dict(content).former
    assert not holds(SHIPPED, content, SHIPPED)


def test_dry_run_has_no_certificate():
    with pytest.raises(ValueError, match="dry run"):
        _ = shoal.Release(None, None).certificate


def test_defaults_are_left_out():
    assert to_plain({"a": (PublishedFile(name="x", bytes=1, sha256="y"),)}) == {
        "a": [{"name": "x", "bytes": 1, "sha256": "y"}]
    }
