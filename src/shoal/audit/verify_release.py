"""Verification of a release from its files alone.

What can be recomputed is: digests, the figures of the certificate, and the promises, by checking the released table
with the plan in the certificate. What cannot, because it needs the original, is named. Signatures say who made and who
approved the release; the keys that are trusted come from outside.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from shoal.audit.certificate_comparison import compare_certificate, is_equal
from shoal.budget.errors import ParameterError
from shoal.budget.guarantee import stated_guarantee
from shoal.errors import InputError, PlanError, ShoalError, TableError
from shoal.formatting import number
from shoal.io.engines import open_engine
from shoal.io.engines.base import EngineSettings, Source
from shoal.io.formats.csv_dialect import RELEASED
from shoal.io.publish import certificate_of, report_of, sha256_of, size_of
from shoal.models import AllOf
from shoal.pipeline.check import check
from shoal.plan.plan import Plan, plain
from shoal.render import Displayable, Grid, Summary
from shoal.results.public_plan import PublicPlan, public_plan
from shoal.results.saved_table import sorted_rows_digest
from shoal.results.signatures import (
    SignatureCheck,
    can_sign,
    check_signatures,
    read_signing_key,
    read_trusted_keys,
    sign,
    without_repeats,
)
from shoal.runtime.progress import Progress, quiet
from shoal.schema import UNPUBLISHED, Role
from shoal.verification.check import CheckResult
from shoal.verification.verify import needs_original

CERTIFICATE_SUFFIX = ".certificate.json"
MAX_CERTIFICATE_BYTES = 50_000_000
Outcome = Literal["holds", "fails", "not checked"]

GUARANTEE_NOT_RECOMPUTED = (
    "The guarantee of the method was not recomputed: whether the method was run as stated is not in published files."
)
NOT_IN_RELEASE = (
    "How the release was chosen (rows that were left out, the method's search, the loss), and with which readers and "
    "definitions it was verified before, is not in the release."
)


@dataclass(frozen=True)
class Finding:
    """One part of a verification: what was checked, its outcome, a sentence."""

    name: str
    outcome: Outcome
    text: str

    def to_dict(self) -> dict[str, str]:
        """Return the finding as plain values for JSON."""
        return {"name": self.name, "outcome": self.outcome, "text": self.text}


@dataclass(frozen=True, repr=False)
class ReleaseVerification(Displayable):
    """Result of verifying a release.

    Attributes
    ----------
    findings
        What was checked, and the outcome of each.
    not_recomputed
        What the files alone cannot show, as sentences.
    checked
        The check of the released table against the certificate's plan; None if there was none.
    signatures
        The signatures beside the release.

    Examples
    --------
    ::

        found = shoal.verify("released.csv")
        found.holds, [finding.to_dict() for finding in found.findings]
    """

    release: str
    findings: tuple[Finding, ...]
    not_recomputed: tuple[str, ...] = ()
    checked: CheckResult | None = None
    signatures: tuple[SignatureCheck, ...] = ()

    @property
    def holds(self) -> bool:
        """True if nothing that was checked fails."""
        return all(finding.outcome != "fails" for finding in self.findings)

    @property
    def complete(self) -> bool:
        """True if all promises were recomputed and all signatures checked.

        The report promises nothing beyond the certificate.
        """
        unsettled = any(finding.outcome == "not checked" and finding.name != "report" for finding in self.findings)
        return not unsettled and (self.checked is None or self.checked.complete)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values for JSON."""
        return {
            "release": self.release,
            "holds": self.holds,
            "complete": self.complete,
            "findings": [finding.to_dict() for finding in self.findings],
            "not_recomputed": list(self.not_recomputed),
            "models": [] if self.checked is None else [model.to_dict() for model in self.checked.models],
            "signatures": [signature.to_dict() for signature in self.signatures],
        }

    def summary(self) -> Summary:
        """Return the findings, and what the files alone cannot show."""
        rows = [(finding.name, finding.outcome, finding.text) for finding in self.findings]
        title = "The release is what its certificate says"
        if not self.holds:
            title = "The release is not as certified"
        elif not self.complete:
            title = "Nothing that was checked fails, but not all could be checked"
        return Summary(title, (), self.not_recomputed, [Grid("Findings", ("part", "outcome", "finding"), rows)])


def verify(
    release: Path | str,
    *,
    trust: Path | str | None = None,
    require_approval: bool = False,
    database: str | None = None,
    engine: EngineSettings | None = None,
    progress: Progress = quiet,
) -> ReleaseVerification:
    """Verify a release from its files alone.

    Parameters
    ----------
    release
        The released table (a file, or a folder of parts) or its certificate.
    trust
        File of public keys, one per line: ``ed25519 HEX NAME``. With it, the release must be signed by its maker with
        one of these keys.
    require_approval
        Whether an approver must have signed too, with another trusted key.
    database
        For a release to a database, the address of the server as a plan names it, such as ``env:CLINIC``; ``release``
        is the file of its certificate then. Only files are signed.

    Examples
    --------
    ::

        shoal.verify("released.csv", trust="trusted-keys").holds
    """
    if database is not None:
        if trust is not None:
            raise InputError("release.no-signatures-in-database")
        return _verify_in_database(Path(release), database, engine, progress)
    if require_approval and trust is None:
        raise InputError("release.approval-needs-trusted-keys")
    trusted = None if trust is None else read_trusted_keys(Path(trust))
    table, certificate = _locate(Path(release))
    content = _read_certificate(certificate)
    findings = [*_digests(table, content)]
    checked: CheckResult | None = None
    unchecked: list[str] = []
    if all(finding.outcome == "holds" for finding in findings):
        checked, found, unchecked = _promises(Source(table, csv=RELEASED), content, engine, progress)
        findings += found
    signatures = tuple(check_signatures(table, trusted))
    findings += _judge_signatures(signatures, trusted, require_approval)
    return ReleaseVerification(
        table.name, tuple(findings), tuple(dict.fromkeys([*unchecked, NOT_IN_RELEASE])), checked, signatures
    )


def _verify_in_database(
    certificate: Path, database: str, engine: EngineSettings | None, progress: Progress
) -> ReleaseVerification:
    """Verify a released table of a database by its content."""
    content = _read_certificate(certificate)
    output = content.get("output")
    if not isinstance(output, dict) or not isinstance(output.get("table"), str):
        raise InputError("release.certificate-not-of-database")
    name = output["table"]
    source = Source(database=database, table=name)
    with open_engine(engine) as reader:
        stored = reader.materialize(reader.read(source), None)
    shape = {"columns": stored.num_columns, "rows": stored.num_rows}
    if {**output, **shape, "content_sha256": sorted_rows_digest(stored)} == output:
        findings = [
            Finding("digest", "holds", f"The table has the {number(stored.num_rows)} rows that were certified.")
        ]
        checked, found, unchecked = _promises(source, content, engine, progress)
        findings += found
    else:
        findings = [Finding("digest", "fails", "The table is not the one that the certificate is about: rows differ.")]
        checked, unchecked = None, []
    return ReleaseVerification(name, tuple(findings), tuple(dict.fromkeys([*unchecked, NOT_IN_RELEASE])), checked)


def _locate(path: Path) -> tuple[Path, Path]:
    """Return the table and the certificate of a release."""
    if not path.name.endswith(CERTIFICATE_SUFFIX):
        return path, certificate_of(path)
    output = _read_certificate(path).get("output")
    name = output.get("name") if isinstance(output, dict) else None
    if not isinstance(name, str) or not name or Path(name).name != name or name in (".", "..", "-"):
        raise InputError("release.certificate-without-file-2")
    table = path.with_name(name)
    if certificate_of(table) != path:  # signatures are about the certificate of that name
        raise InputError("release.certificate-of-another-table", file=path.name, expected=certificate_of(table).name)
    return table, path


def _read_certificate(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > MAX_CERTIFICATE_BYTES:
            raise InputError("release.certificate-too-large")
        content = json.loads(path.read_bytes(), object_pairs_hook=without_repeats)
    except OSError as error:
        raise InputError("release.certificate-unreadable", file=path.name, reason=error.strerror) from None
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or not isinstance(content.get("plan"), dict):
        raise InputError("release.not-a-certificate", file=path.name)
    return content


def _digests(table: Path, content: Mapping[str, Any]) -> list[Finding]:
    """Compare size and digest of the table with the certificate."""
    output = content.get("output")
    if not isinstance(output, dict) or not isinstance(output.get("sha256"), str):
        return [Finding("digest", "fails", "The certificate has no digest of the released table.")]
    try:
        size, digest = size_of(table), sha256_of(table)
    except OSError as error:
        raise TableError("release.table-unreadable", file=table.name, reason=error.strerror) from None
    if size == output.get("bytes") and digest == output["sha256"]:
        return [Finding("digest", "holds", f"The table has the {number(size)} bytes that the certificate is about.")]
    return [Finding("digest", "fails", "The table is not the one that the certificate is about: its bytes differ.")]


def _promises(
    table: Source, content: Mapping[str, Any], engine: EngineSettings | None, progress: Progress
) -> tuple[CheckResult | None, list[Finding], list[str]]:
    """Check the table against the certificate's plan, and compare figures."""
    if "guarantee" in content and not content["plan"].get("models") and not content["plan"].get("scenarios"):
        return _guarantee_alone(table, content, engine)
    try:
        plan, unchecked = plan_of_certificate(content)
    except ShoalError as error:
        raise InputError("release.plan-of-certificate-not-usable", reason=str(error)) from None
    unchecked += [GUARANTEE_NOT_RECOMPUTED] if "guarantee" in content else []
    public = public_plan(plan)
    if public.support is not None:
        text = "Rows are patterns; how many records match each is not in the table's rows."
        figures = _figures(content, None, public, table, engine)
        return None, [Finding("promise", "not checked", text), *figures], unchecked
    try:
        checked = check(table, plan=plan, engine=engine, progress=progress)
    except PlanError as error:
        raise InputError("release.plan-of-certificate-not-usable", reason=str(error)) from None
    except TableError as error:
        return None, [Finding("promise", "fails", f"The table is not one of this plan: {error}")], unchecked
    unchecked += list(checked.unanswered)
    needs_people = needs_original(plan.schema, plan.model_of_rows, plan.method.wildcard) and not plan.schema.linked
    findings = []
    if checked.holds:
        findings.append(Finding("promise", "holds", f"Checked again in {checked.unit}: every model holds."))
    elif needs_people:
        findings.append(Finding("promise", "not checked", "The table alone does not show that every model holds."))
    else:
        failing = ", ".join(model.name for model in checked.models if not model.holds)
        findings.append(Finding("promise", "fails", f"The table does not meet {failing}."))
    if "guarantee" in content:
        findings.append(_guarantee(content, public))
    findings += _figures(content, checked, public, table, engine)
    return checked, findings, unchecked


def _guarantee_alone(
    table: Source, content: Mapping[str, Any], engine: EngineSettings | None
) -> tuple[None, list[Finding], list[str]]:
    """Compare the statements of a certificate that promises no model."""
    stand_in = {"models": [{"name": "k-anonymity", "k": 2}]}  # a plan needs one; nothing is checked by it
    try:
        plan, _ = plan_of_certificate({"plan": {**content["plan"], **stand_in}})
    except ShoalError as error:
        raise InputError("release.plan-of-certificate-not-usable", reason=str(error)) from None
    public = public_plan(plan)
    public = replace(public, model=AllOf(), document={**public.document, "models": []})
    text = "The certificate promises a guarantee of the method, and no model of the table."
    findings = [Finding("promise", "not checked", text), _guarantee(content, public)]
    try:
        findings += _figures(content, None, public, table, engine)
    except TableError as error:
        findings.append(Finding("figures", "fails", f"The table is not one of this plan: {error}"))
    return None, findings, [GUARANTEE_NOT_RECOMPUTED]


def _guarantee(content: Mapping[str, Any], public: PublicPlan) -> Finding:
    """Compare a guarantee with the one that follows from its parameters.

    Methods with a guarantee publish cells and nothing else, so a column of another role contradicts it.
    """
    name, roles = "guarantee", {Role.QUASI_IDENTIFIER, *UNPUBLISHED}
    others = [column for column, part in public.schema.columns.items() if part.role not in roles]
    if others:
        return Finding(name, "fails", f"No method with a guarantee publishes the column {others[0]!r} as it is.")
    try:
        stated = content["guarantee"]
        followed = stated_guarantee(stated)
        if content["method"]["name"] != str(stated["kind"]).replace(" ", "-"):
            return Finding(name, "fails", "The guarantee is that of another method.")
        if followed is None:
            return Finding(name, "not checked", "The certificate does not state the parameters of the guarantee.")
        agrees = is_equal(plain(stated), plain(followed.to_dict()))
    except (ParameterError, LookupError, TypeError, AttributeError, ValueError):
        agrees = False
    if not agrees:
        return Finding(name, "fails", "The guarantee does not follow from its own parameters.")
    return Finding(name, "holds", "The figures of the guarantee follow from the parameters that it states.")


def _figures(
    content: Mapping[str, Any],
    checked: CheckResult | None,
    public: PublicPlan,
    table: Source,
    engine: EngineSettings | None,
) -> list[Finding]:
    """Compare certificate and report with the table."""
    try:
        found = compare_certificate(content, public, table, checked, engine)
    except (LookupError, TypeError, AttributeError, ValueError):
        return [Finding("figures", "fails", "The certificate lacks figures that certificates have.")]
    if found.differing:
        differing = ", ".join(found.differing)
        return [Finding("figures", "fails", f"The table has other figures than the certificate: {differing}.")]
    findings = [Finding("figures", "holds", "The table has the figures of the certificate that it can show.")]
    if found.unknown:
        text = "The certificate is of another version of shoal, with statements that this one does not know."
        findings.append(Finding("statements", "not checked", text))
    report = None if table.path is None else report_of(Path(table.path))
    if report is None or not report.exists():
        return findings
    if found.report is None:
        return [*findings, Finding("report", "not checked", "The files alone do not give the report.")]
    if report.read_bytes() == found.report.encode():
        return [*findings, Finding("report", "holds", "The report is the one of this table and certificate.")]
    text = "The report is not the one that this version of shoal makes of table and certificate."
    return [*findings, Finding("report", "fails", text)]


def plan_of_certificate(content: Mapping[str, Any]) -> tuple[Plan, list[str]]:
    """Return the plan that a certificate states, and what it leaves out.

    Hierarchies of quasi-identifiers and files are not needed to check a released table.
    """
    sections = ("columns", "models", "keys", "scenarios", "together", "recipient", "method")
    document = {key: value for key, value in content["plan"].items() if key in sections}
    notes = []
    columns = document.get("columns")
    if not isinstance(columns, dict):
        raise PlanError("plan.no-columns-in-certificate")
    cut = {}
    for name, column in columns.items():
        section = dict(column) if isinstance(column, dict) else {"role": column}
        hierarchy = section.get("hierarchy")
        if section.get("role") == "quasi-identifier":
            section.pop("hierarchy", None)
        elif isinstance(hierarchy, dict) and "csv" in hierarchy:
            section.pop("hierarchy")
            notes.append(f"Distances in the hierarchy of {name!r}, which is not published, were not recomputed.")
        cut[name] = section
    document["columns"] = cut
    try:
        return Plan.from_dict(document), notes
    except PlanError:
        if "method" not in document:
            raise
    # a method that needs files of its maker, such as a ledger
    document.pop("method")
    notes.append(GUARANTEE_NOT_RECOMPUTED)
    return Plan.from_dict(document), notes


def _judge_signatures(
    signatures: tuple[SignatureCheck, ...], trusted: Mapping[str, str] | None, require_approval: bool
) -> list[Finding]:
    """Return a finding for each signature, and for those that are missing."""
    if trusted is not None and not can_sign():
        raise InputError("release.signatures-not-checked")
    found = [_judge_signature(signature, trusted) for signature in signatures]
    if trusted is None:
        return found
    needed = ("maker", "approver") if require_approval else ("maker",)
    present = {signature.role for signature in signatures}
    missing = [Finding(_finding_name(role), "fails", "There is none.") for role in needed if role not in present]
    return found + missing


def _finding_name(role: str) -> str:
    return f"{role}'s signature"


def _judge_signature(signature: SignatureCheck, trusted: Mapping[str, str] | None) -> Finding:
    name = _finding_name(signature.role)
    if signature.valid is None:
        return Finding(name, "not checked", f"Signatures not checked. {signature.fault}")
    if not signature.valid:
        return Finding(name, "fails", signature.fault)
    if signature.trusted:
        owner = f" ({signature.owner})" if signature.owner else ""
        return Finding(name, "holds", f"Signed on {signature.date} by a trusted key{owner}.")
    outcome: Outcome = "fails" if trusted is not None else "not checked"
    return Finding(name, outcome, f"Signed by an unknown key ({signature.key[:16]}...).")


def approve(
    release: Path | str, key: Path | str, *, trust: Path | str | None = None, progress: Progress = quiet
) -> tuple[ReleaseVerification, Path | None]:
    """Verify a release, and sign it as its approver if it holds.

    Returns the verification and the path of the signature; None in its place if nothing was signed.

    Parameters
    ----------
    release
        The released table (a file, or a folder of parts) or its certificate.
    key
        The approver's private key, another one than the maker's.
    trust
        File of public keys; with it, the maker must have signed with one of them.

    Examples
    --------
    ::

        found, signature = shoal.approve("released.csv", "approver.key", trust="trusted-keys")
    """
    table, _ = _locate(Path(release))
    signing = read_signing_key(Path(key), table)
    found = verify(release, trust=trust, progress=progress)
    findings = tuple(finding for finding in found.findings if finding.name != _finding_name("approver"))
    signatures = tuple(one for one in found.signatures if one.role == "maker")
    found = replace(found, findings=findings, signatures=signatures)  # an earlier approval is replaced
    maker = signatures[0] if signatures else None
    if maker is None or not maker.valid:
        return _refused(found, "A release is approved once its maker has signed it; there is no valid signature."), None
    if maker.key == signing.public:
        return _refused(found, "Maker and approver must be two keys; this one is the maker's."), None
    if not found.holds:
        return found, None
    return found, sign(table, "approver", signing)


def _refused(found: ReleaseVerification, fault: str) -> ReleaseVerification:
    return replace(found, findings=(*found.findings, Finding("approval", "fails", fault)))
