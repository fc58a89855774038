"""``shoal verify``, ``shoal approve`` and signatures, from files alone."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import shutil
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from tools.fuzz.harness import call

import shoal
from shoal.audit.verify_release import plan_of_certificate
from shoal.errors import InputError
from shoal.io.publish import sha256_of, size_of
from shoal.results import signatures
from shoal.results.saved_table import sorted_rows_digest
from tests.builders.command import run_in_process
from tests.builders.plans import write_plan

PEOPLE = [(age, zip_code, sex, ill) for age in (21, 24, 33, 38) for zip_code in ("1011", "1012") for sex in "mf"
          for ill in ("flu", "gout", "HIV")]  # fmt: skip
COLUMNS = {"age": "quasi-identifier", "zip": "quasi-identifier", "sex": "quasi-identifier", "ill": "sensitive"}
DOCUMENT = Path(__file__).parents[2] / "docs" / "verify.md"


def write_people(folder, rows=PEOPLE, header="age,zip,sex,ill"):
    (folder / "people.csv").write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")


def make_release(
    folder, models="k-anonymity k=4", method="mondrian", columns=COLUMNS, output="out.csv", output_options=None
):
    plan = write_plan(
        folder, columns=columns, models=models, method=method, source="people.csv",
        output={"path": output, **(output_options or {})}, name="plan",
    )  # fmt: skip
    shoal.release(plan)
    return folder / output


@pytest.fixture
def released(tmp_path):
    write_people(tmp_path)
    return make_release(tmp_path, ["k-anonymity k=4", "p-sensitive p=2"])


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    return run_in_process(monkeypatch, capsys, tmp_path)


def outcomes(found):
    return {finding.name: finding.outcome for finding in found.findings}


def rewrite(path, change):
    """Change the certificate of a release."""
    certificate = path.with_name(f"{path.stem}.certificate.json")
    content = json.loads(certificate.read_text())
    change(content)
    certificate.write_text(json.dumps(content))


def test_release_is_verified_by_table_or_certificate(released, command):
    for name in ("out.csv", "out.certificate.json"):
        found = shoal.verify(released.with_name(name))
        assert outcomes(found) == {"digest": "holds", "promise": "holds", "figures": "holds", "report": "holds"}
        assert (found.holds, found.complete, found.release) == (True, True, "out.csv")
        assert any("left out" in sentence for sentence in found.not_recomputed)
    status, out, err = command("verify", "out.csv", "--json")
    assert (status, err) == (0, "")
    answer = json.loads(out)
    assert (answer["holds"], answer["complete"], [model["holds"] for model in answer["models"]]) == (
        True,
        True,
        [True] * 2,
    )
    status, out, _ = command("verify", "out.csv")
    assert status == 0
    assert "Not to be told from the files" in out


def test_changed_table_is_noticed(released, command):
    released.write_text(released.read_text().replace("flu", "flü", 1))
    assert outcomes(shoal.verify(released)) == {"digest": "fails"}
    assert command("verify", "out.csv")[0] == 1


def test_changed_digest_does_not_hide_a_changed_table(released):
    """A row that is alone, and a certificate with the new digest."""
    released.write_text(released.read_text() + "99,9999,m,flu\n")
    rewrite(released, lambda c: c["output"].update(bytes=size_of(released), sha256=sha256_of(released)))
    assert outcomes(shoal.verify(released)) == {"digest": "holds", "promise": "fails", "figures": "fails"}


@pytest.mark.parametrize("figure", ["released", "groups", "smallest_group"])
def test_changed_figure_is_noticed(released, figure):
    rewrite(released, lambda c: c.update({figure: c[figure] + 1}))
    found = shoal.verify(released)
    assert outcomes(found) == {"digest": "holds", "promise": "holds", "figures": "fails"}
    assert not found.holds


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.update(models=[{**c["models"][0], "parameters": {"k": 50}, "effective": {}}, c["models"][1]]),
        lambda c: c.update(models=[]),
        lambda c: c["models"].append({"name": "perfect", "parameters": {}, "holds": True, "effective": {}}),
        lambda c: c["models"][0].update(holds=False),
        lambda c: c["risk"].update(highest=0.001),
        lambda c: c.update(left_out={"at_most": 0.0}),
        lambda c: c.update(nothing_learned=["age"]),
        lambda c: c.update(hidden_columns=["age"]),
        lambda c: c.update(people={"released": 1000, "smallest_group": 50}),
        lambda c: c.update(intruder="nobody"),
        lambda c: c["method"].update(name="full-domain"),
        lambda c: c["plan"].update(method={"name": "unheard-of"}),
        lambda c: [c.update(guarantee={"p": 0.1}), c.pop("risk")],
        lambda c: c["plan"]["columns"].pop("sex"),
    ],
)
def test_every_statement_of_a_certificate_is_recomputed(released, change):
    """A certificate follows from table and plan, and is made again."""
    rewrite(released, change)
    assert outcomes(shoal.verify(released))["figures"] == "fails"


def _keys_of_values(node, path=()):
    """Yield the keys of every value of a document, with the value."""
    yield path, node
    for key, part in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from _keys_of_values(part, (*path, key))


def _changed(value):
    """Change a value; a list or mapping gets another statement."""
    if isinstance(value, dict):
        return {**value, "approved": True}
    if isinstance(value, list):
        return [*value, "another"]
    return not value if isinstance(value, bool) else f"{value} more" if isinstance(value, str) else value + 1


SECRET = {"role": "sensitive", "harmless": ["gout"], "categories": [["HIV"], ["flu", "gout"]]}


@pytest.mark.parametrize(
    ("models", "method", "columns", "more"),
    [
        (["k-anonymity k=4", "p-sensitive p=2"], "full-domain", {**COLUMNS, "ill": SECRET}, {}),
        ("k-anonymity k=4 known=2", "hidden-cells", COLUMNS, {"recipient": {"kind": "public"}}),
        ([], "mondrian", COLUMNS, {"scenarios": [{"name": "neighbour", "columns": ["age", "sex"], "k": 3}]}),
        ("k-anonymity k=2", "mondrian", {**COLUMNS, "zip": "person"}, {}),
    ],
    ids=["harmless", "known", "scenarios", "people"],
)
def test_no_value_of_a_certificate_can_be_changed(tmp_path, models, method, columns, more):
    """Every value is changed in turn, and statements are added everywhere."""
    write_people(tmp_path)
    plan = {
        "source": {"path": tmp_path / "people.csv"}, "output": {"path": tmp_path / "out.csv", "report": False},
        "columns": columns, "models": models, "method": method, **more,
    }  # fmt: skip
    shoal.release(plan)
    path = tmp_path / "out.csv"
    assert shoal.verify(path).holds
    certificate = tmp_path / "out.certificate.json"
    genuine = json.loads(certificate.read_text())
    unnoticed = []
    for keys, value in _keys_of_values(genuine):
        forged = {"": json.loads(json.dumps(genuine))}
        *folders, last = ("", *keys)
        parent = forged
        for key in folders:
            parent = parent[key]
        parent[last] = _changed(value)
        certificate.write_text(json.dumps(forged[""]))
        with contextlib.suppress(InputError):  # an unusable plan
            if shoal.verify(path).holds:
                unnoticed.append(".".join(map(str, keys)))
    assert [keys for keys in unnoticed if not keys.startswith(("software", "output.name"))] == []


def test_changed_report_is_noticed(released):
    report = released.with_name("out.report.html")
    report.write_text(report.read_text().replace("sex", "secs", 1))
    assert outcomes(shoal.verify(released))["report"] == "fails"
    report.unlink()
    assert shoal.verify(released).complete


def test_report_of_another_version_is_not_checked(released):
    rewrite(released, lambda c: c["software"].update(version="0.0.1"))
    found = shoal.verify(released)
    assert outcomes(found)["report"] == "not checked"
    assert found.holds


def test_certificate_with_a_repeated_key_is_refused(released, command):
    """Programs differ in which of two values they take."""
    certificate = released.with_name("out.certificate.json")
    certificate.write_text(certificate.read_text().replace("{", '{"smallest_group": 900,', 1))
    assert command("verify", "out.csv")[0] == 2


def test_stronger_promise_than_the_table_holds_is_noticed(released):
    rewrite(released, lambda c: c["plan"]["models"][0].update(k=500))
    assert outcomes(shoal.verify(released))["promise"] == "fails"


def test_certificate_without_digest_fails(released):
    rewrite(released, lambda c: c["output"].pop("sha256"))
    assert outcomes(shoal.verify(released)) == {"digest": "fails"}


@pytest.mark.parametrize("content", ["", "[]", "{", '{"plan": 5}', "[" * 100_000])
def test_files_that_are_no_certificate(released, command, content):
    released.with_name("out.certificate.json").write_text(content)
    assert command("verify", "out.csv")[0] == 2


@pytest.mark.parametrize("name", ["../people.csv", "/etc/hostname", "..", "-", "", 5, None])
def test_certificate_leads_to_no_other_folder(released, command, name):
    rewrite(released, lambda c: c["output"].update(name=name))
    assert command("verify", "out.certificate.json")[0] == 2


def test_missing_table_or_certificate(released, command):
    assert command("verify", "nothing.csv")[0] == 2
    released.unlink()
    assert command("verify", "out.certificate.json")[0] == 2


def test_folder_of_parts(released):
    header, *rows = released.read_text().splitlines()
    folder = released.with_name("parts.csv")
    folder.mkdir()
    for number in range(2):
        (folder / f"part-{number}.csv").write_text("\n".join([header, *rows[number::2]]) + "\n")
    shutil.copyfile(released.with_name("out.certificate.json"), released.with_name("parts.certificate.json"))
    output = {"name": "parts.csv", "bytes": size_of(folder), "sha256": sha256_of(folder)}
    rewrite(folder, lambda c: c.update(output=output))
    assert outcomes(shoal.verify(folder)) == {"digest": "holds", "promise": "holds", "figures": "holds"}
    (folder / "part-2.csv").write_text(header + "\n")
    assert outcomes(shoal.verify(folder)) == {"digest": "fails"}


def test_release_in_parts_without_figures_of_all_rows(released):
    """Their certificate says less, and their report draws less."""
    folder = released.with_name("parts.csv")
    folder.mkdir()
    shutil.copyfile(released, folder / "part-0.csv")
    for kind in ("certificate.json", "report.html"):
        shutil.copyfile(released.with_name(f"out.{kind}"), released.with_name(f"parts.{kind}"))
    output = {"name": "parts.csv", "bytes": size_of(folder), "sha256": sha256_of(folder)}
    rewrite(folder, lambda c: [c.update(output=output), c.pop("nothing_learned")])
    assert outcomes(shoal.verify(folder)) == {
        "digest": "holds", "promise": "holds", "figures": "holds", "report": "not checked",
    }  # fmt: skip
    rewrite(folder, lambda c: c.update(nothing_learned=["age"]))
    assert outcomes(shoal.verify(folder))["figures"] == "fails"


def test_promise_about_people_is_named(tmp_path, command):
    """A release has no people: rows are checked, and the rest is named."""
    write_people(tmp_path, [(f"p{n // 2}", *row) for n, row in enumerate(PEOPLE)], "who,age,zip,sex,ill")
    path = make_release(tmp_path, columns={"who": "person", **COLUMNS})
    found = shoal.verify(path)
    assert found.holds
    assert not found.complete
    assert any("people" in sentence for sentence in found.not_recomputed)
    assert command("verify", "out.csv")[0] == 0
    assert command("verify", "out.csv", "--require-complete")[0] == 1


@pytest.mark.parametrize(
    ("models", "method", "output"),
    [
        ("k-anonymity k=4", "full-domain", "out.parquet"),
        (["k-anonymity k=4", "t-closeness t=0.6"], "mondrian", "out.csv"),
        ("k-anonymity k=4 known=2 reading=loose", "hidden-cells", "out.csv"),
        ("k-anonymity k=4", "local-suppression", "out.csv"),
        ("k-anonymity k=4", "mdav", "out.csv"),
        ("k-anonymity k=4", "top-down", "out.sqlite"),
        ("k-anonymity k=4", "refine", "out.duckdb"),
        ("k-anonymity k=4", "anti-unification", "out.csv"),
    ],
)
def test_releases_of_all_kinds_are_verified(tmp_path, models, method, output):
    write_people(tmp_path)
    path = make_release(tmp_path, models, method, output=output)
    found = shoal.verify(path)
    assert found.holds, found
    assert "fails" not in outcomes(found).values()
    assert outcomes(found)["digest"] == "holds"


def test_overlapping_patterns_are_verified_by_their_supports(tmp_path):
    """Each row is a pattern: rows are no crowd, and records are not there."""
    write_people(tmp_path)
    columns = {**COLUMNS, "ill": "drop"}
    path = make_release(tmp_path, method={"name": "anti-unification", "patterns": "overlapping"}, columns=columns)
    found = shoal.verify(path)
    assert outcomes(found) == {"digest": "holds", "promise": "not checked", "figures": "holds", "report": "holds"}
    assert (found.holds, found.complete) == (True, False)
    rewrite(path, lambda c: c["models"][0]["effective"].update(k=900))
    assert outcomes(shoal.verify(path))["figures"] == "fails"


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["plan"].update(models=["k-anonymity k=nonsense"]),
        lambda c: c["plan"].update(models=[{"name": "no-such-model"}]),
        lambda c: [c["plan"].update(models=[]), c.update(models=[])],
        lambda c: c["plan"].update(columns={}),
        lambda c: c["plan"].update(columns=5),
        lambda c: c["plan"]["columns"].update(age={"role": "no-such-role"}),
        lambda c: c["plan"].pop("columns"),
        lambda c: c["plan"].update(models=[*c["plan"]["models"], {"name": "p-sensitive", "p": 2, "column": "else"}]),
    ],
)
def test_certificate_with_an_unusable_plan(tmp_path, change):
    write_people(tmp_path)
    path = make_release(tmp_path)
    rewrite(path, change)
    with pytest.raises(InputError) as error:
        shoal.verify(path)
    assert error.value.code == "release.plan-of-certificate-not-usable"
    done = call(["verify", str(path)])
    assert (done.status, done.out) == (2, "")
    assert "the plan in it cannot be used" in " ".join(done.err.split())


@pytest.mark.parametrize("judges", ["the model and the gate", "the model and the independent verification"])
def test_certificate_of_an_earlier_version_has_other_words(tmp_path, judges):
    write_people(tmp_path)
    path = make_release(tmp_path)
    rewrite(path, lambda c: [model.update(judged_by=judges) for model in c["models"]])
    assert outcomes(shoal.verify(path))["figures"] == "holds"


def test_apostrophes_for_spreadsheets_leave_the_report_unchecked(tmp_path):
    """Nothing in the files says that apostrophes were added."""
    write_people(tmp_path, [(*row[:3], "=" + row[3]) for row in PEOPLE])
    found = shoal.verify(make_release(tmp_path, output_options={"spreadsheet_safe": True}))
    assert outcomes(found) == {"digest": "holds", "promise": "holds", "figures": "holds", "report": "not checked"}
    assert found.complete


def test_plan_of_a_certificate_needs_no_files(tmp_path):
    """Files that only the maker has are named, not opened."""
    content = {"plan": {
        "columns": {"age": {"role": "quasi-identifier", "hierarchy": {"csv": "gone.csv"}},
                    "ill": {"role": "sensitive", "hierarchy": {"csv": "gone.csv"}}},
        "models": [{"name": "k-anonymity", "k": 2}], "method": {"name": "levels", "levels": "gone.json"},
        "source": {"path": "gone.csv"}}}  # fmt: skip
    plan, notes = plan_of_certificate(content)
    assert [model.name for model in plan.models] == ["k-anonymity"]
    assert "'ill'" in notes[0]


def test_digest_of_rows_in_any_order():
    """The documented lines, hashed."""
    table = pa.table({
        "a": ["ü", None, "b"], "n": [2, 1, None],
        "t": pa.array([0, 0, None], pa.timestamp("us", "Europe/Vienna")),
    })  # fmt: skip
    lines = ['["a","n","t"]', '["b",null,null]', '["ü","2","1970-01-01 00:00:00.000000Z"]',
             '[null,"1","1970-01-01 00:00:00.000000Z"]']  # fmt: skip
    expected = hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
    assert sorted_rows_digest(table) == sorted_rows_digest(table.take([2, 0, 1])) == expected
    assert sorted_rows_digest(table.slice(1)) != expected


# -- signatures --------------------------------------------------------------------------------------

cryptography = pytest.importorskip("cryptography", reason="signatures need shoal[signing]")

RFC_8032 = [
    # secret key, public key, message, signature: section 7.1, tests 1 to 3
    ("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
     "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"),
    ("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
     "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"),
    ("c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
     "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
     "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"),
]  # fmt: skip


def key_of(secret):
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(secret))
    return signatures.SigningKey(private, private.public_key().public_bytes_raw().hex())


@pytest.mark.parametrize(("secret", "public", "message", "signature"), RFC_8032)
def test_primitive_has_the_vectors_of_rfc_8032(secret, public, message, signature):
    key = key_of(secret)
    assert key.public == public
    assert key.private.sign(bytes.fromhex(message)).hex() == signature
    made = bytes.fromhex(public), bytes.fromhex(message), bytes.fromhex(signature)
    assert signatures.verify_ed25519(*made)
    assert not signatures.verify_ed25519(made[0], made[1] + b"x", made[2])
    assert not signatures.verify_ed25519(made[0], made[1], made[2][:-1])


def test_vectors_of_the_documentation():
    """The documented statement gives the documented bytes and signature."""
    text = DOCUMENT.read_text()
    content = json.loads(re.search(r"```json\n(.*?)```", text, re.S)[1])
    (signed,) = re.findall(r"^    (\{\"date\".*\})$", text, re.M)
    statement = signatures.Statement(**{key: value for key, value in content["statement"].items() if key != "format"})
    assert statement.signed_bytes() == signed.encode()
    key = key_of(RFC_8032[0][0])
    assert content["statement"]["key"] == key.public
    assert key.private.sign(signed.encode()).hex() == content["signature"]
    assert RFC_8032[0][0] in text


@pytest.fixture
def keys(tmp_path):
    """Private keys of a maker and an approver, and a file that trusts both."""
    folder = tmp_path / "keys"
    folder.mkdir()
    for name in ("maker", "approver"):
        shoal.create_signing_key(folder / name, name.title())
    (folder / "trust").write_text(
        "# both\n\n" + "".join((folder / f"{n}.pub").read_text() for n in ("maker", "approver"))
    )
    return folder


@pytest.fixture
def signed(tmp_path, keys):
    write_people(tmp_path)
    plan = write_plan(
        tmp_path, columns=COLUMNS, models="k-anonymity k=4", method="mondrian", source="people.csv", output="out.csv",
        name="plan",
    )  # fmt: skip
    shoal.release(plan, sign=keys / "maker")
    return tmp_path / "out.csv"


def test_private_key_is_readable_by_its_owner_alone(keys, command):
    assert (keys / "maker").stat().st_mode & 0o777 == 0o600
    assert re.fullmatch(r"ed25519 [0-9a-f]{64} Maker\n", (keys / "maker.pub").read_text())
    before = (keys / "maker").read_bytes()
    assert command("signing-key", "create", str(keys / "maker"))[0] == 2
    assert (keys / "maker").read_bytes() == before
    status, out, _ = command("signing-key", "create", str(keys / "third"), "--name", "Third", "--json")
    assert (status, json.loads(out)["public_key"]) == (0, (keys / "third.pub").read_text().split()[1])
    assert "PRIVATE" not in out
    assert command("signing-key", "create", str(keys / "fourth"), "--name", "two\nlines")[0] == 2


def test_signed_and_approved_release(signed, keys, command):
    trust = ("--trust", "keys/trust")
    assert command("verify", "out.csv", *trust)[0] == 0
    assert command("verify", "out.csv", *trust, "--require-approval")[0] == 1
    assert command("verify", "out.csv", "--require-approval")[0] == 2
    status, out, _ = command("approve", "out.csv", "--sign", "keys/approver", *trust, "--json")
    assert (status, json.loads(out)["signature"]) == (0, "out.approver.signature.json")
    found = shoal.verify(signed, trust=keys / "trust", require_approval=True)
    assert (found.holds, found.complete) == (True, True)
    assert [(one.role, one.owner, one.trusted) for one in found.signatures] == [
        ("maker", "Maker", True),
        ("approver", "Approver", True),
    ]
    content = json.loads((signed.parent / "out.maker.signature.json").read_text())
    assert set(content["statement"]["files"]) == {"out.csv", "out.certificate.json", "out.report.html"}
    assert str(signed.parent) not in json.dumps(content)


def test_unknown_keys(signed, keys, command):
    """Keys that are trusted come from outside of the release."""
    status, out, _ = command("verify", "out.csv")
    assert status == 0
    assert "Signed by an unknown key" in out
    (keys / "other").write_text((keys / "approver.pub").read_text())
    found = shoal.verify(signed, trust=keys / "other")
    assert outcomes(found)["maker's signature"] == "fails"
    assert command("verify", "out.csv", "--trust", "keys/other")[0] == 1
    for text in ("", "# nothing\n", "ed25519 abc Anna\n", "rsa " + "a" * 64 + "\n"):
        (keys / "other").write_text(text)
        assert command("verify", "out.csv", "--trust", "keys/other")[0] == 2


def test_certificate_of_another_name_has_no_signature(signed, keys, command):
    """Signatures are about the certificate of the table's name."""
    content = json.loads(signed.with_name("out.certificate.json").read_text())
    content["review"] = {"status": "reviewed"}
    signed.with_name("forged.certificate.json").write_text(json.dumps(content))
    status, _, err = command("verify", "forged.certificate.json", "--trust", "keys/trust")
    assert status == 2
    assert "'out.certificate.json'" in err


def test_release_without_a_signature_is_not_trusted(released, keys, command):
    found = shoal.verify(released, trust=keys / "trust")
    assert outcomes(found)["maker's signature"] == "fails"
    assert command("approve", "out.csv", "--sign", "keys/approver")[0] == 1
    assert not released.with_name("out.approver.signature.json").exists()


def test_maker_and_approver_differ_by_key(signed, keys, command):
    assert command("approve", "out.csv", "--sign", "keys/maker")[0] == 1
    assert not signed.with_name("out.approver.signature.json").exists()
    # a signature made without the command is refused by whoever verifies
    signatures.sign(signed, "approver", signatures.read_signing_key(keys / "maker", signed))
    found = shoal.verify(signed, trust=keys / "trust")
    assert outcomes(found)["approver's signature"] == "fails"
    assert outcomes(found)["maker's signature"] == "holds"


def test_failing_release_is_not_approved(signed, keys, command):
    signed.write_text(signed.read_text() + "99,9999,m,flu\n")
    assert command("approve", "out.csv", "--sign", "keys/approver")[0] == 1
    assert not signed.with_name("out.approver.signature.json").exists()


def change_statement(content, **fields):
    content["statement"].update(fields)


@pytest.mark.parametrize(
    "change",
    [
        lambda c: change_statement(c, date="2020-01-01"),
        lambda c: change_statement(c, date="yesterday"),
        lambda c: change_statement(c, role="approver"),
        lambda c: change_statement(c, key="0" * 64),
        lambda c: change_statement(c, key="xyz"),
        lambda c: change_statement(c, format="shoal signature 2"),
        lambda c: change_statement(c, more="x"),
        lambda c: change_statement(c, files={}),
        lambda c: c["statement"]["files"].pop("out.report.html"),
        lambda c: c["statement"]["files"]["out.csv"].update(bytes=1),
        lambda c: c["statement"]["files"].update({"../x": {"bytes": 1, "sha256": "0"}}),
        lambda c: c.update(signature=c["signature"][::-1]),
        lambda c: c.update(signature="no"),
        lambda c: c.pop("signature"),
    ],
)
def test_changed_statements_fail(signed, keys, change):
    path = signed.with_name("out.maker.signature.json")
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    for trust in (None, keys / "trust"):
        assert outcomes(shoal.verify(signed, trust=trust))["maker's signature"] == "fails"


def test_spacing_of_a_signature_file_does_not_matter(signed, keys):
    path = signed.with_name("out.maker.signature.json")
    content = json.loads(path.read_text())
    files = dict(reversed(content["statement"]["files"].items()))
    path.write_text(
        json.dumps({"signature": content["signature"], "statement": {**content["statement"], "files": files}})
    )
    assert shoal.verify(signed, trust=keys / "trust").holds
    path.write_text(path.read_text().replace('"role": "maker"', '"role": "approver", "role": "maker"'))
    assert not shoal.verify(signed, trust=keys / "trust").holds  # a key twice: readers would differ


def test_changed_document_invalidates_signatures(signed, keys):
    with signed.with_name("out.report.html").open("a") as report:
        report.write("<!-- -->")
    assert outcomes(shoal.verify(signed, trust=keys / "trust"))["maker's signature"] == "fails"


def test_new_release_removes_old_signatures(signed, keys):
    shoal.approve(signed, keys / "approver")
    shoal.release(signed.with_name("plan.toml"), overwrite=True)
    assert not list(signed.parent.glob("*.signature.json"))


@pytest.mark.parametrize("fault", ["mode", "folder", "kind", "missing", "public"])
def test_unusable_signing_keys_are_refused_before_any_work(tmp_path, keys, command, fault):
    write_people(tmp_path)
    plan = {"columns": COLUMNS, "models": "k-anonymity k=4", "method": "mondrian", "source": "people.csv"}
    write_plan(tmp_path, **plan, output="out.csv", name="plan")
    key = keys / "maker"
    if fault == "mode":
        key.chmod(0o644)
    elif fault == "folder":
        key = Path(shutil.copy2(key, tmp_path / "maker"))
    elif fault == "kind":
        key.write_text("no key")
    elif fault == "public":
        key = keys / "maker.pub"
        key.chmod(0o600)
    else:
        key.unlink()
    status, out, err = command("release", "plan.toml", "--sign", str(key))
    assert status == 2
    assert not (tmp_path / "out.csv").exists()
    assert "PRIVATE" not in out + err


def test_private_keys_are_refused_in_the_folder_of_a_release(released):
    with pytest.raises(shoal.errors.OutputError, match="folder of a release"):
        shoal.create_signing_key(released.with_name("key"))
    assert not released.with_name("key").exists()


def test_only_files_are_signed(tmp_path, keys, command):
    write_people(tmp_path)
    write_plan(tmp_path, columns=COLUMNS, models="k-anonymity k=4", method="mondrian", source="people.csv", output="-",
               name="plan")  # fmt: skip
    assert command("release", "plan.toml", "--sign", "keys/maker")[0] == 2


def test_without_cryptography_signatures_are_not_checked(signed, keys, command, monkeypatch):
    monkeypatch.setattr(signatures, "find_spec", lambda _: None)
    found = shoal.verify(signed)
    assert outcomes(found)["maker's signature"] == "not checked"
    assert found.holds
    assert not found.complete
    status, _, err = command("verify", "out.csv", "--trust", "keys/trust")
    assert status == 2
    assert "ignatures were not checked" in " ".join(err.split())
    assert command("approve", "out.csv", "--sign", "keys/approver")[0] == 2
    with pytest.raises(InputError, match="install"):
        shoal.create_signing_key(keys / "new")


def test_date_is_that_of_the_signer(signed, keys):
    key = signatures.read_signing_key(keys / "maker", signed)
    signatures.sign(signed, "maker", key, date(2026, 1, 31))
    assert shoal.verify(signed).signatures[0].date == "2026-01-31"
