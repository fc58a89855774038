"""The plan of a release, read from TOML or built in Python.

    [source]          path, format, time_zone; for CSV: delimiter, quote, header, encoding, missing, trim, names,
                      rename, decimal, thousands; for others: sheet, table, query, database, driver, user_missing,
                      values
    [columns.NAME]    role, hierarchy, levels, unmatched, categories, order, harmless, missing, pseudonym, exact, shift,
                      relative_to
    [[models]]        name and parameters, known
    [[keys]]          columns, k, models
    [[scenarios]]     name, columns, plus, k, reading, models
    together = true
    [method]          name and parameters
    [output]          path, overwrite, report, spreadsheet_safe, pseudonym_key; table, database, certificate_file
    [engine]          memory, threads, name (duckdb, spark), master and options of Spark
    [recipient]       kind (public, researchers, colleagues), signed
    [review]          status (draft, reviewed), by, on, of
    seed = 0

Paths are relative to the plan file. Reading a plan validates everything except what depends on the data; that is
validated when the data is read.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from shoal.errors import HierarchyError, PlanError, ShoalError
from shoal.io.engines.base import EngineSettings, Source
from shoal.io.formats import STANDARD
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.io.formats.urls import address_of, path_or_address, refuse_address
from shoal.io.publish import certificate_of, report_of
from shoal.methods import METHODS, FullDomain, Method
from shoal.methods.scenarios import require_scenarios_supported
from shoal.models import (
    AllOf,
    KeySet,
    Model,
    Scenario,
    combine,
    partial_knowledge_models,
    size_of_groups,
    without_scenarios,
)
from shoal.models.by_people import as_people_models
from shoal.models.partial_knowledge import bind_keys
from shoal.models.scenarios import Reading, bind_scenarios
from shoal.plan.coerce import (
    ColumnLike,
    MethodLike,
    ModelsLike,
    as_column,
    as_method,
    as_model,
    as_models,
    build_model,
)
from shoal.plan.review import Recipient, RecipientKind, Review, digest_of_plan
from shoal.plan.variables import (
    MISPLACED_VARIABLE_HINT,
    apply_changes,
    escaped,
    fill_in,
    has_misplaced_variable,
    masked_errors,
)
from shoal.render import Displayable, Grid, Summary
from shoal.runtime.validation import Name, Validated, build_from_section
from shoal.schema import HIERARCHIES, BaseHierarchy, Categories, Column, Hierarchy, Role, Schema, Shift
from shoal.schema.columns import Missing, Unmatched
from shoal.schema.hierarchy import as_text, changed_fields, plan_value

MAX_SEED = 2**64 - 1
SOURCE_OPTIONS = ("sheet", "table", "query", "database", "driver", "user_missing", "values")


@dataclass(frozen=True)
class Output(Validated):
    """Destination of a release, its certificate and its report.

    Attributes
    ----------
    path
        A file. With ``-``, the verified table goes to standard output, without papers. In an object store
        (``s3://bucket/name.csv``) the certificate is put last, and names the objects.
    overwrite
        Whether a release that is there may be replaced.
    report
        Whether a report is written.
    spreadsheet_safe
        Whether cells of a CSV that a spreadsheet would run as a formula get an apostrophe in front.
    pseudonym_key
        The file of the key of the pseudonyms.
    table
        The name of the table in a database, or of the sheet in a workbook.
    database
        A PostgreSQL server: ``env:NAME``, the environment variable that holds its address, or ``service:NAME``.
    certificate_file
        Where the certificate of a release to a database is written as a file, too.

    Examples
    --------
    >>> from pathlib import Path
    >>> import shoal
    >>> shoal.Output(Path("released.csv"), overwrite=True).certificate.name
    'released.certificate.json'
    """

    path: Path = STANDARD
    overwrite: bool = False
    report: bool = True
    spreadsheet_safe: bool = False
    pseudonym_key: Path | None = None
    table: Name | None = None
    database: Name | None = None
    certificate_file: Path | None = None
    written: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    """Texts of the plan before variables were filled in, by key."""

    def __post_init__(self) -> None:
        if self.database is not None and (self.table is None or self.path != STANDARD):
            raise PlanError("databases.release-needs-table")
        if self.certificate_file is not None and self.database is None:
            raise PlanError("output.certificate-file-without-database")
        refuse_address(self.path)

    @property
    def is_standard(self) -> bool:
        """Return whether the table is written to standard output."""
        return self.path == STANDARD and self.database is None

    @property
    def certificate(self) -> Path:
        """Path of the certificate: released.csv -> released.certificate.json."""
        return certificate_of(self.path)

    @property
    def report_path(self) -> Path:
        """Path of the report: released.csv -> released.report.html."""
        return report_of(self.path)


@dataclass(frozen=True, init=False, repr=False)
class Plan(Displayable, Validated):
    """Specification of a release: columns, models, method, source and output.

    A plan is immutable; :meth:`with_` returns a changed copy.

    Parameters
    ----------
    schema, columns
        The columns by name, given as one or the other. Each is a :class:`Column`, a role such as ``"sensitive"``, or
        the hierarchy of a quasi-identifier (:mod:`shoal.hierarchies`).
    models
        The models that every group must satisfy: models, their texts such as ``"k-anonymity k=5"``, or a single one.
    method
        The method that forms the groups: a method or its name, such as ``"mondrian"``; full-domain by default.
    source, output
        Location of the table and destination of the release, for :func:`shoal.release`; a path is enough.
    engine
        The engine that processes the table, and its memory.
    seed
        Seed of the random number generator.
    keys
        Sets of columns that an intruder knows jointly. If there are any, models apply to each of them instead of to all
        quasi-identifiers.
    scenarios
        What kinds of intruders know together, with models of their own.
    together
        Whether the models bind all quasi-identifiers together, beside the scenarios; if not, they bind the crowds of
        each scenario instead.
    recipient, review
        Who receives the release, and who has read the plan.

    Examples
    --------
    >>> from shoal import Plan
    >>> from shoal.hierarchies import intervals
    >>> plan = Plan(columns={"name": "identifier", "age": intervals(5, 10)}, models="k-anonymity k=5")
    >>> plan.with_(k=10, method="mondrian").models
    (KAnonymity(k=10),)
    """

    schema: Schema
    models: tuple[Model, ...]
    method: Method = field(default_factory=FullDomain)
    source: Source | None = None
    output: Output | None = None
    engine: EngineSettings = field(default_factory=EngineSettings)
    seed: Annotated[int, Ge(0), Le(MAX_SEED)] = 0
    keys: tuple[KeySet, ...] = ()
    scenarios: tuple[Scenario, ...] = ()
    together: bool = True
    recipient: Recipient | None = None
    review: Review | None = None
    files: tuple[Path, ...] = field(default=(), compare=False, repr=False)
    """The plan file and the hierarchy files that it names."""
    written: Mapping[tuple[str, ...], str] = field(default_factory=dict, compare=False, repr=False)
    """Texts of the plan before variables were filled in, by location."""

    def __init__(
        self,
        schema: Schema | Mapping[str, ColumnLike] | None = None,
        models: ModelsLike = (),
        method: MethodLike | None = None,
        source: Source | Path | str | None = None,
        output: Output | Path | str | None = None,
        engine: EngineSettings | None = None,
        seed: int = 0,
        keys: Sequence[KeySet] = (),
        files: Sequence[Path] = (),
        written: Mapping[tuple[str, ...], str] | None = None,
        *,
        columns: Mapping[str, ColumnLike] | None = None,
        scenarios: Sequence[Scenario] = (),
        together: bool = True,
        recipient: Recipient | None = None,
        review: Review | None = None,
    ) -> None:
        if (schema is None) == (columns is None):
            raise PlanError("plan.no-columns")
        values = {
            "schema": _as_schema(columns if schema is None else schema),
            "models": _as_models(models),
            "method": FullDomain() if method is None else method if isinstance(method, Method) else as_method(method),
            "source": Source(Path(source)) if isinstance(source, str | Path) else source,
            "output": Output(Path(output)) if isinstance(output, str | Path) else output,
            "engine": EngineSettings() if engine is None else engine,
            "seed": seed,
            "keys": keys,
            "scenarios": scenarios,
            "together": together,
            "recipient": recipient,
            "review": review,
            "files": files,
            "written": {} if written is None else written,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self.__post_init__()

    def __post_init__(self) -> None:
        if not self.schema.quasi_identifiers:
            raise PlanError("plan.no-quasi-identifier")
        if self.schema.person and self.method.why_not_people is not None:
            raise PlanError("method.cannot-count-people", method=self.method.name, reason=self.method.why_not_people)
        if self.keys and (self.scenarios or not self.together):
            raise PlanError("scenarios.with-key-sets")
        self._check_linked()
        self._check_keys()
        require_scenarios_supported(self.method, self.schema, self.model)
        self.method.check(self.schema, without_scenarios(self.model))

    def _check_linked(self) -> None:
        """Check that the models and the method fit rows that can be linked.

        Rows of a person are linked by a pseudonym, by moved dates or because a model says so.
        """
        if self.schema.moved and not self.schema.person:
            raise PlanError("columns.shift-needs-person", column=self.schema.moved[0])
        linked = [part for part in self.model_of_rows.parts if part.requires_people]
        if self.schema.linked and not linked:
            raise PlanError("pseudonyms.need-trajectory-anonymity")
        if linked and not self.schema.person:
            raise PlanError("people.no-person-column", model=linked[0].name)
        if linked and not self.method.supports_linked_rows:
            serve = ", ".join(name for name, method in METHODS.items() if method.supports_linked_rows)
            raise PlanError("method.not-for-linked-rows", method=self.method.name, model=linked[0].name, allowed=serve)

    def _check_keys(self) -> None:
        """Check that key sets and ``known`` fit the columns and the method."""
        names = self.schema.quasi_identifiers
        if not partial_knowledge_models(self.model_of_rows):
            return
        for key in self.keys:
            key.require(names)
        if len({frozenset(key.columns) for key in self.keys}) < len(self.keys):
            raise PlanError("plan.key-set-twice")
        parts = partial_knowledge_models(self.model)
        for part in parts:
            part.require(names)
        if parts and not self.method.supports_partial_knowledge:
            serve = ", ".join(name for name, method in METHODS.items() if method.supports_partial_knowledge)
            raise PlanError("method.not-for-known", method=self.method.name, allowed=serve)

    @property
    def inputs(self) -> dict[str, tuple[Path, ...]]:
        """Input files of the plan by kind; a release must not overwrite them."""
        from shoal.io.formats.partitioned import matching_files

        source = None if self.source is None else self.source.path
        key = None if self.output is None else self.output.pseudonym_key
        return {
            **({} if source is None else {"source": matching_files(source)}),
            **({} if key is None else {"key of the pseudonyms": (key,)}),
            "plan or one of its files": (*self.files, *self.method.files),
        }

    def summary(self) -> Summary:
        """Summarize columns, models, method, source and output."""
        rows = []
        for name, column in self.columns.items():
            section = _column_section(column)
            role = section.pop("role")
            rows.append((name, role, ", ".join(f"{key} = {_inline(value)}" for key, value in section.items())))
        settings = ", ".join(
            f"{key} = {_inline(value)}" for key, value in self.method.to_plan().items() if key != "name"
        )
        sentences = [
            f"Models: {'; '.join(map(str, self.models)) or 'none'}.",
            f"Method: {self.method.name}{f' ({settings})' if settings else ''}.",
        ]
        for what, location in (("Source", self.source), ("Output", self.output)):
            if location is not None and location.path is not None:
                sentences.append(f"{what}: {path_or_address(location.path)}.")
        return Summary("Plan", (), sentences, [Grid("Columns", ("column", "role", "how"), rows)])

    @property
    def review_status(self) -> str | None:
        """Status of the review: draft, reviewed, changed; None without one."""
        if self.review is None or self.review.status == "draft":
            return None if self.review is None else "draft"
        return "reviewed" if self.review.of == digest_of_plan(self) else "changed"

    @property
    def columns(self) -> Mapping[str, Column]:
        """Columns by name."""
        return self.schema.columns

    def with_(
        self,
        *,
        columns: Mapping[str, ColumnLike] | None = None,
        models: ModelsLike | None = None,
        method: MethodLike | None = None,
        k: int | None = None,
        suppression: float | None = None,
        source: Source | Path | str | None = None,
        output: Output | Path | str | None = None,
        engine: EngineSettings | None = None,
        seed: int | None = None,
    ) -> Plan:
        """Return a copy of the plan with some parts replaced.

        Of ``columns``, only the named ones change. ``k`` changes the models that require a group size.
        """
        changed_fields: dict[str, Any] = {"source": source, "output": output, "engine": engine, "seed": seed}
        changed_fields = {name: value for name, value in changed_fields.items() if value is not None}
        if columns is not None:
            changed_fields["schema"] = {**self.columns, **columns}
        if models is not None or k is not None:
            chosen = self.models if models is None else as_models(models)
            if k is not None and size_of_groups(chosen, None) is None:
                raise PlanError("models.no-group-size")
            changed_fields["models"] = chosen if k is None else tuple(model.with_group_size(k) for model in chosen)
        if method is not None or suppression is not None:
            changed_fields["method"] = as_method(self.method if method is None else method, suppression)
        return replace(self, **changed_fields)

    @property
    def model(self) -> AllOf:
        """Conjunction of all models; it counts people if there is a person column."""
        return as_people_models(self.model_of_rows) if self.schema.person else self.model_of_rows

    @property
    def model_of_rows(self) -> AllOf:
        """Conjunction of all models, counting rows.

        It contains the models of the plan and those that the method guarantees by itself.
        """
        required = bind_keys(self.models, self.keys)
        if self.scenarios or not self.together:
            quasi, sensitive = self.schema.quasi_identifiers, self.schema.sensitive_known_to_others
            required = bind_scenarios(self.models, self.scenarios, quasi, sensitive, jointly=self.together)
        parts = (*required, *(model for model in self.method.promises if model not in required))
        return combine(parts) if parts or self.method.needs_model else AllOf()

    @classmethod
    def read(cls, path: Path | str, changes: Sequence[str] = ()) -> Plan:
        """Read a plan file (TOML).

        ``changes`` replace single values of the file, such as ``seed=3``.
        """
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8-sig")
        except OSError as error:
            raise PlanError("plan.not-readable", file=str(path), reason=error.strerror) from None
        except UnicodeDecodeError:
            raise PlanError("plan.not-utf-8", file=str(path)) from None
        plan = cls.from_dict(apply_changes(_from_toml(text, f"Plan {str(path)!r}"), changes), path.parent)
        return replace(plan, files=(path, *plan.files))

    @classmethod
    def from_toml(cls, text: str, folder: Path | None = None) -> Plan:
        """Build a plan from TOML text; paths are relative to ``folder``."""
        return cls.from_dict(_from_toml(text, "The plan"), folder)

    def to_toml(self) -> str:
        """Return the plan as the text of a plan file.

        ``Plan.from_toml(plan.to_toml()) == plan``.
        """
        import tomli_w

        return tomli_w.dumps(self.to_dict())

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], folder: Path | None = None) -> Plan:
        """Build a plan from the contents of a plan file.

        Paths are relative to ``folder``. A column may be given as its role, a model as its text, a method as its name;
        objects are accepted too.
        """
        folder = folder or Path()
        document, written = fill_in(_expand_short_forms(document))
        with masked_errors(written):
            try:
                return cls._from_filled(document, written, folder)
            except PlanError as error:
                if has_misplaced_variable(document):
                    raise PlanError("plan.misplaced-variable", reason=error, hint=MISPLACED_VARIABLE_HINT) from None
                raise

    @classmethod
    def _from_filled(cls, document: Mapping[str, Any], written: Mapping[tuple[str, ...], str], folder: Path) -> Plan:
        try:
            sections = _Document.model_validate(document)
        except ValidationError as error:
            raise _first_fault(error) from None
        except RecursionError:
            raise PlanError("plan.nested-too-deeply") from None
        schema = Schema({name: _column(name, section, folder) for name, section in sections.columns.items()})
        models = tuple(build_model(section) for section in sections.models)
        keys = tuple(
            KeySet(tuple(section.columns), section.k, tuple(build_model(model) for model in section.models))
            for section in sections.keys
        )
        method: Method = FullDomain()
        if sections.method:
            method = build_from_section(METHODS, sections.method, "method").located(folder)
        source = output = None
        if sections.source is not None:
            source = replace(sections.source.build(folder), written=_texts_in_section(written, "source"))
        if sections.output is not None:
            output = replace(sections.output.build(folder), written=_texts_in_section(written, "output"))
        settings = EngineSettings(**dict(sections.engine))
        hierarchies = (section.hierarchy or {} for section in sections.columns.values())
        files = tuple(folder / given["csv"] for given in hierarchies if "csv" in given)
        return cls(
            schema, models, method, source, output, settings, sections.seed, keys, files, written,
            scenarios=tuple(section.build() for section in sections.scenarios),
            together=sections.together,
            recipient=None if sections.recipient is None else Recipient(**dict(sections.recipient)),
            review=None if sections.review is None else Review(**dict(sections.review)),
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as the contents of a plan file.

        ``Plan.from_dict(plan.to_dict()) == plan``. Default values are omitted. A table in memory cannot be written to a
        file, and is omitted as well.
        """
        document: dict[str, Any] = {}
        if self.source is not None and self.source.frame is None:
            document["source"] = changed_fields(self.source, "frame", "csv", "reading", "written") | changed_fields(
                self.source.csv, "skip"
            )
        document["columns"] = {name: _column_section(column) for name, column in self.schema.columns.items()}
        document["models"] = [model.to_plan() for model in self.models]
        if self.keys:
            document["keys"] = [key.to_plan() for key in self.keys]
        if self.scenarios:
            document["scenarios"] = [scenario.to_plan() for scenario in self.scenarios]
        if not self.together:
            document["together"] = False
        document["method"] = self.method.to_plan()
        if self.output is not None:
            document["output"] = changed_fields(self.output, "written")
        for section, location in (("source", self.source), ("output", self.output)):
            if location is not None and location.path is not None and "path" in document.get(section, {}):
                document[section]["path"] = path_or_address(location.path)
        if settings := changed_fields(self.engine):
            document["engine"] = settings
        if self.seed:
            document["seed"] = self.seed
        if self.recipient is not None:
            document["recipient"] = changed_fields(self.recipient)
        if self.review is not None:
            document["review"] = changed_fields(self.review)
        return escaped(document)

    def to_certificate_dict(self) -> dict[str, Any]:
        """Return the plan as published in the certificate.

        It has no details of the machine: files appear by name only; the path of the pseudonym key and the engine are
        omitted.
        """
        document = self.to_dict()
        document.pop("engine", None)
        document.pop("review", None)  # its status alone is published
        for section, location in (("source", self.source), ("output", self.output)):
            if section in document and location is not None:
                document[section] |= {key: text for key, text in location.written.items() if key in document[section]}
                document[section].pop("pseudonym_key", None)
                document[section].pop("certificate_file", None)
                if "path" in document[section]:
                    document[section]["path"] = Path(document[section]["path"]).name
        for name, column in document["columns"].items():
            if "csv" in column.get("hierarchy", {}):
                given = self.written.get(("columns", name, "hierarchy", "csv"), column["hierarchy"]["csv"])
                column["hierarchy"]["csv"] = Path(given).name
        parameters = self.method.parameters
        document["method"] = {
            key: value if key == "name" else self.written.get(("method", key)) or plan_value(parameters[key])
            for key, value in document["method"].items()
            if key == "name" or key in parameters
        }
        return document


def _texts_in_section(written: Mapping[tuple[str, ...], str], section: str) -> dict[str, str]:
    return {location[1]: text for location, text in written.items() if location[0] == section and len(location) == 2}


def _from_toml(text: str, what: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PlanError("plan.not-toml", subject=what, reason=error) from None
    except (RecursionError, ValueError):  # nested too deeply, or a number of too many digits
        raise PlanError("plan.toml-too-deep", subject=what) from None


def _as_schema(given: object) -> object:
    """Convert columns to a schema; field validation rejects anything else."""
    if not isinstance(given, Mapping):
        return given
    return Schema({name: as_column(column) for name, column in given.items()})


def _as_models(given: object) -> object:
    """Convert to models; field validation rejects anything else."""
    if isinstance(given, str | Model | Mapping):
        return (as_model(given),)
    if not isinstance(given, list | tuple):
        return given
    return tuple(as_model(model) if isinstance(model, str | Mapping) else model for model in given)


def _expand_short_forms(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Expand every short form in the contents of a plan file.

    Anything that is not a short form stays as it is.
    """
    written = dict(document)
    columns, models, method = (written.get(key) for key in ("columns", "models", "method"))
    if isinstance(columns, Mapping):
        short = (str, Column, Hierarchy)
        written["columns"] = {
            name: _column_section(as_column(column)) if isinstance(column, short) else column
            for name, column in columns.items()
        }
    if isinstance(models, str | Model):
        models = [models]
    if isinstance(models, list | tuple):
        written["models"] = [as_model(m).to_plan() if isinstance(m, str | Model) else m for m in models]
    if isinstance(method, str | Method) or (isinstance(method, type) and issubclass(method, Method)):
        written["method"] = {"name": method} if isinstance(method, str) else as_method(method).to_plan()
    return written


def resolve_path(path: str, folder: Path) -> Path:
    """Resolve a path of a plan against the plan's folder.

    ``-`` is standard input or output; ``s3://...`` is the address of an object store and stays as it is.
    """
    refuse_address(Path(path))
    if path == str(STANDARD):
        return STANDARD
    return folder / path if address_of(Path(path)) is None else Path(path)


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class _Source(_Section):
    path: str | None = Field(None, min_length=1)
    format: str | None = None
    delimiter: str | None = Field(None, min_length=1, max_length=1)
    quote: str | None = Field(None, min_length=1, max_length=1)
    header: bool | None = None
    encoding: str | None = None
    missing: list[str] = []
    trim: bool = False
    names: list[str] = []
    rename: bool = False
    decimal: Literal[".", ","] | None = None
    thousands: Literal[".", ",", " ", "'"] | None = None
    time_zone: str = "UTC"
    sheet: str | int | None = None
    table: str | None = None
    query: str | None = None
    database: str | None = None
    driver: str | None = None
    user_missing: Literal["missing", "keep"] = "missing"
    values: Literal["codes", "labels"] = "codes"

    def build(self, folder: Path) -> Source:
        form = CsvFormat(
            self.delimiter,
            self.quote,
            self.header,
            self.encoding,
            tuple(self.missing),
            self.trim,
            tuple(self.names),
            rename=self.rename,
            decimal=self.decimal,
            thousands=self.thousands,
        )
        options = {key: getattr(self, key) for key in SOURCE_OPTIONS}
        if self.path is None and self.database is None:
            raise PlanError("plan.no-source-path")
        path = None if self.path is None else resolve_path(self.path, folder)
        return Source(path, None, form, self.format, self.time_zone, **options)


class _Column(_Section):
    role: Role
    hierarchy: dict[str, Any] | None = None
    categories: list[list[Any]] | None = None
    category_names: list[str] | None = None
    order: list[Any] | None = None
    publish: Literal["values", "categories", "both"] = "values"
    pseudonym: bool = False
    exact: bool = False
    shift: dict[str, Any] | None = None
    relative_to: Literal["first"] | None = None
    levels: int | None = Field(None, ge=1, strict=True)
    unmatched: Unmatched = "error"
    harmless: list[Any] = []
    missing: Missing = "unknown"
    known_to_others: bool = True


class _Output(_Section):
    path: str | None = None
    overwrite: bool = False
    report: bool = True
    spreadsheet_safe: bool = False
    pseudonym_key: str | None = Field(None, min_length=1)
    table: str | None = Field(None, min_length=1)
    database: str | None = Field(None, min_length=1)
    certificate_file: str | None = Field(None, min_length=1)

    def build(self, folder: Path) -> Output:
        key = None if self.pseudonym_key is None else folder / self.pseudonym_key
        certificate_file = None if self.certificate_file is None else folder / self.certificate_file
        if self.path is None and self.database is None:
            raise PlanError("plan.no-output-path")
        path = STANDARD if self.path is None else resolve_path(self.path, folder)
        return Output(
            path, self.overwrite, self.report, self.spreadsheet_safe, key, self.table, self.database, certificate_file
        )


class _Engine(_Section):
    memory: str | None = None
    threads: int | None = Field(None, ge=1)
    name: str | None = None
    master: str | None = Field(None, min_length=1)
    options: dict[str, str] = {}


class _Key(_Section):
    columns: list[str]
    k: int | None = Field(None, strict=True)
    models: list[dict[str, Any]] = []


class _Scenario(_Section):
    name: str
    columns: list[str] = []
    plus: int = Field(0, strict=True)
    k: int | None = Field(None, strict=True)
    models: list[dict[str, Any]] = []
    reading: Reading = "strict"

    def build(self) -> Scenario:
        models = tuple(build_model(model) for model in self.models)
        return Scenario(self.name, tuple(self.columns), self.plus, self.k, models, self.reading)


class _Recipient(_Section):
    kind: RecipientKind
    signed: bool = False


class _Review(_Section):
    status: Literal["draft", "reviewed"]
    by: str | None = Field(None, min_length=1)
    on: str | None = Field(None, min_length=1)
    of: str | None = Field(None, min_length=1)


class _Document(_Section):
    source: _Source | None = None
    columns: dict[str, _Column]
    models: list[dict[str, Any]] = []
    keys: list[_Key] = []
    scenarios: list[_Scenario] = []
    together: bool = True
    method: dict[str, Any] | None = None
    output: _Output | None = None
    engine: _Engine = Field(default_factory=lambda: _Engine.model_validate({}))
    seed: int = Field(0, strict=True)
    recipient: _Recipient | None = None
    review: _Review | None = None


def _first_fault(error: ValidationError) -> PlanError:
    """Return the first of a plan's faults, with the number of all."""
    fault = error.errors(include_url=False, include_input=False)[0]
    where = tuple(str(part) for part in fault["loc"])
    count = error.error_count()
    more = PlanError("plan.several-faults", faults=count) if count > 1 else ""
    if fault["type"] == "extra_forbidden":
        return PlanError("plan.unknown-key", where=where, key=".".join(where), more=more)
    if fault["type"] == "missing":
        return PlanError("plan.lacks-key", where=where, key=".".join(where), more=more)
    return PlanError("plan.unusable-key", where=where, key=".".join(where), reason=fault["msg"], more=more)


def _column(name: str, section: _Column, folder: Path) -> Column:
    hierarchy = None if section.hierarchy is None else build_hierarchy(section.hierarchy, name, folder)
    order = None if section.order is None else tuple(map(as_text, section.order))
    try:
        categories = None
        if section.categories is not None:
            classes = tuple(tuple(map(as_text, values)) for values in section.categories)
            categories = Categories(classes, None if section.category_names is None else tuple(section.category_names))
        shift = None if section.shift is None else _shift(section.shift)
        return Column(
            section.role, hierarchy, categories, order, section.publish, section.pseudonym, section.exact, shift,
            section.relative_to, section.levels, section.unmatched, tuple(map(as_text, section.harmless)),
            section.missing, section.known_to_others,
        )  # fmt: skip
    except PlanError as error:
        raise PlanError("columns.not-usable", column=name, reason=error) from None


def _shift(section: Mapping[str, Any]) -> Shift:
    if set(section) - {"days", "per"} or "days" not in section:
        raise PlanError("columns.shift-badly-written")
    return Shift(**section)


def build_hierarchy(document: Mapping[str, Any], name: str, folder: Path) -> Hierarchy:
    """Build a hierarchy from its entry such as ``{ intervals = [5, 10] }``."""
    found = [key for key in HIERARCHIES if key in document]
    if len(found) != 1:
        raise PlanError(
            "hierarchies.not-exactly-one-kind",
            column=name,
            allowed=", ".join(HIERARCHIES),
            found=", ".join(found) or "none of them",
        )
    kind = HIERARCHIES[found[0]]
    options = {key: value for key, value in document.items() if key != found[0]}
    if unknown := set(options) - set(kind.options):
        raise PlanError("hierarchies.unknown-key", column=name, found=sorted(unknown)[0], kind=found[0])
    try:
        return kind.from_plan(found[0], document[found[0]], options, folder)
    except HierarchyError as error:
        raise HierarchyError("hierarchies.not-usable", column=name, reason=error) from None
    except ShoalError:
        raise
    except Exception:  # whatever failed, the entry is not a valid hierarchy
        raise PlanError("hierarchies.badly-written", kind=found[0], column=name, example=kind.example) from None


def _drop_none(section: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in section.items() if value is not None}


def _column_section(column: Column) -> dict[str, Any]:
    section = changed_fields(column, "hierarchy", "categories")
    if column.hierarchy is not None:
        made = column.hierarchy  # a plan cannot express every third-party hierarchy
        section["hierarchy"] = made.to_plan() if isinstance(made, BaseHierarchy) else {"kind": type(made).__name__}
    if column.categories is not None:
        section["categories"] = [list(values) for values in column.categories.classes]
        section |= _drop_none({"category_names": plan_value(column.categories.names)})
    return section | {"role": str(column.role)}


def _inline(value: Any) -> str:
    """Format a value on one line, as in a plan file."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {_inline(item)}' for key, item in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_inline, value))}]"
    return str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else str(value)


def plain(value: Any) -> Any:
    """Convert a value to JSON types.

    Numbers and text stay as they are; dates, infinities and fractions become text.
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    if isinstance(value, bool | int | str) or value is None or (isinstance(value, float) and math.isfinite(value)):
        return value
    return str(value)


PlanLike = Plan | Mapping[str, Any] | str | Path
"""A plan, the contents of a plan file, or the path of a plan file."""


def as_plan(plan: PlanLike) -> Plan:
    """Convert a plan, the contents of a plan file or its path to a plan."""
    if isinstance(plan, Plan):
        return plan
    return Plan.from_dict(plan) if isinstance(plan, Mapping) else Plan.read(plan)
