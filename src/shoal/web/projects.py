"""Projects: folders with a plan, its releases and a log of what was tried. No database, nothing hidden.

    shoal-projects/patients/
      plan.toml            what the page shows and changes; `shoal release plan.toml` runs it
      table.csv            only where the table was uploaded, pasted or is a sample
      releases/1/          each release with its certificate, report, plan and, where there is one, recoding
      keys/pseudonyms      only where pseudonyms are published: what makes them, and is never handed out
      log.jsonl            a line for each run: when, what, how it ended, figures; no value of a row

A project belongs to the session that made it, or opened it first since the server's start; others do not see it.
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
from shoal.web.file_access import Database, check_document, confine, confine_table, plain_name
from shoal.web.plan_edits import fault_of, relocate
from shoal.web.runs import Run

__all__ = ["PLAN", "Project", "Projects", "private"]

PLAN = "plan.toml"
LOG = "log.jsonl"
KEY = "keys/pseudonyms"
SAMPLES = {"patients": "patients.csv", "census": "census.csv"}


def private(path: str, flags: int) -> int:
    """Open a file that nobody but the user can read."""
    return os.open(path, flags, 0o600)


@dataclass
class Project:
    """One project: its folder, whose it is, and what its latest runs have found."""

    name: str
    folder: Path
    root: Path
    owner: str | None = None
    latest: dict[str, Run] = field(default_factory=dict)
    asked_of: dict[str, str] = field(default_factory=dict)
    """By action (and column): the digest of the plan that the latest run was asked of."""
    table: Path | None = None
    """The table, until there is a plan that names it."""
    databases: frozenset[Database] = frozenset()
    """What may be read beside files."""
    seen: set[str] = field(default_factory=set)
    """Steps of the page that somebody has looked at since the server's start."""
    _parsed: tuple[str, Any] = ("", None)

    @property
    def text(self) -> str:
        """The plan as it is written; empty where there is none yet."""
        try:
            return (self.folder / PLAN).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError):
            return ""

    @property
    def digest(self) -> str:
        """Which plan this is."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def save(self, text: str) -> dict[str, Any] | None:
        """Keep a plan's text, if it is TOML at all; returns the fault where it is not."""
        fault = fault_of(text)
        if fault is None:
            handle, beside = tempfile.mkstemp(dir=self.folder)  # private to the user
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            os.replace(beside, self.folder / PLAN)
        return fault

    def document(self) -> dict[str, Any]:
        """The plan as tables and lists; empty where there is none."""
        with contextlib.suppress(tomllib.TOMLDecodeError, RecursionError, ValueError):
            return tomllib.loads(self.text)
        return {}

    def plan(self) -> Any:
        """The plan, read and checked, with all that it names below the root; raises where it cannot run."""
        from shoal.plan.plan import Plan

        text = self.text
        if not text:
            raise PlanError("There is no plan yet: the table is still being looked at.")
        if self._parsed[0] != text:
            check_document(self.root, self.folder, self.document(), self.databases)
            plan = Plan.read(self.folder / PLAN)
            for file in (*plan.files, *plan.method.files):
                confine(self.root, Path(file))
            self._parsed = (text, plan)
        return self._parsed[1]

    def error(self) -> str | None:
        """Why the plan cannot run as it is; None where it can."""
        try:
            self.plan()
        except ShoalError as error:
            return str(error)
        return None

    @property
    def keyless(self) -> bool:
        """Whether neither the plan nor the environment names a key of the pseudonyms."""
        from shoal.table.pseudonyms import KEY_VARIABLE

        output = self.document().get("output")
        return not os.environ.get(KEY_VARIABLE) and not (isinstance(output, dict) and output.get("pseudonym_key"))

    def key(self) -> str:
        """The file of a key of the pseudonyms, as the plan names it; made where there is none.

        It stands in a folder of its own, for it must never lie beside a release.
        """
        file = self.folder / KEY
        file.parent.mkdir(mode=0o700, exist_ok=True)
        with contextlib.suppress(FileExistsError), open(file, "xb", opener=private) as made:
            made.write(secrets.token_bytes(32))
        return KEY

    def log(self, run: Run) -> None:
        """Note a run that has ended."""
        told = {key: (run.result or {}).get(key) for key in ("released", "groups", "loss", "output")}
        entry = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "action": run.action,
            "state": run.state,
            "plan": self.digest[:12],
            **{key: value for key, value in told.items() if value is not None},
            **({"error": run.error["kind"]} if run.error else {}),
        }
        with contextlib.suppress(OSError), (self.folder / LOG).open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    # -- releases ----------------------------------------------------------------------------------

    def new_release(self) -> Path:
        """A folder for the next release, private to the user, with the plan as it can be run from there."""
        plan, text = self.plan(), self.text
        folder = self.folder / "releases"
        folder.mkdir(mode=0o700, exist_ok=True)
        number = 1 + max((int(item.name) for item in folder.iterdir() if item.name.isdigit()), default=0)
        made = folder / str(number)
        made.mkdir(mode=0o700)
        named = _named_files(tomllib.loads(text), plan, self.folder)
        moved = {given: Path(os.path.relpath(real, made)).as_posix() for given, real in named}
        (made / PLAN).write_text(relocate(text, moved), encoding="utf-8", newline="\n")
        return made

    def finish_release(self, folder: Path, result: dict[str, Any], of: str) -> None:
        """Lay the facts beside a release, which make it a whole one; ``of`` is the digest of its plan."""
        kept = json.dumps({"of": of, **{key: value for key, value in result.items() if key != "seconds"}})
        (folder / "facts.json").write_text(kept, encoding="utf-8")

    def releases(self) -> list[int]:
        """The numbers of whole releases, the latest last."""
        folder = self.folder / "releases"
        if not folder.is_dir():
            return []
        numbers = [int(item.name) for item in folder.iterdir() if item.name.isdigit()]
        return sorted(number for number in numbers if (folder / str(number) / "facts.json").is_file())

    @property
    def published(self) -> bool:
        """Whether a release stands at the plan's place."""
        try:
            return bool(self.plan().output.path.is_file())
        except (ShoalError, AttributeError, OSError):
            return False

    def release_folder(self, number: int) -> Path:
        """The folder of a whole release."""
        if number not in self.releases():
            raise InputError("There is no such release.")
        return self.folder / "releases" / str(number)

    def facts(self, number: int) -> dict[str, Any]:
        """What a release's run has told."""
        told: dict[str, Any] = json.loads((self.release_folder(number) / "facts.json").read_text(encoding="utf-8"))
        return told

    def files(self, number: int) -> list[Path]:
        """What can be published of a release: the table first."""
        folder = self.release_folder(number)
        table = folder / self.facts(number)["output"]
        others = sorted(f for f in folder.iterdir() if f.is_file() and f not in (table,) and f.name != "facts.json")
        return [table, *sorted(others, key=lambda file: file.name == PLAN)]


def _named_files(document: dict[str, Any], plan: Any, folder: Path) -> list[tuple[str, Path]]:
    found = []
    if plan.source is not None and plan.source.path is not None:
        found.append((document["source"]["path"], plan.source.path))
    for column in document.get("columns", {}).values():
        given = column.get("hierarchy", {}).get("csv")
        if given:
            found.append((given, folder / given))
    key = document.get("output", {}).get("pseudonym_key")
    return [*found, (key, folder / key)] if key else found


@dataclass
class Projects:
    """The projects of a server, below one folder."""

    root: Path
    folder: Path
    opened: dict[str, Project] = field(default_factory=dict)
    databases: frozenset[Database] = frozenset()

    def listed(self, session: str) -> list[str]:
        """Those that this session may open: its own, and those that nobody has opened yet."""
        if not self.folder.is_dir():
            return []
        names = [item.name for item in self.folder.iterdir() if (item / PLAN).is_file()]
        return sorted(name for name in names if self._may_open(name, session))

    def _may_open(self, name: str, session: str) -> bool:
        project = self.opened.get(name)
        return project is None or project.owner in (None, session)

    def get(self, name: str, session: str) -> Project:
        """A project by its name; raises LookupError where there is none for this session."""
        if plain_name(name, "") != name or not self._may_open(name, session):
            raise LookupError
        project = self.opened.get(name)
        if project is None:
            folder = self.folder / name
            if folder.is_symlink() or not (folder / PLAN).is_file():
                raise LookupError
            project = self.opened[name] = Project(name, folder, self.root, databases=self.databases)
        project.owner = project.owner or session
        return project

    def make(self, wanted: str, session: str | None) -> Project:
        """A new project in a folder of its own, private to the user."""
        stem = plain_name(wanted, "project")
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for number in range(1, 10_000):
            name = stem if number == 1 else f"{stem}-{number}"
            with contextlib.suppress(FileExistsError):
                (self.folder / name).mkdir(mode=0o700)
                made = Project(name, self.folder / name, self.root, session, databases=self.databases)
                self.opened[name] = made
                return made
        raise InputError("There are too many projects of this name; choose another.")

    def open_path(self, place: Path, session: str | None) -> Project:
        """A new project for a table, or for a plan with the table that it names."""
        real = confine_table(self.root, place)
        if not real.exists():
            raise InputError("There is no such file.")
        project = self.make(real.stem, session)
        if real.suffix.lower() != ".toml":
            project.table = real
            return project
        text = real.read_text(encoding="utf-8-sig")
        fault = fault_of(text)
        if fault is not None:
            shutil.rmtree(project.folder)
            raise InputError(fault["text"])
        given = _given_paths(tomllib.loads(text))
        project.save(relocate(text, {item: os.path.relpath(real.parent / item, project.folder) for item in given}))
        return project

    def open_sample(self, sample: str, session: str | None) -> Project:
        """A new project with a table of ours to play with."""
        if sample not in SAMPLES:
            raise InputError(f"The sample must be one of {', '.join(SAMPLES)}.")
        project = self.make(sample, session)
        if sample == "patients":
            from shoal.datasets.patients import FOLDER

            shutil.copyfile(FOLDER / "patients.csv", project.folder / "patients.csv")
            project.save((FOLDER / "patients.toml").read_text(encoding="utf-8"))
        else:
            project.table = project.folder / SAMPLES[sample]
        return project

    def remove(self, project: Project) -> None:
        """Forget a project that came to nothing, such as an upload that was broken off."""
        self.opened.pop(project.name, None)
        shutil.rmtree(project.folder, ignore_errors=True)


def _given_paths(document: dict[str, Any]) -> list[str]:
    found = [document.get("source", {}).get("path"), document.get("output", {}).get("pseudonym_key")]
    found += [column.get("hierarchy", {}).get("csv") for column in document.get("columns", {}).values()]
    return [item for item in found if isinstance(item, str)]
