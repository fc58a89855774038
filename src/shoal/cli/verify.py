"""``shoal verify``, ``shoal approve`` and ``shoal signing-key``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from shoal.audit.verify_release import ReleaseVerification

signing_key = typer.Typer()

Released = Annotated[Path, typer.Argument(help="The released table, a folder of its parts, or its certificate.")]
Trust = Annotated[
    Path | None, typer.Option("--trust", help="Public keys that you trust, one per line: ed25519 HEX NAME.")
]
Json = Annotated[bool, typer.Option("--json", help="Output JSON.")]


def verify_files(
    release: Released,
    trust: Trust = None,
    require_approval: Annotated[
        bool, typer.Option("--require-approval", help="Require the signature of an approver with a trusted key.")
    ] = False,
    database: Annotated[
        str | None, typer.Option(help="Database of the released table, if a certificate file is given: env:NAME.")
    ] = None,
    require_complete: Annotated[
        bool, typer.Option("--require-complete", help="Exit with status 1 also if something could not be checked.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Verify a release from its files alone: digests, promises, signatures.

    The promises are checked again with the plan in the certificate, as far as the release allows; the output lists what
    cannot be recomputed. With --trust, the release must be signed by its maker with a key of that file. Exit status 0
    if every check holds, 1 if not, 2 if it cannot be verified.

    \b
    Example:  shoal verify published.csv
              shoal verify published.certificate.json --json
              shoal verify published.csv --trust keys.txt --require-approval
              shoal verify visits.certificate.json --database env:CLINIC
    """
    from shoal.audit.verify_release import verify as verify_release
    from shoal.cli.console import progress

    with progress(as_json) as show:
        found = verify_release(
            release, trust=trust, require_approval=require_approval, database=database, progress=show
        )
    _show(found, as_json)
    raise typer.Exit(0 if found.holds and (found.complete or not require_complete) else 1)


def approve_files(
    release: Released,
    sign: Annotated[Path, typer.Option("--sign", help="Your private key (shoal signing-key create).")],
    trust: Trust = None,
    as_json: Json = False,
) -> None:
    """Approve a release: verify it, then sign it as its approver.

    The release must have been signed by its maker, with another key; with --trust, with a key of that file. Nothing is
    signed unless the verification holds. A signature says who approved a release, not that it is safe.

    \b
    Example:  shoal approve published.csv --sign ~/keys/approver --trust keys.txt
    """
    from shoal.audit.verify_release import approve as approve_release
    from shoal.cli.console import output, progress, safe

    with progress(as_json) as show:
        found, written = approve_release(release, sign, trust=trust, progress=show)
    _show(found, as_json, None if written is None else {"signature": str(written)})
    if written is not None and not as_json:
        output.print(f"Approval: {safe(str(written))}")
    raise typer.Exit(0 if written is not None else 1)


@signing_key.callback(invoke_without_command=True)
def signing_key_group(context: typer.Context) -> None:
    """Keys to sign releases with (Ed25519)."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@signing_key.command("create")
def create_key(
    file: Annotated[Path, typer.Argument(help="Private key to create; the public key is written to FILE.pub.")],
    name: Annotated[str, typer.Option(help="Name of the owner; written into the public file.")] = "",
    as_json: Json = False,
) -> None:
    """Create a private key, readable by you alone, and its public key.

    Give FILE.pub to those who verify: its line belongs in their file of trusted keys. Needs shoal[signing].

    \b
    Example:  shoal signing-key create ~/keys/maker --name "Anna, statistics office"
    """
    from shoal.cli.console import output, safe
    from shoal.results.signatures import create_signing_key

    public = create_signing_key(file, name)
    if as_json:
        print(json.dumps({"key": str(file), "public": f"{file}.pub", "public_key": public}))
        return
    output.print(f"Private key: {safe(str(file))}. Keep it to yourself, outside of every folder that is handed out.")
    output.print(f"Public key: {safe(str(file))}.pub ({public})", soft_wrap=True)


def _show(found: ReleaseVerification, as_json: bool, more: dict[str, str] | None = None) -> None:
    if as_json:
        print(json.dumps(found.to_dict() | (more or {})))
        return
    from shoal.cli.console import output, print_grid, safe
    from shoal.verification.check import verdict_grid

    verdict = "[green bold]holds[/]" if found.holds else "[red bold]does not hold[/]"
    output.print(f"{safe(found.release)}: what was checked {verdict}.")
    for finding in found.findings:
        colour = {"holds": "green", "fails": "red"}.get(finding.outcome, "yellow")
        output.print(f"  [{colour}]{finding.outcome}[/] {safe(finding.name)}: {safe(finding.text)}")
    if found.checked is not None and found.checked.models:
        print_grid(verdict_grid([model.to_dict() for model in found.checked.models]))
    output.print("Not to be told from the files:")
    for sentence in found.not_recomputed:
        output.print(f"  - {safe(sentence)}")
