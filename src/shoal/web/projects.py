"""Projects: folders with a plan, its releases and a log of its runs.

There is no database, and nothing is hidden:

    shoal-projects/patients/
      plan.toml            edited and displayed by the page; `shoal release plan.toml` runs it
      table.csv            only where the table was uploaded, pasted or is a sample
      releases/1/          each release with its certificate, report, plan and, where there is one, recoding
      answers.jsonl        noisy answers to questions, each booked in the ledger of the table
      log.jsonl            one line per run: time, action, outcome, figures; no value of a row

The secret key of pseudonyms and the ledger of the table are elsewhere: in folders of the user that no page can read
(:func:`keys_folder`, :mod:`shoal.web.ledgers`). A server
has one owner, whoever has the link, or several visitors, each with a root and projects of their own.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import tempfile
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal.errors import InputError, PlanError, ShoalError
from shoal.web.file_access import (
    Database,
    confine,
    confine_readable_table,
    confine_table,
    confined_plan,
    keys_folder,
    sanitize_name,
    table_stem,
)
from shoal.web.ledgers import ANSWERS_FILE, ledger_of
from shoal.web.plan_edits import find_syntax_error, path_entries, relocate
from shoal.web.runs import Run

PLAN_FILE = "plan.toml"
LOG_FILE = "log.jsonl"
EARLIER_KEY_FOLDER = "keys"
"""Folder of a project in which earlier versions kept the key of pseudonyms; it is never read as a table."""
TABLE_FILE = "table.json"
"""File of a project that names its table until there is a plan."""
INTERNAL_FILES = ("facts.json", "confirmed.json")
"""Files of a release that are the page's own."""
UNDO_FILE = "undo.json"
"""File of a project with the texts of its plan before the last changes."""
TITLE_FILE = "title.txt"
"""File of a project with the title that the user gave it."""
MAX_UNDO_STEPS = 20
SHREDDED_BLOCK_BYTES = 1 << 20
MAX_TITLE_CHARACTERS = 80
OWN_SUFFIXES = (".recoding", ".internal.html")
"""Ends of the names of files of a release that stay with its owner."""
SAMPLES = {"patients": "patients.csv", "census": "census.csv"}


def open_private(path: str, flags: int) -> int:
    """Open a file that only the user can read (an opener for ``open``)."""
    return os.open(path, flags, 0o600)


@dataclass
class Project:
    """One project: its folder, and its latest runs."""

    name: str
    folder: Path
    root: Path
    latest: dict[str, Run] = field(default_factory=dict)
    plan_digests: dict[str, str] = field(default_factory=dict)
    """By action (and column): the plan digest that the latest run was started for."""
    table: Path | None = None
    """The table, until there is a plan that names it."""
    databases: frozenset[Database] = frozenset()
    """Databases that may be read in addition to files."""
    visited_steps: set[str] = field(default_factory=set)
    """Steps of the page that were visited since the start of the server."""
    _parsed: tuple[str, Any] = ("", None)

    @property
    def text(self) -> str:
        """The text of the plan; empty if there is none yet."""
        try:
            return (self.folder / PLAN_FILE).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError):
            return ""

    @property
    def digest(self) -> str:
        """SHA-256 of the plan's text, in hexadecimal."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def save(self, text: str) -> dict[str, Any] | None:
        """Save a plan's text atomically; return the fault if it is not TOML."""
        fault = find_syntax_error(text)
        if fault is None:
            if self.text and self.text != text:
                self._write_private(UNDO_FILE, json.dumps([*self.earlier_texts(), self.text][-MAX_UNDO_STEPS:]))
            self._write_private(PLAN_FILE, text)
        return fault

    def _write_private(self, name: str, text: str) -> None:
        """Write a file of the project atomically, readable by the user only."""
        handle, temporary = tempfile.mkstemp(dir=self.folder)
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.replace(temporary, self.folder / name)

    def earlier_texts(self) -> list[str]:
        """Return the texts of the plan before its last changes, oldest first."""
        try:
            texts = json.loads((self.folder / UNDO_FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return []
        return [text for text in texts if isinstance(text, str)] if isinstance(texts, list) else []

    def undo(self) -> None:
        """Restore the plan before its last change; raise if there is none."""
        *others, text = self.earlier_texts() or [""]
        if not text:
            raise InputError("page.nothing-to-undo")
        self._write_private(UNDO_FILE, json.dumps(others))
        self._write_private(PLAN_FILE, text)

    @property
    def title(self) -> str:
        """The name that the user gave the project; its folder's by default."""
        try:
            return (self.folder / TITLE_FILE).read_text(encoding="utf-8") or self.name
        except (OSError, UnicodeDecodeError):
            return self.name

    def rename(self, title: str) -> None:
        """Give the project another title; its folder and its links stay."""
        cleaned = " ".join("".join(sign for sign in title if sign.isprintable()).split())[:MAX_TITLE_CHARACTERS]
        if not cleaned:
            raise InputError("page.title-empty")
        self._write_private(TITLE_FILE, cleaned)

    def remove_release(self, number: int) -> None:
        """Delete a release for good."""
        shred(self.release_folder(number))

    def document(self) -> dict[str, Any]:
        """Parse the plan into tables and lists; empty if there is none."""
        with contextlib.suppress(tomllib.TOMLDecodeError, RecursionError, ValueError):
            return tomllib.loads(self.text)
        return {}

    def plan(self) -> Any:
        """Read and validate the plan; raise if it cannot run.

        Every file that it names must be below the root.
        """
        text = self.text
        if not text:
            raise PlanError("page.no-plan-yet")
        if self._parsed[0] != text:
            self._parsed = (text, confined_plan(**self.confinement(text)))
        return self._parsed[1]

    def confinement(self, text: str, folder: Path | None = None) -> dict[str, Any]:
        """Return a plan's text with all that limits which files it may name.

        The process that opens the files gets the same, and checks the same text again.
        """
        return {
            "text": text,
            "folder": str(folder or self.folder),
            "root": str(self.root),
            "key": str(self.key_file),
            "databases": sorted([name, driver or ""] for name, driver in self.databases),
            "ledger": str(ledger_of(self.root, folder or self.folder, text) or ""),
        }

    @property
    def ledger_file(self) -> Path | None:
        """The file of the ledger of the plan's table, whether or not there is one."""
        return ledger_of(self.root, self.folder, self.text)

    @property
    def has_ledger(self) -> bool:
        """True if the table of the plan has a ledger."""
        return self.ledger_file is not None and self.ledger_file.is_file()

    @property
    def key_file(self) -> Path:
        """The file of the project's pseudonym key, whether or not there is one."""
        digest = hashlib.sha256(str(self.folder.resolve()).encode()).hexdigest()[:16]
        return keys_folder() / f"{self.name}-{digest}"

    def error(self) -> ShoalError | None:
        """Return the reason why the plan cannot run, or None."""
        try:
            self.plan()
        except ShoalError as error:
            return error
        return None

    def plan_or_none(self) -> Any:
        """Return the plan, or None if it cannot run."""
        try:
            return self.plan()
        except ShoalError:
            return None

    @property
    def lacks_pseudonym_key(self) -> bool:
        """True if neither plan nor environment names a pseudonym key."""
        from shoal.table.pseudonyms import KEY_VARIABLE

        output = self.document().get("output")
        return not os.environ.get(KEY_VARIABLE) and not (isinstance(output, dict) and output.get("pseudonym_key"))

    def ensure_pseudonym_key(self) -> str:
        """Create the file of the pseudonym key if needed; return its path.

        It is outside of what pages read, so that no table, preview or release can contain it.
        """
        file = self.key_file
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError), open(file, "xb", opener=open_private) as made:
            made.write(secrets.token_bytes(32))
        return str(file)

    def log(self, run: Run) -> None:
        """Append a run that has ended to the log."""
        figures = {key: (run.result or {}).get(key) for key in ("released", "groups", "loss", "output")}
        entry = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "action": run.action,
            "state": run.state,
            "plan": self.digest[:12],
            **{key: value for key, value in figures.items() if value is not None},
            **({"error": run.error["kind"]} if run.error else {}),
        }
        with contextlib.suppress(OSError), (self.folder / LOG_FILE).open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    # -- releases ----------------------------------------------------------------------------------

    def new_release(self) -> tuple[Path, str]:
        """Create a private folder for the next release.

        It holds the plan, with paths rewritten so that it can run from there. Returns the folder and the plan's text.
        """
        text = self.text
        plan = confined_plan(**self.confinement(text))
        folder = self.folder / "releases"
        folder.mkdir(mode=0o700, exist_ok=True)
        number = 1 + max((int(item.name) for item in folder.iterdir() if item.name.isdigit()), default=0)
        made = folder / str(number)
        made.mkdir(mode=0o700)
        named = _named_files(tomllib.loads(text), plan, self.folder)
        moved = {given: _seen_from(made, given, real) for given, real in named}
        text = relocate(text, moved)
        (made / PLAN_FILE).write_text(text, encoding="utf-8", newline="\n")
        return made, text

    def finish_release(self, folder: Path, result: dict[str, Any], plan_digest: str) -> None:
        """Write the facts of a release, which mark it as complete.

        ``plan_digest`` is the digest of its plan.
        """
        facts = json.dumps({"of": plan_digest, **{key: value for key, value in result.items() if key != "seconds"}})
        (folder / "facts.json").write_text(facts, encoding="utf-8")

    def releases(self) -> list[int]:
        """List the numbers of complete releases in ascending order."""
        folder = self.folder / "releases"
        if not folder.is_dir():
            return []
        numbers = [int(item.name) for item in folder.iterdir() if item.name.isdigit()]
        return sorted(number for number in numbers if (folder / str(number) / "facts.json").is_file())

    @property
    def published(self) -> bool:
        """True if the plan's output file exists."""
        try:
            return bool(self.plan().output.path.is_file())
        except (ShoalError, AttributeError, OSError):
            return False

    def release_folder(self, number: int) -> Path:
        """Return the folder of a complete release."""
        if number not in self.releases():
            raise InputError("page.no-such-release")
        return self.folder / "releases" / str(number)

    def release_plan(self, number: int) -> Any:
        """Read the plan that a release was made by."""
        return confined_plan(**self.release_confinement(number))

    def release_confinement(self, number: int) -> dict[str, Any]:
        """Return the plan that a release was made by; see :meth:`confinement`."""
        folder = self.release_folder(number)
        return self.confinement((folder / PLAN_FILE).read_text(encoding="utf-8"), folder)

    def check_target(self, target: Path) -> None:
        """Raise if a release must not be published to a path.

        It must be below the root, and neither in another project nor among the files that make up this one.
        """
        real = confine(self.root, target)
        projects = self.folder.parent.resolve()
        own = self.folder.resolve()
        reserved = [
            own / name for name in ("releases", EARLIER_KEY_FOLDER, PLAN_FILE, LOG_FILE, ANSWERS_FILE, TABLE_FILE)
        ] + [own / UNDO_FILE, own / TITLE_FILE]
        if real.is_relative_to(projects) and not real.is_relative_to(own):
            raise InputError("page.output-in-other-project")
        if real.parent == projects or any(real.is_relative_to(path) for path in reserved):
            raise InputError("page.output-replaces-project-file")

    def facts(self, number: int) -> dict[str, Any]:
        """Read the facts that the run of a release has written."""
        facts: dict[str, Any] = json.loads((self.release_folder(number) / "facts.json").read_text(encoding="utf-8"))
        return facts

    def files(self, number: int) -> list[Path]:
        """List the files of a release that its owner can have, table first."""
        folder = self.release_folder(number)
        table = folder / self.facts(number)["output"]
        others = sorted(
            f for f in folder.iterdir() if f.is_file() and f not in (table,) and f.name not in INTERNAL_FILES
        )
        return [table, *sorted(others, key=lambda file: file.name == PLAN_FILE)]

    def public_files(self, number: int) -> list[Path]:
        """List the files of a release that are meant for others, table first.

        Plan, recoding and internal report are the owner's.
        """
        return [file for file in self.files(number) if file.name != PLAN_FILE and not file.name.endswith(OWN_SUFFIXES)]


def shred(folder: Path) -> None:
    """Overwrite and delete all files of a folder; links are not followed.

    Journals, snapshots and flash memory may keep copies that no program can overwrite.
    """
    for path in [*folder.rglob("*")]:
        if path.is_file() and not path.is_symlink() and path.stat().st_nlink == 1:
            with contextlib.suppress(OSError), path.open("r+b") as file:
                left = path.stat().st_size
                while left > 0:
                    left -= file.write(bytes(min(left, SHREDDED_BLOCK_BYTES)))
                file.flush()
                os.fsync(file.fileno())
    shutil.rmtree(folder, ignore_errors=True)


def _seen_from(folder: Path, given: str, real: Path) -> str:
    """Return a path as a plan in another folder must name it."""
    return given if Path(given).is_absolute() else Path(os.path.relpath(real, folder)).as_posix()


def _named_files(document: dict[str, Any], plan: Any, folder: Path) -> list[tuple[str, Path]]:
    found = []
    if plan.source is not None and plan.source.path is not None:
        found.append((document["source"]["path"], plan.source.path))
    for column in document.get("columns", {}).values():
        given = column.get("hierarchy", {}).get("csv")
        if given:
            found.append((given, folder / given))
    key = document.get("output", {}).get("pseudonym_key")
    method = document.get("method", {})
    named = [key, *(method.get(name) for name in ("ledger", "universe"))]
    return [*found, *((given, folder / given) for given in named if isinstance(given, str))]


@dataclass
class Projects:
    """The projects of a server, below one folder."""

    root: Path
    folder: Path
    opened: dict[str, Project] = field(default_factory=dict)
    databases: frozenset[Database] = frozenset()

    def list_names(self) -> list[str]:
        """List the names of the projects, those without a plan yet included."""
        if not self.folder.is_dir():
            return []
        begun = (PLAN_FILE, TABLE_FILE)
        return sorted(item.name for item in self.folder.iterdir() if any((item / name).is_file() for name in begun))

    def get(self, name: str) -> Project:
        """Return a project by name; raise LookupError if there is none."""
        if sanitize_name(name, "") != name:
            raise LookupError
        project = self.opened.get(name)
        if project is None:
            folder = self.folder / name
            if folder.is_symlink() or not any((folder / file).is_file() for file in (PLAN_FILE, TABLE_FILE)):
                raise LookupError
            project = Project(name, folder, self.root, databases=self.databases)
            if not (folder / PLAN_FILE).is_file():
                project.table = self._noted_table(folder)
            self.opened[name] = project
        return project

    def note_table(self, project: Project) -> None:
        """Note the table of a project without a plan, for the next start."""
        if project.table is not None:
            with open(project.folder / TABLE_FILE, "w", encoding="utf-8", opener=open_private) as file:
                json.dump({"table": str(project.table)}, file)

    def _noted_table(self, folder: Path) -> Path:
        """Return the table that was noted; raise LookupError if it is no more."""
        try:
            noted = json.loads((folder / TABLE_FILE).read_text(encoding="utf-8"))
            return confine_table(self.root, Path(noted["table"]))
        except (OSError, ValueError, TypeError, KeyError, InputError):
            raise LookupError from None

    def make(self, wanted: str) -> Project:
        """Create a project in a new folder that only the user can read."""
        stem = sanitize_name(wanted, "project")
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for number in range(1, 10_000):
            name = stem if number == 1 else f"{stem}-{number}"
            with contextlib.suppress(FileExistsError):
                (self.folder / name).mkdir(mode=0o700)
                made = Project(name, self.folder / name, self.root, databases=self.databases)
                self.opened[name] = made
                return made
        raise InputError("page.too-many-projects")

    def open_path(self, path: Path) -> Project:
        """Create a project for a table, or for a plan and its table."""
        real = confine_table(self.root, path)
        if not real.exists():
            raise InputError("page.no-such-file")
        if real.suffix.lower() != ".toml":
            confine_readable_table(self.root, path)
            project = self.make(table_stem(real.name))
            project.table = real
            return project
        try:
            text = real.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise InputError("page.plan-not-utf-8") from None
        fault = find_syntax_error(text)
        if fault is not None:
            raise fault["error"]
        given = [section[key] for section, key in path_entries(tomllib.loads(text))]
        project = self.make(table_stem(real.name))
        project.save(relocate(text, {item: _seen_from(project.folder, item, real.parent / item) for item in given}))
        return project

    def open_sample(self, sample: str) -> Project:
        """Create a project with a sample table."""
        if sample not in SAMPLES:
            raise InputError("page.unknown-sample", allowed=", ".join(SAMPLES))
        project = self.make(sample)
        if sample == "patients":
            from shoal.datasets.patients import FOLDER

            shutil.copyfile(FOLDER / "patients.csv", project.folder / "patients.csv")
            project.save((FOLDER / "patients.toml").read_text(encoding="utf-8"))
        else:
            project.table = project.folder / SAMPLES[sample]
        return project

    def remove(self, project: Project) -> None:
        """Delete a project for good, with the copy of its table."""
        self.opened.pop(project.name, None)
        shred(project.folder)
