"""Signatures of releases by their makers and approvers.

A statement has a role, a date, the key and the digests of the published files, and nothing else. It is signed with
Ed25519 as canonical JSON: keys sorted by code point, no blanks, UTF-8 without escapes of other characters than JSON
requires, whole numbers and texts only. A signature says who, and not that it is true.

A statement lies beside its release, as NAME.maker.signature.json or NAME.approver.signature.json. The keys that a
reader trusts come from elsewhere. Format and test vectors: docs/verify.md. Needs ``shoal[signing]``.

Source: Josefsson and Liusvaara, Edwards-Curve Digital Signature Algorithm, RFC 8032.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping
from datetime import UTC, date, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from shoal.errors import InputError, OutputError
from shoal.io.publish import certificate_of, report_of, sha256_of, size_of, write_text_atomic
from shoal.runtime.lazy_dataclass import dataclass

Role = Literal["maker", "approver"]
ROLES: tuple[Role, ...] = ("maker", "approver")
FORMAT = "shoal signature 1"
MAX_SIGNATURE_BYTES = 1_000_000
MAX_NAME_CHARACTERS = 200
KEY_LINE = re.compile(r"ed25519 ([0-9a-f]{64})(?: (.*))?")


def can_sign() -> bool:
    """Return whether signatures can be made and checked."""
    return find_spec("cryptography") is not None


@dataclass(frozen=True)
class Statement:
    """A signed statement about the files of a release.

    Attributes
    ----------
    role
        What the signer did: made the release, or approved it.
    date
        The day on which it was signed, by the signer's clock.
    key
        The public key, in hexadecimal.
    files
        By name, the size in bytes and the SHA-256 of each published file.
    """

    role: str
    date: str
    key: str
    files: Mapping[str, Mapping[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """Return the statement as plain values for JSON."""
        files = {name: {"bytes": file["bytes"], "sha256": file["sha256"]} for name, file in self.files.items()}
        return {"format": FORMAT, "role": self.role, "date": self.date, "key": self.key, "files": files}

    def signed_bytes(self) -> bytes:
        """Return the bytes that are signed: canonical JSON."""
        return canonical_json(self.to_dict())


def canonical_json(value: object) -> bytes:
    """Return the one encoding of a statement.

    >>> canonical_json({"b": [1, "ü"], "a": {}})
    b'{"a":{},"b":[1,"\\xc3\\xbc"]}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def signature_of(path: Path, role: Role) -> Path:
    """Return the path of a signature of a released table.

    released.csv -> released.maker.signature.json
    """
    return path.with_name(f"{path.stem}.{role}.signature.json")


def published_files(path: Path) -> dict[str, dict[str, Any]]:
    """Return size and digest of table, certificate and report."""
    files = [file for file in (path, certificate_of(path), report_of(path)) if file.exists()]
    return {file.name: {"bytes": size_of(file), "sha256": sha256_of(file)} for file in files}


# -- keys --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SigningKey:
    """A private key, with its public key in hexadecimal."""

    private: Any
    public: str


def create_signing_key(path: Path, name: str = "") -> str:
    """Create a private key (mode 600) and PATH.pub; return the public key.

    ``name`` is written into PATH.pub, for those who put that line into their file of trusted keys.

    Examples
    --------
    ::

        public = shoal.create_signing_key(Path("maker.key"), "Ann")
        shoal.release("plan.toml", sign=Path("maker.key"))
    """
    if not can_sign():
        raise InputError("release.signing-package-missing")
    if not name.isprintable() or len(name) > MAX_NAME_CHARACTERS:
        raise InputError("release.key-name-too-long", maximum=MAX_NAME_CHARACTERS)
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    folder = path.absolute().parent
    public_file = path.with_name(f"{path.name}.pub")
    if not folder.is_dir():
        raise OutputError("output.folder-does-not-exist", folder=str(folder))
    if any(folder.glob("*.certificate.json")):
        raise OutputError("release.private-key-beside-release")
    if public_file.exists():
        raise OutputError("release.key-file-exists", file=str(public_file))
    private = Ed25519PrivateKey.generate()
    public = private.public_key().public_bytes_raw().hex()
    try:
        with open(path, "xb", opener=lambda file, flags: os.open(file, flags, 0o600)) as made:
            made.write(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    except FileExistsError:
        raise OutputError("release.key-file-exists", file=str(path)) from None
    except OSError as error:
        raise OutputError("release.key-not-writable", file=str(path), reason=error.strerror) from None
    write_text_atomic(public_file, f"ed25519 {public} {name}".rstrip() + "\n")
    return public


def read_signing_key(path: Path, release: Path) -> SigningKey:
    """Read a private key that its owner alone can read.

    ``release`` is the path of the release: the key must not be in its folder.
    """
    if not can_sign():
        raise InputError("release.signing-package-missing")
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        mode = path.stat().st_mode
        content = path.read_bytes() if stat.S_ISREG(mode) else b""
    except OSError as error:
        raise InputError("release.signing-key-unreadable", reason=error.strerror) from None
    if os.name == "posix" and mode & 0o077:
        raise InputError("release.signing-key-readable-by-others")
    target = release.resolve()
    if path.resolve().parent in (target, target.parent):
        raise InputError("release.signing-key-beside-release")
    try:
        private = load_pem_private_key(content, None)
    except Exception:  # of many types; their texts may quote the key
        private = None
    if not isinstance(private, Ed25519PrivateKey):
        raise InputError("release.not-a-signing-key")
    return SigningKey(private, private.public_key().public_bytes_raw().hex())


def read_trusted_keys(path: Path) -> dict[str, str]:
    """Read trusted public keys with the names of their owners.

    A line is ``ed25519 HEX NAME``; lines that are empty or begin with # are skipped.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise InputError("release.trusted-keys-unreadable", file=str(path)) from None
    keys: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = KEY_LINE.fullmatch(line.strip())
        if found is None:
            raise InputError("release.trusted-key-malformed", line=number)
        keys[found[1]] = (found[2] or "").strip()
    if not keys:
        raise InputError("release.no-trusted-key")
    return keys


# -- signatures --------------------------------------------------------------------------------------


def sign(path: Path, role: Role, key: SigningKey, day: date | None = None) -> Path:
    """Sign the published files of a release; return the signature's path."""
    today = day or datetime.now(UTC).date()
    statement = Statement(role, today.isoformat(), key.public, published_files(path))
    content = {"statement": statement.to_dict(), "signature": key.private.sign(statement.signed_bytes()).hex()}
    target = signature_of(path, role)
    write_text_atomic(target, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    return target


@dataclass(frozen=True)
class SignatureCheck:
    """Result of checking one signature.

    ``valid`` is None where it was not checked. ``fault`` says why it is not valid.
    """

    role: str
    key: str = ""
    date: str = ""
    valid: bool | None = None
    trusted: bool = False
    owner: str = ""
    fault: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values for JSON."""
        names = ("role", "key", "date", "valid", "trusted", "owner", "fault")
        return {name: getattr(self, name) for name in names}


def check_signatures(path: Path, trusted: Mapping[str, str] | None = None) -> list[SignatureCheck]:
    """Check the signatures of a released table, the maker's first."""
    present = [role for role in ROLES if signature_of(path, role).exists()]
    if not present:
        return []
    files = published_files(path)
    found = [_check(signature_of(path, role), role, files, path.name, trusted or {}) for role in present]
    if len({one.key for one in found if one.key}) < len([one for one in found if one.key]):
        fault = "Maker and approver must be two keys; both signatures are by one."
        found = [one if one.role == "maker" else _failed(one, fault) for one in found]
    return found


def _failed(found: SignatureCheck, fault: str) -> SignatureCheck:
    return SignatureCheck(found.role, found.key, found.date, False, False, "", fault)


def _check(
    path: Path, role: str, files: Mapping[str, Mapping[str, Any]], table: str, trusted: Mapping[str, str]
) -> SignatureCheck:
    try:
        statement, signature = _read(path)
    except ValueError as error:
        return SignatureCheck(role, valid=False, fault=str(error))
    found = SignatureCheck(role, statement.key, statement.date)
    if statement.role != role:
        return _failed(found, f"The file says that a {role} signed; the statement has another role.")
    if statement.to_dict()["files"] != dict(files):
        return _failed(found, "It is about other files than those beside it: a name, a size or a digest differs.")
    if table not in statement.files:
        return _failed(found, "It does not name the released table.")
    if not can_sign():
        return SignatureCheck(
            role, statement.key, statement.date, None, fault=str(InputError("release.signing-package-missing"))
        )
    if not verify_ed25519(bytes.fromhex(statement.key), statement.signed_bytes(), signature):
        return _failed(found, "It was not made by the key that it names, or the statement was changed.")
    known = statement.key in trusted
    return SignatureCheck(role, statement.key, statement.date, True, known, trusted.get(statement.key, ""))


def verify_ed25519(public: bytes, message: bytes, signature: bytes) -> bool:
    """Return whether a signature of a message is by a key."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _read(path: Path) -> tuple[Statement, bytes]:
    """Read a signature file; raise ValueError if it is none."""
    wrong = ValueError("The file is no signature of this format.")
    try:
        if path.stat().st_size > MAX_SIGNATURE_BYTES:
            raise wrong
        content = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=without_repeats)
        statement, signature = content["statement"], bytes.fromhex(content["signature"])
        made = Statement(statement["role"], statement["date"], statement["key"], statement["files"])
        texts = all(isinstance(text, str) for text in (made.role, made.date, made.key))
        if not texts or not re.fullmatch("[0-9a-f]{64}", made.key) or statement != made.to_dict():
            raise wrong
        date.fromisoformat(made.date)
        made.signed_bytes()
    except (OSError, LookupError, TypeError, ValueError, AttributeError, RecursionError):
        raise wrong from None
    return made, signature


def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; raise if a key occurs twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("A key occurs twice.")
    return found
