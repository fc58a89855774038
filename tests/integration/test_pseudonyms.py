"""Keyed pseudonyms: deterministic, never without a key, key not leaked.

The same key gives the same pseudonyms, and the release has no trace of the key.
"""

from __future__ import annotations

import csv
import hashlib
import hmac

import pytest

import shoal
from shoal.errors import PlanError
from shoal.schema import Column, Role
from shoal.table.pseudonyms import KEY_VARIABLE, pseudonym, read_key
from tests.builders.errors import has_code
from tests.builders.plans import write_plan


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    (tmp_path / "secret").mkdir()
    key = tmp_path / "secret" / "key"
    key.write_bytes(b"0123456789abcdef0123456789abcdef")
    key.chmod(0o600)
    lines = "".join(f"{name},{20 + n % 2},x\n" for n, name in enumerate(["Ann", "Bob", "Fay", "", "Eve", "Dan"]))
    (tmp_path / "source.csv").write_text("name,age,other\n" + lines)
    return tmp_path


def write_name_plan(folder, *, method=None, pseudonym=True, **output):
    """Write a plan that publishes the names as pseudonyms, or not at all."""
    return write_plan(
        folder,
        columns={
            "name": {"role": "identifier", "pseudonym": pseudonym},
            "age": "quasi-identifier",
            "other": "other",
        },
        models="k-anonymity k=3",
        method=method,
        output={"path": "released.csv", "overwrite": True, **output},
    )


def names_in(folder):
    with (folder / "released.csv").open(newline="") as file:
        return [row["name"] for row in csv.DictReader(file)]


def test_pseudonym_definition():
    key = b"k" * 32
    expected = hmac.new(key, b"4:nameRick", hashlib.sha256).hexdigest()[:32]
    assert pseudonym(key, "name", "Rick") == expected
    assert pseudonym(key, "nameR", "ick") != expected
    assert pseudonym(b"l" * 32, "name", "Rick") != expected


@pytest.mark.parametrize("method", [None, "mondrian"])
def test_identifiers_become_pseudonyms(folder, method):
    plan = write_name_plan(folder, method=method, pseudonym_key="secret/key")
    release = shoal.release(plan)
    published = names_in(folder)
    key = (folder / "secret" / "key").read_bytes()
    made = [pseudonym(key, "name", name) for name in ("Ann", "Fay", "Bob", "Dan", "Eve")]
    assert sorted(published) == sorted([*made, ""])
    assert release.figures["pseudonyms"] == ["name"]
    for name in ("released.csv", "released.certificate.json", "released.report.html"):
        text = (folder / name).read_text()
        assert "secret" not in text.replace("secret key", "")
        assert "0123456789abcdef" not in text
        assert "Ann" not in text
    assert "pseudonym" in (folder / "released.report.html").read_text()
    first = (folder / "released.csv").read_bytes()
    shoal.release(plan)
    assert (folder / "released.csv").read_bytes() == first
    (folder / "secret" / "key").write_bytes(b"another key, of other random bytes")
    shoal.release(plan)
    assert (folder / "released.csv").read_bytes() != first


def test_key_from_the_environment(folder, monkeypatch):
    with pytest.raises(PlanError, match="Pseudonyms need a key"):
        shoal.release(write_name_plan(folder))
    monkeypatch.setenv(KEY_VARIABLE, str(folder / "secret" / "key"))
    shoal.release(write_name_plan(folder))
    assert len(names_in(folder)) == 6


def test_wrong_keys(folder):
    key = folder / "secret" / "key"
    key.chmod(0o644)
    with pytest.raises(PlanError, match="owner only"):
        read_key(key)
    key.chmod(0o600)
    key.write_bytes(b"short")
    with pytest.raises(PlanError, check=has_code("pseudonyms.key-too-short", least=16, found=5)):
        read_key(key)
    with pytest.raises(PlanError, match="cannot be read"):
        read_key(folder / "absent")
    key.write_bytes(b"k" * 32)
    with pytest.raises(PlanError, match="folder of the release"):
        read_key(key, folder / "secret" / "released.csv")
    with pytest.raises(PlanError, match="folder of the release"):
        read_key(key, folder / "secret")  # a release of several parts is a folder
    assert read_key(key, folder / "released.csv") == b"k" * 32


def test_only_identifiers_have_pseudonyms():
    with pytest.raises(PlanError, match="Only an identifier"):
        Column(Role.OTHER, pseudonym=True)


def test_without_pseudonyms_identifiers_are_dropped(folder):
    release = shoal.release(write_name_plan(folder, pseudonym=False))
    assert "name" not in (folder / "released.csv").read_text()
    assert "pseudonyms" not in release.figures
