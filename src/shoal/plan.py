"""The plan: what the user asks for, read from TOML or written in Python.

    [source]          path, time_zone, and for CSV: delimiter, quote, header, encoding, missing, trim, names
    [columns.NAME]    role, hierarchy, categories, order, pseudonym, exact
    [[models]]        name and parameters
    [method]          name and parameters
    [output]          path, overwrite, report, spreadsheet_safe, pseudonym_key
    [engine]          memory, threads, name (duckdb, spark), master and options of Spark
    seed = 0

Paths are relative to the plan file. Everything is checked when the plan is read; what depends on the data is
checked when the data is.
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

from shoal.checked import Checked, make
from shoal.engines.base import EngineSettings, Source
from shoal.engines.csv_format import CsvFormat
from shoal.errors import HierarchyError, PlanError, ShoalError
from shoal.methods import METHODS, FullDomain, Method
from shoal.models import MODELS, AllOf, Model, combine
from shoal.output import certificate_of, report_of
from shoal.schema import HIERARCHIES, BaseHierarchy, Categories, Column, Hierarchy, Role, Schema
from shoal.schema.base import as_text, changed, plan_value

__all__ = ["EngineSettings", "Output", "Plan", "parse_model"]

LARGEST_SEED = 2**64 - 1


@dataclass(frozen=True)
class Output(Checked):
    """Where the release goes; its certificate and, unless ``report`` is False, a report are written beside it.

    With ``spreadsheet_safe``, cells of a CSV that a spreadsheet would run as a formula get an apostrophe in front.
    ``pseudonym_key`` is the file of the key of the pseudonyms.
    """

    path: Path
    overwrite: bool = False
    report: bool = True
    spreadsheet_safe: bool = False
    pseudonym_key: Path | None = None

    @property
    def certificate(self) -> Path:
        """released.csv -> released.certificate.json."""
        return certificate_of(self.path)

    @property
    def report_path(self) -> Path:
        """released.csv -> released.report.html."""
        return report_of(self.path)


@dataclass(frozen=True)
class Plan(Checked):
    """What is asked for.

    >>> from shoal import Column, KAnonymity, Levels, Plan, Role, Schema
    >>> Plan(Schema({"age": Column(Role.QUASI_IDENTIFIER)}), (KAnonymity(5),), Levels({"age": 1})).model.parts
    (KAnonymity(k=5),)
    """

    schema: Schema
    models: tuple[Model, ...]
    method: Method = field(default_factory=FullDomain)
    source: Source | None = None
    output: Output | None = None
    engine: EngineSettings = field(default_factory=EngineSettings)
    seed: Annotated[int, Ge(0), Le(LARGEST_SEED)] = 0
    files: tuple[Path, ...] = field(default=(), compare=False, repr=False)
    """The plan file and the hierarchies' files that it names."""

    def __post_init__(self) -> None:
        if not self.schema.quasi_identifiers:
            raise PlanError("The plan must name at least one quasi-identifier; it names none.")
        self.method.check(self.schema, self.model)

    @property
    def model(self) -> AllOf:
        """All models at once: those asked for, and those that the method promises by itself."""
        parts = (*self.models, *(model for model in self.method.promises if model not in self.models))
        return combine(parts) if parts or self.method.needs_model else AllOf()

    @classmethod
    def read(cls, path: Path | str) -> Plan:
        """Read a plan file (TOML)."""
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8-sig")
        except OSError as error:
            raise PlanError(f"Plan {str(path)!r} cannot be read: {error.strerror}.") from None
        except UnicodeDecodeError:
            raise PlanError(f"Plan {str(path)!r} must be UTF-8 text.") from None
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise PlanError(f"Plan {str(path)!r} is not valid TOML: {error}.") from None
        except (RecursionError, ValueError):  # nested too deeply, or a number of too many digits
            raise PlanError(
                f"Plan {str(path)!r} is not usable: it is nested too deeply, or has too long a number."
            ) from None
        plan = cls.from_dict(document, path.parent)
        return replace(plan, files=(path, *plan.files))

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], folder: Path | None = None) -> Plan:
        """Build a plan from the contents of a plan file; paths are relative to ``folder``."""
        folder = folder or Path()
        try:
            sections = _Document.model_validate(document)
        except ValidationError as error:
            raise PlanError(_first_fault(error)) from None
        except RecursionError:
            raise PlanError("The plan is nested too deeply to be read.") from None
        schema = Schema({name: _column(name, section, folder) for name, section in sections.columns.items()})
        models = tuple(make(MODELS, section, "model") for section in sections.models)
        method: Method = FullDomain()
        if sections.method:
            method = make(METHODS, sections.method, "method").located(folder)
        source = None if sections.source is None else sections.source.build(folder)
        output = None
        if sections.output is not None:
            output = sections.output.build(folder)
        settings = EngineSettings(**dict(sections.engine))
        hierarchies = (section.hierarchy or {} for section in sections.columns.values())
        files = tuple(folder / given["csv"] for given in hierarchies if "csv" in given)
        return cls(schema, models, method, source, output, settings, sections.seed, files)

    def to_dict(self) -> dict[str, Any]:
        """The contents of a plan file that says the same: ``Plan.from_dict(plan.to_dict()) == plan``.

        What is as it is by default is not said. A table in memory has no place in a file, and is left out.
        """
        document: dict[str, Any] = {}
        if self.source is not None and self.source.path is not None:
            document["source"] = changed(self.source, "frame", "csv") | changed(self.source.csv, "skip")
        document["columns"] = {name: _column_section(column) for name, column in self.schema.columns.items()}
        document["models"] = [model.to_plan() for model in self.models]
        document["method"] = self.method.to_plan()
        if self.output is not None:
            document["output"] = changed(self.output)
        if settings := changed(self.engine):
            document["engine"] = settings
        if self.seed:
            document["seed"] = self.seed
        return document

    def told(self) -> dict[str, Any]:
        """The plan as the certificate tells it: what was asked for, and nothing of the machine.

        Of files only their names; not where the key of the pseudonyms is, and not which engine did the work.
        """
        document = self.to_dict()
        document.pop("engine", None)
        for section in ("source", "output"):
            if section in document:
                document[section].pop("pseudonym_key", None)
                document[section]["path"] = Path(document[section]["path"]).name
        for column in document["columns"].values():
            if "csv" in column.get("hierarchy", {}):
                column["hierarchy"]["csv"] = Path(column["hierarchy"]["csv"]).name
        shown = self.method.parameters
        document["method"] = {
            key: value if key == "name" else plan_value(shown[key])
            for key, value in document["method"].items()
            if key == "name" or key in shown
        }
        return document


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class _Source(_Section):
    path: str = Field(min_length=1)
    format: Literal["csv", "parquet"] | None = None
    delimiter: str | None = Field(None, min_length=1, max_length=1)
    quote: str | None = Field(None, min_length=1, max_length=1)
    header: bool | None = None
    encoding: str | None = None
    missing: list[str] = []
    trim: bool = False
    names: list[str] = []
    time_zone: str = "UTC"

    def build(self, folder: Path) -> Source:
        form = CsvFormat(
            self.delimiter,
            self.quote,
            self.header,
            self.encoding,
            tuple(self.missing),
            self.trim,
            tuple(self.names),
        )
        return Source(folder / self.path, csv=form, format=self.format, time_zone=self.time_zone)


class _Column(_Section):
    role: Role
    hierarchy: dict[str, Any] | None = None
    categories: list[list[Any]] | None = None
    category_names: list[str] | None = None
    order: list[Any] | None = None
    publish: Literal["values", "categories"] = "values"
    pseudonym: bool = False
    exact: bool = False


class _Output(_Section):
    path: str
    overwrite: bool = False
    report: bool = True
    spreadsheet_safe: bool = False
    pseudonym_key: str | None = Field(None, min_length=1)

    def build(self, folder: Path) -> Output:
        key = None if self.pseudonym_key is None else folder / self.pseudonym_key
        return Output(folder / self.path, self.overwrite, self.report, self.spreadsheet_safe, key)


class _Engine(_Section):
    memory: str | None = None
    threads: int | None = Field(None, ge=1)
    name: Literal["duckdb", "spark"] | None = None
    master: str | None = Field(None, min_length=1)
    options: dict[str, str] = {}


class _Document(_Section):
    source: _Source | None = None
    columns: dict[str, _Column]
    models: list[dict[str, Any]] = []
    method: dict[str, Any] | None = None
    output: _Output | None = None
    engine: _Engine = Field(default_factory=lambda: _Engine.model_validate({}))
    seed: int = Field(0, strict=True)


def _first_fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in fault["loc"])
    more = f" ({error.error_count()} faults in all)" if error.error_count() > 1 else ""
    if fault["type"] == "extra_forbidden":
        return f"The plan has a key that is not known: {where}. Remove it, or check its spelling{more}."
    if fault["type"] == "missing":
        return f"The plan lacks {where}{more}."
    return f"The plan's {where} is not usable: {fault['msg']}{more}."


def _column(name: str, section: _Column, folder: Path) -> Column:
    hierarchy = None if section.hierarchy is None else build_hierarchy(section.hierarchy, name, folder)
    order = None if section.order is None else tuple(map(as_text, section.order))
    try:
        categories = None
        if section.categories is not None:
            classes = tuple(tuple(map(as_text, values)) for values in section.categories)
            categories = Categories(classes, None if section.category_names is None else tuple(section.category_names))
        return Column(section.role, hierarchy, categories, order, section.publish, section.pseudonym, section.exact)
    except PlanError as error:
        raise PlanError(f"Column {name!r}: {error}") from None


def build_hierarchy(document: Mapping[str, Any], name: str, folder: Path) -> Hierarchy:
    """A hierarchy from its entry in the plan, such as ``{ intervals = [5, 10] }``."""
    found = [key for key in HIERARCHIES if key in document]
    if len(found) != 1:
        raise PlanError(
            f"The hierarchy of column {name!r} must have exactly one of {', '.join(HIERARCHIES)}; found "
            f"{', '.join(found) or 'none of them'}."
        )
    kind = HIERARCHIES[found[0]]
    options = {key: value for key, value in document.items() if key != found[0]}
    if unknown := set(options) - set(kind.options):
        raise PlanError(
            f"The hierarchy of column {name!r} has an unknown key {sorted(unknown)[0]!r} beside {found[0]!r}."
        )
    try:
        return kind.from_plan(found[0], document[found[0]], options, folder)
    except HierarchyError as error:
        raise HierarchyError(f"Column {name!r}: {error}") from None
    except ShoalError:
        raise
    except Exception:  # whatever was written there, it is not a hierarchy
        raise PlanError(
            f"The hierarchy {found[0]!r} of column {name!r} is not written as expected. For example: {kind.example}."
        ) from None


def parse_model(text: str) -> Model:
    """A model written on a command line: ``k-anonymity k=5`` or ``l-diversity(l=3, kind=entropy)``.

    The name of a column comes last and may hold any character: ``p-sensitive p=2 column=blood type``.

    >>> parse_model("p-plus-alpha-sensitive p=2 alpha=2")
    PPlusAlphaSensitive(p=2, alpha=2, column=None)
    """
    # a column's name may hold any character: it comes last, and is the rest of the text
    front, sign, column = text.partition("column=")
    if sign and "(" in front:
        column = column.strip().removesuffix(")")
    cleaned = front.replace("(", " ").replace(")", " ").replace(",", " ").replace(":", " ", 1)
    name, *rest = cleaned.split() or [""]
    section: dict[str, Any] = {"name": name, **({"column": column.strip()} if sign else {})}
    for item in rest:
        key, sign, value = item.partition("=")
        if not sign:
            raise PlanError(
                f"A model must be written as NAME key=value ..., for example 'k-anonymity k=5'; found {text!r}."
            )
        if key in section:
            raise PlanError(f"The model {name!r} has its parameter {key!r} twice; give it once.")
        section[key] = _value(value)
    return make(MODELS, section, "model")


def _said(section: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in section.items() if value is not None}


def _column_section(column: Column) -> dict[str, Any]:
    section = changed(column, "hierarchy", "categories")
    if column.hierarchy is not None:
        made = column.hierarchy  # one of somebody else's may be of a kind that no plan can say
        section["hierarchy"] = made.to_plan() if isinstance(made, BaseHierarchy) else {"kind": type(made).__name__}
    if column.categories is not None:
        section["categories"] = [list(values) for values in column.categories.classes]
        section |= _said({"category_names": plan_value(column.categories.names)})
    return section | {"role": str(column.role)}


def _value(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def plain(value: Any) -> Any:
    """A value for JSON: numbers and text as they are, the rest (dates, infinity, fractions) as text."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    if isinstance(value, bool | int | str) or value is None or (isinstance(value, float) and math.isfinite(value)):
        return value
    return str(value)
