"""What shoal does, as functions: whatever a command of the command line does is one of these.

    profile   what columns are            draft     a first plan
    anonymize a table in memory           release   what a plan says, from file to file
    check     does a table meet models?   attack    what would an intruder learn?   assess   the risk in figures
    compare   what is a release good for? explore   methods side by side            minimal_recodings

Commands read options and print; :data:`COMMANDS` says which function each stands for.
"""

from __future__ import annotations

import functools
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from shoal import pipeline
from shoal.asking import (
    AskedColumn,
    AskedEngine,
    AskedMethod,
    AskedModels,
    AskedNames,
    as_column,
    as_engine,
    as_models,
    as_names,
)
from shoal.certificate import Release, Table
from shoal.engines import open_engine
from shoal.engines.base import UTC, EngineSettings, Source, check_time_zone
from shoal.engines.csv_format import CsvFormat
from shoal.errors import PlanError, ShoalWarning
from shoal.output import check_paper, write_paper
from shoal.plan import Plan
from shoal.schema import Column, Role, Schema
from shoal.watching import Watch, watching

if TYPE_CHECKING:
    from shoal.explanation import Explanation
    from shoal.exploration import Exploration
    from shoal.profiling import Profile
    from shoal.rehearsal import Tried
    from shoal.risk import AttackResult, Attacks, RiskAssessment
    from shoal.utility import Comparison

__all__ = [
    "COMMANDS", "Draft", "anonymize", "assess", "attack", "check", "compare", "draft", "explain", "explore",
    "minimal_recodings", "profile", "release",
]  # fmt: skip

COMMANDS: dict[str, tuple[str, ...]] = {
    "plan": ("profile", "draft"),
    "explore": ("explore",),
    "explain": ("explain",),
    "release": ("release",),
    "check": ("check",),
    "attack": ("attack", "assess"),
    "compare": ("compare",),
    "minimal": ("minimal_recodings",),
    "demo": ("release", "check"),
    "compile": ("compile_methods",),
    "reproduce": ("reproduce_papers",),
    "ledger": ("Ledger",),
    "query": ("Questions",),
    "serve": (),  # shows the others in a browser
    "version": ("__version__",),
}
"""Of every command, the public names that do its work."""

AskedPlan = Plan | Mapping[str, Any] | str | Path
"""A plan, the contents of a plan file, or the path of one."""
AskedRoles = AskedPlan | Schema
"""What says which column has which role."""

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def _watched(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """The same function, which shows progress where somebody looks unless ``progress`` is given."""

    @functools.wraps(function)
    def watched(*given: Parameters.args, **named: Parameters.kwargs) -> Result:
        with watching(named.get("progress")) as show:  # type: ignore[arg-type]
            named["progress"] = show
            return function(*given, **named)

    return watched


release = _watched(pipeline.release)
check = _watched(pipeline.check)
minimal_recodings = _watched(pipeline.minimal_recodings)


def anonymize(
    data: Table,
    plan: AskedPlan | None = None,
    *,
    quasi_identifiers: AskedNames | Mapping[str, AskedColumn] | None = None,
    sensitive: AskedNames | Mapping[str, AskedColumn] | None = None,
    identifiers: AskedNames | None = None,
    other: AskedNames | None = None,
    person: AskedNames | None = None,
    k: int | None = None,
    p: int | None = None,
    l: int | float | None = None,  # noqa: E741 - the letter of the literature
    t: float | None = None,
    known: int | None = None,
    models: AskedModels | None = None,
    method: AskedMethod | None = None,
    suppression: float | None = None,
    missing: AskedNames | None = None,
    seed: int | None = None,
    progress: Watch = None,
) -> Release[Table]:
    """Anonymize a table in memory: by a plan, or by a few words.

    Parameters
    ----------
    data
        A pandas, Polars, PyArrow or DuckDB object, or (with a plan) a Spark DataFrame. The released table is of the
        same kind.
    plan
        A :class:`Plan`, the contents of a plan file, or the path of one. Its source and output are not used.
    quasi_identifiers
        What others may know of a person: names, or a mapping of names to hierarchies such as ``intervals(5, 10)``.
        Of columns without one, a hierarchy is drafted. Without this keyword all roles are drafted, and told.
    sensitive
        What nobody should learn: names, or a mapping of names to :func:`shoal.sensitive`.
    identifiers, other
        What is left out, and what is published as it is. A column that no keyword names is left out, with a warning.
    person
        Columns that say together whose rows they are: never published, and models count people.
    k, p, l, t
        k-anonymity; p-sensitivity, l-diversity and t-closeness of every sensitive column.
    known
        How many of the quasi-identifiers an intruder knows at most; all of them by default.
    models
        Further models.
    method
        A method or its name; by default several are tried, and the one that loses least is taken ("auto").
    suppression
        The largest part of the rows that may be left out.
    missing
        Texts that stand for a missing value.
    progress
        A function that is told of each step; True or False; by default shown where somebody looks.

    Returns
    -------
    Release
        With ``table``, ``certificate``, ``utility``, ``risk`` and ``warnings``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> frame = pa.table({"age": [23, 24, 37, 38], "illness": ["flu", "gout", "flu", "gout"]})
    >>> from shoal import intervals
    >>> ages = {"age": intervals(10, 20)}
    >>> release = anonymize(frame, quasi_identifiers=ages, sensitive="illness", k=2, method="full-domain")
    >>> release.table["age"].to_pylist()
    ['20..29', '20..29', '30..39', '30..39']
    """
    from shoal.shorthand import Asked, plan_for

    asked = Asked(
        quasi_identifiers,
        sensitive,
        identifiers,
        other,
        person,
        k,
        p,
        l,
        t,
        known,
        models,
        method,
        suppression,
        missing,
        seed,
    )
    notes: tuple[Mapping[str, str], ...] = ()
    if plan is None:
        chosen, notes = plan_for(data, asked)
    elif asked.is_empty:
        chosen = as_plan(plan)
    else:
        raise PlanError("Give either a plan or keywords. To change a plan: plan.with_(k=10, method='mondrian').")
    for note in notes:
        warnings.warn(note["text"], ShoalWarning, stacklevel=2)
    with watching(progress) as show:
        return replace(pipeline.anonymize(data, chosen, progress=show), notes=notes)


def profile(
    data: Any, *, source: CsvFormat | None = None, engine: AskedEngine | None = None, time_zone: str = UTC
) -> Profile:
    """Look at a table: what each column is, which role would suit it and why, and what singles people out.

    Parameters
    ----------
    data
        A path (CSV or Parquet), or a pandas, Polars, PyArrow or DuckDB object.
    source
        How a CSV is written, where that is not to be found out.
    engine
        What reads and counts; by default Spark for Spark's own frames, and DuckDB otherwise.
    time_zone
        The zone in which instants are read.
    """
    from shoal.profiling import profile_table

    return profile_table(data, source=source, engine=as_engine(engine), time_zone=time_zone)


@dataclass(frozen=True)
class Draft:
    """A first plan for a table.

    Attributes
    ----------
    text
        The plan file, with a reason beside every choice.
    profile
        What was found in the table.
    tried
        The methods that were tried on a sample, and what they lost.
    """

    text: str
    profile: Profile = field(repr=False)
    folder: Path = field(default=Path(), repr=False)
    tried: tuple[Tried, ...] = field(default=(), repr=False)

    @property
    def plan(self) -> Plan:
        """The plan itself; of a table in memory it has no output, and no source but for what stands for missing."""
        made = Plan.from_toml(self.text, self.folder)
        if made.source is None and self.profile.missing:
            return made.with_(source=Source(csv=CsvFormat(missing=self.profile.missing)))
        return made

    def __str__(self) -> str:
        return self.text

    def save(self, path: Path | str, *, overwrite: bool = False) -> Path:
        """Write the plan file, whole or not at all; the paths in it are relative to the folder that was said."""
        place = Path(path)
        check_paper(place, overwrite, self.plan.inputs)
        write_paper(place, self.text)
        return place


def draft(
    data: Any,
    *,
    k: int | None = None,
    folder: Path | str | None = None,
    source: CsvFormat | None = None,
    rehearse: bool = True,
    engine: AskedEngine | None = None,
    time_zone: str = UTC,
    progress: Watch = None,
) -> Draft:
    """Write a first plan for a table, with a reason beside every choice.

    Parameters
    ----------
    data
        A path (CSV or Parquet), or a pandas, Polars, PyArrow or DuckDB object.
    k
        The smallest group; 5 where nothing is said, or less in a table of fewer than 20 rows.
    folder
        Where the plan file will stand; it names the table from there. The working directory by default.
    source
        How a CSV is written, where that is not to be found out.
    rehearse
        Whether methods are tried on a sample, for some seconds, to plan with the one that loses least.
    engine
        What reads and counts; by default Spark for Spark's own frames, and DuckDB otherwise.
    time_zone
        The zone in which instants are read. A plan for a table in memory has no source, and does not say it.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"email": ["a@x.org", "b@x.org"] * 5, "age": [31, 32] * 5})
    >>> draft(table, k=2).plan.schema.quasi_identifiers
    ('age',)
    """
    from shoal.drafting import SUPPRESSION, draft_plan
    from shoal.profiling import profile_table
    from shoal.rehearsal import least_loss, try_methods, unmet

    place = Path(folder) if folder is not None else Path()
    path = Path(data) if isinstance(data, str | Path) else None
    with watching(progress) as show:
        show("looking at the columns", None)
        found = profile_table(data, source=source, engine=as_engine(engine), time_zone=time_zone)
        drafted = Draft(draft_plan(found, path, place, k=k), found, place)
        if not rehearse:
            return drafted
        form = replace(found.source, missing=(*found.source.missing, *found.missing))
        table = Source(path, frame=data if path is None else None, csv=form, time_zone=time_zone)
        tried = try_methods(drafted.plan, table, SUPPRESSION, engine=as_engine(engine), progress=show)
        if least_loss(tried) is None and (hopeless := unmet(drafted.plan, table, engine=as_engine(engine))):
            found = found.leaving_out(hopeless, "no group of its rows can hold two different values of it")
            drafted = Draft(draft_plan(found, path, place, k=k), found, place)
            tried = try_methods(drafted.plan, table, SUPPRESSION, engine=as_engine(engine), progress=show)
    return Draft(draft_plan(found, path, place, k=k, tried=tried), found, place, tried)


def explore(
    plan: AskedPlan,
    data: Any = None,
    *,
    methods: AskedNames = (),
    ks: Sequence[int] = (),
    suppressions: Sequence[float] = (),
    measure: str = "ncp",
    workers: int | None = None,
    time_limit: float = 60.0,
    progress: Watch = None,
    so_far: Callable[[Exploration], None] | None = None,
) -> Exploration:
    """Try several methods and parameters on a table, verified, side by side.

    Parameters
    ----------
    plan
        A plan; its own method is tried too.
    data
        A table in memory; the plan's source by default.
    methods, ks, suppressions
        What to try: names of methods, sizes of groups, largest parts of rows to leave out.
    measure
        The loss by which releases are compared.
    workers
        How many processes; as many as there are cores by default.
    time_limit
        Seconds after which a trial is ended.
    so_far
        Called after each trial with all that are done.
    """
    loaded = as_plan(plan)
    with watching(progress) as show, _on_disk(loaded, data) as there:
        from shoal.exploration import explore as explore_plan

        return explore_plan(
            there,
            methods=as_names(methods, "methods"),
            ks=ks,
            suppressions=suppressions,
            measure=measure,
            workers=workers,
            time_limit=time_limit,
            progress=show,
            so_far=so_far,
        )


def explain(
    plan: AskedPlan,
    data: Any = None,
    *,
    time_limit: float = 120.0,
    engine: AskedEngine | None = None,
    progress: Watch = None,
) -> Explanation:
    """Tell what a plan's loss comes from: the loss without each column and model, and with smaller parameters.

    Parameters
    ----------
    plan
        A plan; it is run on a sample for every change, with nothing written.
    data
        A table in memory; the plan's source by default.
    time_limit
        Seconds after which no further change is tried.
    engine
        What takes the sample, in place of the plan's engine.
    """
    loaded = as_plan(plan)
    settings = as_engine(engine)
    loaded = loaded if settings is None else replace(loaded, engine=settings)
    missing = loaded.source.csv.missing if loaded.source is not None else ()
    source = None if data is None else Source(frame=data, csv=CsvFormat(missing=missing))
    with watching(progress) as show:
        from shoal.explanation import explain_plan

        return explain_plan(loaded, source, time_limit=time_limit, progress=show)


def attack(
    released: Any,
    plan: AskedRoles | None = None,
    *,
    quasi_identifiers: AskedNames = (),
    sensitive: AskedNames | Mapping[str, AskedColumn] = (),
    external: Any = None,
    original: Any = None,
    previous: Any = None,
    person: AskedNames = (),
    household: AskedNames = (),
    models: AskedModels | None = None,
    excluded: int = 1,
    confidence: float = 0.8,
    aligned: bool = False,
    locality: bool = False,
    missing: AskedNames = (),
    source: CsvFormat | None = None,
    engine: AskedEngine | None = None,
    time_zone: str | None = None,
) -> Attacks:
    """Attack a table, made here or elsewhere: everything that what is given allows.

    Parameters
    ----------
    released
        The table under attack: a path (CSV or Parquet), or a pandas, Polars, PyArrow or DuckDB object.
    plan
        Roles, hierarchies, categories and models; or else ``quasi_identifiers`` and ``sensitive``.
    external
        A table of people with some of the quasi-identifiers, to link with.
    original
        The table that the release was made from: everybody is linked, and audits run.
    previous
        An earlier release of the same rows; needs ``original``.
    person
        Columns of the table under attack that say together whose rows they are: people are attacked, not only rows.
    household
        Columns of the table under attack that say together who lives together: households are attacked too.
    models
        The models that the release was made for (the plan's by default); the minimality attack reasons from them.
    excluded
        How many sensitive values the intruder can rule out.
    confidence
        From which share of the most likely value a person counts as all but exposed.
    aligned
        Whether row i of the original is row i of the release.
    locality
        Whether to rerun the plan's method on parts of the original; needs a plan and ``original``.
    missing
        Texts that stand for a missing value, beside those of the plan.
    engine
        What reads the tables; the plan's engine by default, or else Spark for Spark's own frames and DuckDB otherwise.
    time_zone
        The zone in which instants are read; the plan's, or UTC, by default.
    """
    roles = roles_of(plan, quasi_identifiers, sensitive)
    loaded = roles if isinstance(roles, Plan) else None
    form = _form(roles, missing, source)
    zone = _zone(roles, time_zone)
    before = _original(original, roles, form, zone)
    if locality and (loaded is None or before is None):
        raise PlanError("The audit of locality reruns the plan's method on the original; give a plan and the original.")
    from shoal.risk import attack as attack_tables

    found = attack_tables(
        _table(released, form, zone),
        roles,
        external=_table(external, form, zone),
        original=before,
        previous=_table(previous, form, zone),
        person=as_names(person, "persons"),
        household=as_names(household, "households"),
        models=as_models(models) if models is not None else () if loaded is None else loaded.models,
        excluded=excluded,
        confidence=confidence,
        aligned=aligned,
        source=form,
        engine=_engine(roles, engine),
    )
    if not locality or loaded is None:
        return found
    return replace(found, results=(*found.results, _locality(loaded, before, _engine(roles, engine))))


def assess(
    data: Any,
    plan: AskedRoles | None = None,
    *,
    quasi_identifiers: AskedNames = (),
    population: Any = None,
    fraction: float | None = None,
    weight: str | None = None,
    threshold: float = 0.2,
    special: bool = True,
    largest: int | None = None,
    missing: AskedNames = (),
    source: CsvFormat | None = None,
    engine: AskedEngine | None = None,
    time_zone: str | None = None,
) -> RiskAssessment:
    """The risk of a table, original or released, in figures.

    Parameters
    ----------
    data
        A path (CSV or Parquet), or a pandas, Polars, PyArrow or DuckDB object.
    plan
        Roles and hierarchies; or else ``quasi_identifiers``.
    population
        A table of everybody whom the table is a sample of: the journalist's risk is then exact.
    fraction
        Which part of the population is in the table, where the population itself is not at hand.
    weight
        A column of sampling weights, for the individual risk.
    threshold
        Above which probability a row is at risk.
    special, largest
        Whether to look for special uniques, and up to which size of column sets.
    missing
        Texts that stand for a missing value, beside those of the plan.
    engine
        What reads the tables; the plan's engine by default, or else Spark for Spark's own frames and DuckDB otherwise.
    time_zone
        The zone in which instants are read; the plan's, or UTC, by default.
    """
    roles = roles_of(plan, quasi_identifiers, ())
    form, zone = _form(roles, missing, source), _zone(roles, time_zone)
    from shoal.risk import assess as assess_table

    return assess_table(
        _table(data, form, zone),
        roles,
        population=_table(population, form, zone),
        fraction=fraction,
        weight=weight,
        threshold=threshold,
        special=special,
        largest=largest,
        source=form,
        engine=_engine(roles, engine),
    )


def compare(
    original: Any,
    released: Any,
    plan: AskedRoles | None = None,
    *,
    quasi_identifiers: AskedNames = (),
    sensitive: AskedNames | Mapping[str, AskedColumn] = (),
    target: str | None = None,
    classifiers: AskedNames = ("tree",),
    test: Any = None,
    aligned: bool = False,
    queries: int = 500,
    seed: int = 0,
    missing: AskedNames = (),
    source: CsvFormat | None = None,
    engine: AskedEngine | None = None,
    time_zone: str | None = None,
) -> Comparison:
    """Compare a released table with its original: what is it still good for? Rows need not be aligned.

    Parameters
    ----------
    original, released
        Paths (CSV or Parquet), or pandas, Polars, PyArrow or DuckDB objects.
    plan
        Columns and hierarchies, which tell what published labels cover; or else ``quasi_identifiers`` and
        ``sensitive``.
    target
        A class column: classifiers are trained on both tables to predict it (needs scikit-learn).
    classifiers
        Of ``tree``, ``logistic`` and ``forest``.
    test
        A test table for the classifiers; the original itself by default.
    aligned
        Whether row i of both tables is the same person; then squared error and IL1s are exact, not lower bounds.
    queries
        How many range queries to ask.
    missing
        Texts that stand for a missing value, beside those of the plan.
    engine
        What reads the tables; the plan's engine by default, or else Spark for Spark's own frames and DuckDB otherwise.
    time_zone
        The zone in which instants are read; the plan's, or UTC, by default.
    """
    roles = roles_of(plan, quasi_identifiers, sensitive)
    form, zone = _form(roles, missing, source), _zone(roles, time_zone)
    from shoal.utility import compare as compare_tables

    return compare_tables(
        _original(original, roles, form, zone),
        _table(released, form, zone),
        roles,
        target=target,
        classifiers=as_names(classifiers, "classifiers"),
        test=_table(test, form, zone),
        aligned=aligned,
        queries=queries,
        seed=seed,
        source=form,
        engine=_engine(roles, engine),
    )


# -- what is shared --------------------------------------------------------------------------------------------------


def as_plan(plan: AskedPlan) -> Plan:
    """A plan from what is understood as one."""
    if isinstance(plan, Plan):
        return plan
    return Plan.from_dict(plan) if isinstance(plan, Mapping) else Plan.read(plan)


def roles_of(
    plan: AskedRoles | None, quasi_identifiers: AskedNames, sensitive: AskedNames | Mapping[str, AskedColumn]
) -> Plan | Schema:
    """Roles from a plan or a schema, or from names."""
    quasi = as_names(quasi_identifiers, "quasi-identifiers")
    if plan is not None:
        if quasi or sensitive:
            raise PlanError("Give either a plan or quasi_identifiers and sensitive, not both.")
        return plan if isinstance(plan, Schema) else as_plan(plan)
    if isinstance(sensitive, Mapping):
        secret = {name: as_column(column) for name, column in sensitive.items()}
    else:
        secret = {name: Column(Role.SENSITIVE) for name in as_names(sensitive, "sensitive columns")}
    if not quasi:
        raise PlanError("Say which columns are known to an intruder: a plan, or quasi-identifiers by name.")
    both = sorted(set(quasi) & set(secret))
    if both:
        raise PlanError(f"A column must have one role; {both[0]!r} is both quasi-identifier and sensitive.")
    return Schema({name: Column(Role.QUASI_IDENTIFIER) for name in quasi} | secret)


def _form(roles: Plan | Schema, missing: AskedNames, source: CsvFormat | None) -> CsvFormat:
    """How files are written: what stands for a missing value in the plan's source does so in all of them."""
    gaps = as_names(missing, "texts for missing values")
    if isinstance(roles, Plan) and roles.source is not None:
        gaps = (*gaps, *(gap for gap in roles.source.csv.missing if gap not in gaps))
    form = source or CsvFormat()
    return replace(form, missing=(*form.missing, *(gap for gap in gaps if gap not in form.missing)))


def _engine(roles: Plan | Schema, engine: AskedEngine | None) -> EngineSettings | None:
    """The engine that is asked for, or the plan's."""
    return roles.engine if engine is None and isinstance(roles, Plan) else as_engine(engine)


def _zone(roles: Plan | Schema, asked: str | None) -> str:
    """The zone in which instants are read: the one that is asked for, the plan's, or UTC."""
    if asked is not None:
        check_time_zone(asked)
        return asked
    return roles.source.time_zone if isinstance(roles, Plan) and roles.source is not None else UTC


def _table(data: Any, form: CsvFormat, zone: str) -> Source | None:
    """A table that is laid beside others: all of them are read in one zone."""
    from shoal.utility.tables import source_of

    return None if data is None else replace(source_of(data, form), time_zone=zone)


def _original(original: Any, roles: Plan | Schema, form: CsvFormat, zone: str) -> Source | None:
    """The original as the plan says that it is written, or as it looks."""
    given = roles.source if isinstance(roles, Plan) else None
    if isinstance(original, str | Path) and given is not None and given.path is not None:
        path = Path(original)
        if path.resolve() == given.path.resolve():
            return Source(path, csv=given.csv, format=given.format, time_zone=zone)
    return _table(original, form, zone)


def _locality(plan: Plan, original: Source | None, engine: EngineSettings | None) -> AttackResult:
    """The method of a plan, run again on parts of the original: whose row depends on rows far away?"""
    from shoal.risk.attacks_audits import audit_locality, row_column
    from shoal.utility.tables import open_tables

    with open_tables(engine, original) as tables:
        table = tables.arrow(original)
    schema = Schema({**plan.schema.columns, row_column(table.column_names): Column(Role.OTHER)})
    # a rehearsal: a method with a budget must not spend it on an audit
    method, models = plan.method.rehearsal(), plan.model.parts
    here = plan.engine.here
    source = None if original is None else Source(time_zone=original.time_zone)
    marked = replace(plan, schema=schema, method=method, models=models, source=source, output=None, engine=here)
    return audit_locality(table, plan.schema, lambda part: pipeline.anonymize(part, marked).table)


@contextmanager
def _on_disk(plan: Plan, data: Any) -> Iterator[Plan]:
    """The plan with its table in a file that other processes can read, private and gone afterwards."""
    if data is None:
        yield plan
        return
    if isinstance(data, str | Path):
        yield plan.with_(source=Path(data))
        return
    missing = plan.source.csv.missing if plan.source else ()
    with tempfile.TemporaryDirectory(prefix="shoal-") as folder:
        place = Path(folder) / "table.parquet"
        with open_engine(plan.engine, data) as engine:
            engine.write(engine.read(Source(frame=data, csv=CsvFormat(missing=missing))), place)
        yield replace(plan, source=Source(place))
