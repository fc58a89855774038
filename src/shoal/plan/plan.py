"""The plan of a release, read from TOML or built in Python.

:class:`Plan` declares the sections of a plan file, the classes of its fields their keys; docs/plan-file.md lists them
all. Paths are relative to the plan file. Reading a plan validates everything except what depends on the data; that is
validated when the data is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge, Le

from shoal.errors import PlanError
from shoal.io.engines.base import EngineSettings, Source
from shoal.io.formats.urls import path_or_address
from shoal.methods import FullDomain, Method
from shoal.methods.scenarios import require_scenarios_supported
from shoal.methods.whole_table import require_whole_table_supported
from shoal.models import (
    AllOf,
    KeySet,
    Model,
    Scenario,
    combine,
    size_of_groups,
    without_scenarios,
)
from shoal.models.by_people import as_people_models
from shoal.models.scenarios import bind_keys, bind_known, bind_scenarios
from shoal.plan.coerce import ColumnLike, MethodLike, ModelsLike, as_column, as_method, as_model, as_models
from shoal.plan.fit import check_keys, check_linked_rows
from shoal.plan.output import Output
from shoal.plan.population import PopulationSource, check_population
from shoal.plan.reader import PlanReader, build_hierarchy, first_error, parse_toml, read_document
from shoal.plan.review import Recipient, Review, digest_of_plan
from shoal.plan.variables import (
    MISPLACED_VARIABLE_HINT,
    apply_changes,
    escaped,
    fill_in,
    has_misplaced_variable,
    masked_errors,
)
from shoal.render import Displayable, Grid, Summary
from shoal.runtime.annotations import Mismatch
from shoal.runtime.marks import INLINE, NOT_IN_PLAN, ONE_OR_MORE
from shoal.runtime.validation import Validated, changed_fields, inline_value, keys_of, plain, plan_value, read_values
from shoal.schema import Column, Schema, Table

__all__ = ["Output", "Plan", "PlanLike", "as_plan", "build_hierarchy", "plain"]

MAX_SEED = 2**64 - 1


@dataclass(frozen=True, init=False, repr=False, kw_only=True)
class Plan(Displayable, Validated):
    """Specification of a release: columns, models, method, source and output.

    A plan is immutable; :meth:`with_` returns a changed copy.

    Parameters
    ----------
    source
        Where the table is, and how it is written; in Python a path is enough.
    schema, columns
        The columns by name, given as one or the other. Each is a :class:`Column`, a role such as ``"sensitive"``, or
        the hierarchy of a quasi-identifier (:mod:`shoal.hierarchies`).
    models
        What every group must meet: models, their texts such as ``"k-anonymity k=5"``, or a single one.
    keys
        Sets of columns that an intruder knows jointly. If there are any, models apply to each of them instead of to all
        quasi-identifiers.
    scenarios
        What kinds of intruders know together, and what must hold against each of them.
    together
        Whether the models bind all quasi-identifiers together, beside the scenarios; if not, they bind the crowds of
        each scenario instead.
    method
        How groups are formed: a method or its name, such as ``"mondrian"``; full-domain by default.
    output
        Where the release goes; in Python a path is enough.
    engine
        Which engine does the work, and how much of the machine it may use.
    population
        The people among whom those of the table are, for models that count them.
    seed
        Seed of all that is drawn at random.
    recipient
        Who receives the release; a draft takes the size of groups from it.
    review
        Whether somebody has read the plan, who, when, and what it then said.

    Examples
    --------
    >>> from shoal import Plan
    >>> from shoal.hierarchies import intervals
    >>> plan = Plan(columns={"name": "identifier", "age": intervals(5, 10)}, models="k-anonymity k=5")
    >>> plan.with_(k=10, method="mondrian").models
    (KAnonymity(k=10),)
    """

    source: Source | None = None
    schema: Annotated[Schema, INLINE]
    models: Annotated[tuple[Model, ...], ONE_OR_MORE] = ()
    keys: tuple[KeySet, ...] = ()
    scenarios: tuple[Scenario, ...] = ()
    together: bool = True
    method: Method = field(default_factory=FullDomain)
    output: Output | None = None
    engine: EngineSettings = field(default_factory=EngineSettings)
    population: PopulationSource | None = None
    seed: Annotated[int, Ge(0), Le(MAX_SEED)] = 0
    recipient: Recipient | None = None
    review: Review | None = None
    files: Annotated[tuple[Path, ...], NOT_IN_PLAN] = field(default=(), compare=False, repr=False)
    """The plan file and the hierarchy files that it names."""
    written: Annotated[Mapping[tuple[str, ...], str], NOT_IN_PLAN] = field(
        default_factory=dict, compare=False, repr=False
    )
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
        population: PopulationSource | None = None,
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
            "population": population,
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
        check_linked_rows(self.schema, self.model_of_rows, self.method)
        check_keys(self.keys, self.schema, self.model_of_rows, self.model, self.method)
        require_scenarios_supported(self.method, self.schema, self.model)
        require_whole_table_supported(self.method, self.model)
        check_population(self.population, self.schema, self.model, self.method, self.engine)
        self.method.check(self.schema, without_scenarios(self.model))

    @property
    def inputs(self) -> dict[str, tuple[Path, ...]]:
        """Input files of the plan by kind; a release must not overwrite them."""
        from shoal.io.formats.partitioned import matching_files

        source = None if self.source is None else self.source.path
        key = None if self.output is None else self.output.pseudonym_key
        return {
            **({} if source is None else {"source": matching_files(source)}),
            **({} if key is None else {"key of the pseudonyms": (key,)}),
            **({} if self.population is None else {"population": self.population.files}),
            "plan or one of its files": (*self.files, *self.method.files),
        }

    def summary(self) -> Summary:
        """Summarize columns, models, method, source and output."""
        rows = []
        for name, column in self.columns.items():
            section = column.to_plan()
            role = section.pop("role")
            rows.append((name, role, ", ".join(f"{key} = {inline_value(value)}" for key, value in section.items())))
        settings = ", ".join(
            f"{key} = {inline_value(value)}" for key, value in self.method.to_plan().items() if key != "name"
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
        required = bind_known(required, self.schema.quasi_identifiers)
        parts = (*required, *(model for model in self.method.promises if model not in required))
        return combine(parts) if parts or self.method.needs_model else AllOf()

    @classmethod
    def read(cls, path: Path | str, changes: Sequence[str] = ()) -> Plan:
        """Read a plan file (TOML).

        ``changes`` replace single values of the file, such as ``seed=3``.
        """
        path = Path(path)
        plan = cls.from_dict(apply_changes(read_document(path), changes), path.parent)
        return replace(plan, files=(path, *plan.files))

    @classmethod
    def from_toml(cls, text: str, folder: Path | None = None) -> Plan:
        """Build a plan from TOML text; paths are relative to ``folder``."""
        return cls.from_dict(parse_toml(text, "The plan"), folder)

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
        document, written = fill_in(document)
        with masked_errors(written):
            try:
                return cls._from_filled(document, written, folder)
            except PlanError as error:
                if has_misplaced_variable(document):
                    raise PlanError("plan.misplaced-variable", reason=error, hint=MISPLACED_VARIABLE_HINT) from None
                raise

    @classmethod
    def _from_filled(cls, document: Mapping[str, Any], written: Mapping[tuple[str, ...], str], folder: Path) -> Plan:
        if "tables" in document:
            raise PlanError("linked.plan-of-tables")
        try:
            values = read_values(cls, document, (), PlanReader(folder))
        except Mismatch as error:
            raise first_error(error.faults) from None
        except RecursionError:
            raise PlanError("plan.nested-too-deeply") from None
        for section in ("source", "output"):
            if values.get(section) is not None:
                texts = {where[1]: text for where, text in written.items() if where[0] == section and len(where) == 2}
                values[section] = replace(values[section], written=texts)
        hierarchies = (column.hierarchy for column in values["schema"].columns.values())
        files = tuple(made.file for made in hierarchies if isinstance(made, Table) and made.file is not None)
        return cls(**values, files=files, written=written)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as the contents of a plan file.

        ``Plan.from_dict(plan.to_dict()) == plan``. Default values are omitted. A table in memory cannot be written to a
        file, and is omitted as well.
        """
        sections = {"source": self.source, "population": self.population}
        in_memory = [key for key, one in sections.items() if one is not None and one.frame is not None]
        made = {"models": [], **changed_fields(self, *in_memory), "method": self.method.to_plan()}
        for section, location in (("source", self.source), ("output", self.output)):
            if location is not None and location.path is not None and "path" in made.get(section, {}):
                made[section]["path"] = path_or_address(location.path)
        return escaped({part.key: made[part.key] for part in keys_of(Plan) if part.key in made})

    def to_certificate_dict(self) -> dict[str, Any]:
        """Return the plan as published in the certificate.

        It has no details of the machine: files appear by name only; the path of the pseudonym key and the engine are
        omitted.
        """
        document = self.to_dict()
        document.pop("engine", None)
        document.pop("review", None)  # its status alone is published
        for key in {"path", "counts"} & document.get("population", {}).keys():
            document["population"][key] = Path(document["population"][key]).name
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


PlanLike = Plan | Mapping[str, Any] | str | Path
"""A plan, the contents of a plan file, or the path of a plan file."""


def as_plan(plan: PlanLike) -> Plan:
    """Convert a plan, the contents of a plan file or its path to a plan."""
    if isinstance(plan, Plan):
        return plan
    return Plan.from_dict(plan) if isinstance(plan, Mapping) else Plan.read(plan)
