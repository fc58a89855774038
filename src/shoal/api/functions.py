"""Public functions: each command of the command line calls one of these.

    draft          a first plan                anonymize a table in memory
    release        run a plan from file to file
    check          does a table meet models?   minimal_recodings
    spark_session  one Spark session for several of these

profile, explore, explain, attack, assess and compare are defined in modules of these names, verify and approve in
audit.verify_release. :mod:`shoal.api.commands` maps each command to its functions.
"""

from __future__ import annotations

import functools
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from shoal.api.release import Release, Table
from shoal.errors import PlanError, ShoalWarning
from shoal.io.engines.base import UTC, EngineSettings, Source
from shoal.io.engines.spark_shared_session import shared_spark_session
from shoal.io.formats import STANDARD
from shoal.io.formats.compression import unpack_to_file
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.io.formats.urls import address_of
from shoal.io.frames import as_arrow
from shoal.io.publish import check_target, write_text_atomic
from shoal.pipeline import run as pipeline
from shoal.pipeline.check import check as check_table
from shoal.plan.coerce import ColumnLike, ColumnsLike, EngineLike, MethodLike, ModelsLike, as_engine
from shoal.plan.plan import Plan, PlanLike, as_plan
from shoal.plan.review import Recipient
from shoal.results import signatures
from shoal.runtime.deprecation import renamed_parameter
from shoal.runtime.progress import Progress, ProgressOption, show_progress
from shoal.runtime.scratch import make_scratch

if TYPE_CHECKING:
    from shoal.advice.profile import Profile
    from shoal.advice.try_methods import MethodTrial

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def _with_progress(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Wrap a function to show progress in interactive use.

    The parameter ``progress`` overrides this.
    """

    @functools.wraps(function)
    def wrapper(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with show_progress(kwargs.get("progress")) as callback:  # type: ignore[arg-type]
            kwargs["progress"] = callback
            return function(*args, **kwargs)

    return wrapper


check = renamed_parameter("source", "csv")(_with_progress(check_table))
minimal_recodings = _with_progress(pipeline.minimal_recodings)


@shared_spark_session()
def release(
    plan: PlanLike,
    *,
    overwrite: bool | None = None,
    recoding: Path | None = None,
    previous: Path | None = None,
    save_recoding: bool = False,
    internal_report: bool = False,
    explain: float | None = None,
    sign: Path | None = None,
    progress: ProgressOption = None,
) -> Release[None]:
    """Run a plan from its source to its output.

    Writes the table, its certificate and its report.

    Parameters
    ----------
    overwrite
        Whether to replace an existing release; by default as the plan says.
    recoding
        A recoding saved with an earlier release, used instead of the plan's method.
    previous
        An earlier released table; the figures of the release have the result of the intersection attack on both.
    save_recoding
        Whether to save the recoding beside the release, for the next delivery. It is the owner's, not to be published.
    internal_report
        Whether to write a report for the owner too (released.internal.html), which also tells of the original.
    explain
        Seconds to determine the sources of the loss, for a chart in the internal report; see :func:`shoal.explain`.
        None for no such chart.
    sign
        A private key (:func:`shoal.create_signing_key`) to sign the release with, as its maker.
    progress
        A function called with each step; True or False; by default progress is shown on a terminal or in a notebook.

    Examples
    --------
    ::

        made = shoal.release("plan.toml", overwrite=True)
        made.path, made.warnings
    """
    plan = as_plan(plan)
    key = None if sign is None else _read_maker_key(Path(sign), plan)
    with show_progress(progress) as show:
        result = pipeline.release(
            plan,
            overwrite=overwrite,
            recoding=recoding,
            previous=previous,
            save_recoding=save_recoding,
            internal_report=internal_report,
            loss_chart=None if explain is None else partial(_loss_chart, explain),
            progress=show,
        )
    if key is not None and result.path is not None:
        signatures.sign(result.path, "maker", key)
    return Release.of(result)


def _read_maker_key(path: Path, plan: Plan) -> signatures.SigningKey:
    """Read the key before any work; raise if there will be nothing to sign."""
    output = plan.output
    if output is None or output.database is not None or output.is_standard or address_of(output.path) is not None:
        raise PlanError("release.signature-needs-file")
    return signatures.read_signing_key(path, output.path)


def _loss_chart(seconds: float, plan: Plan, progress: Progress) -> str:
    """Draw the sources of the loss, as a part of the report."""
    from shoal.advice import explain
    from shoal.advice.explain_chart import cost_bars

    return cost_bars(explain.explain(plan, time_limit=seconds, progress=progress))


@shared_spark_session()
def anonymize(
    data: Table,
    plan: PlanLike | None = None,
    *,
    quasi_identifiers: ColumnsLike | Mapping[str, ColumnLike] | None = None,
    sensitive: ColumnsLike | Mapping[str, ColumnLike] | None = None,
    identifiers: ColumnsLike | None = None,
    other: ColumnsLike | None = None,
    person: ColumnsLike | None = None,
    k: int | None = None,
    p: int | None = None,
    l: int | float | None = None,  # noqa: E741 - the letter of the literature
    t: float | None = None,
    known: int | None = None,
    models: ModelsLike | None = None,
    method: MethodLike | None = None,
    suppression: float | None = None,
    missing: ColumnsLike | None = None,
    seed: int | None = None,
    progress: ProgressOption = None,
) -> Release[Table]:
    """Anonymize a table in memory, by a plan or by keywords.

    Parameters
    ----------
    data
        A pandas, Polars, PyArrow or DuckDB object, or (with a plan) a Spark DataFrame. The released table has the same
        type.
    plan
        A :class:`Plan`, the contents of a plan file, or the path of one. Its source and output are not used.
    quasi_identifiers
        Columns that others may know about a person: names, or a mapping of names to hierarchies such as ``intervals(5,
        10)``. A column without a hierarchy gets a drafted one. Without this keyword all roles are drafted, with a
        warning.
    sensitive
        Columns to protect from disclosure: names, or a mapping of names to :class:`Column`.
    identifiers, other
        Columns to drop, and columns to publish unchanged. A column that no keyword names is dropped, with a warning.
    person
        Columns that jointly identify a person: they are not published, and models count people.
    k, p, l, t
        k-anonymity; p-sensitivity, l-diversity and t-closeness of every sensitive column.
    known
        Maximum number of quasi-identifiers that an intruder knows; all of them by default.
    models
        Further models.
    method
        A method or its name; by default several are tried and the one of least loss is used ("auto").
    suppression
        Maximum share of rows to suppress.
    missing
        Texts that represent a missing value.
    progress
        A function called with each step; True or False; by default progress is shown on a terminal or in a notebook.

    Returns
    -------
    Release
        With ``table``, ``certificate``, ``figures``, ``utility``, ``risk`` and ``warnings``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> frame = pa.table({"age": [23, 24, 37, 38], "illness": ["flu", "gout", "flu", "gout"]})
    >>> from shoal.hierarchies import intervals
    >>> ages = {"age": intervals(10, 20)}
    >>> release = anonymize(frame, quasi_identifiers=ages, sensitive="illness", k=2, method="full-domain")
    >>> release.table["age"].to_pylist()
    ['20..29', '20..29', '30..39', '30..39']
    """
    from shoal.api.keywords import Keywords, plan_for

    keywords = Keywords(
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
    if isinstance(data, str | Path):
        raise PlanError("table.not-a-frame")
    content = as_arrow(data)  # once: it is profiled, read and released
    notes: tuple[Mapping[str, str], ...] = ()
    if plan is None:
        chosen, notes = plan_for(content, keywords)
    elif keywords.is_empty:
        chosen = as_plan(plan)
    else:
        raise PlanError("plan.plan-and-keywords")
    for note in notes:
        warnings.warn(note["text"], ShoalWarning, stacklevel=2)
    with show_progress(progress) as show:
        return Release.of(replace(pipeline.anonymize(data, chosen, content=content, progress=show), notes=notes))


@dataclass(frozen=True)
class Draft:
    """First plan for a table.

    Attributes
    ----------
    text
        The plan file, with a reason for every choice.
    profile
        The profile of the table.
    tried
        The methods that were tried on a sample, and their losses.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import shoal
    >>> drafted = shoal.draft(pa.table({"email": ["a@x.org", "b@x.org"] * 5, "age": [31, 32] * 5}), k=2)
    >>> drafted.plan.schema.quasi_identifiers, drafted.text.startswith("#")
    (('age',), True)
    """

    text: str
    profile: Profile = field(repr=False)
    folder: Path = field(default=Path(), repr=False)
    tried: tuple[MethodTrial, ...] = field(default=(), repr=False)

    @property
    def plan(self) -> Plan:
        """The plan itself.

        For a table in memory it has no output, and a source only if there are texts for missing values.
        """
        made = Plan.from_toml(self.text, self.folder)
        if made.source is None and self.profile.missing:
            return made.with_(source=Source(csv=CsvFormat(missing=self.profile.missing)))
        return made

    def __str__(self) -> str:
        return self.text

    def save(self, path: Path | str, *, overwrite: bool = False) -> Path:
        """Write the plan file atomically; its paths are relative to ``folder``."""
        target = Path(path)
        check_target(target, overwrite, self.plan.inputs)
        write_text_atomic(target, self.text)
        return target


@contextmanager
def _as_rereadable_file(data: Any) -> Iterator[Any]:
    """Copy standard input to a private file, which can be read repeatedly.

    Other data stays as it is.
    """
    if not isinstance(data, str | Path) or Path(data) != STANDARD:
        yield data
        return
    scratch = make_scratch(Path(tempfile.gettempdir()), "shoal-")
    try:
        copied = unpack_to_file(STANDARD, scratch.path / "standard input")
        with copied.open("rb") as file:
            suffix = ".parquet" if file.read(4) == b"PAR1" else ".csv"
        yield copied.rename(copied.with_suffix(suffix))
    finally:
        scratch.remove()


@renamed_parameter("source", "csv")
@shared_spark_session()
def draft(
    data: Any,
    *,
    k: int | None = None,
    folder: Path | str | None = None,
    csv: CsvFormat | None = None,
    rehearse: bool = True,
    engine: EngineLike | None = None,
    time_zone: str = UTC,
    recipient: str | Recipient | None = None,
    progress: ProgressOption = None,
) -> Draft:
    """Draft a plan for a table, with a reason for every choice.

    Parameters
    ----------
    data
        A path (CSV or Parquet), or a pandas, Polars, PyArrow or DuckDB object.
    k
        The minimum group size; by default that of the recipient, or 5; less in a table of fewer than 20 rows.
    recipient
        Who receives the release: ``"public"``, ``"researchers"`` or ``"colleagues"``.
    folder
        Folder of the plan file; the path of the table is relative to it. The working directory by default.
    csv
        Format of a CSV, instead of detecting it.
    rehearse
        Whether to try methods on a sample, for some seconds, and plan with the one of least loss.
    engine
        Engine that reads and counts; by default Spark for Spark frames, and DuckDB otherwise.
    time_zone
        Time zone in which instants are read. A plan for a table in memory has no source, and does not state it.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"email": ["a@x.org", "b@x.org"] * 5, "age": [31, 32] * 5})
    >>> draft(table, k=2).plan.schema.quasi_identifiers
    ('age',)
    """
    from shoal.advice.draft import SUPPRESSION, draft_plan, lattice_nodes
    from shoal.advice.fit_columns import fit_columns
    from shoal.advice.profile import profile
    from shoal.advice.try_methods import find_infeasible_columns, least_loss, try_methods

    plan_folder = Path(folder) if folder is not None else Path()
    receiver = Recipient(recipient) if isinstance(recipient, str) else recipient  # type: ignore[arg-type]
    path = Path(data) if isinstance(data, str | Path) else None
    with show_progress(progress) as show, _as_rereadable_file(data) as data:
        show("looking at the columns", None)
        found = profile(data, csv=csv, engine=as_engine(engine), time_zone=time_zone)
        drafted = Draft(draft_plan(found, path, plan_folder, k=k, recipient=receiver), found, plan_folder)
        if not rehearse:
            return drafted
        csv_format = replace(found.source, missing=(*found.source.missing, *found.missing))
        table = Source(
            csv=csv_format, time_zone=time_zone, **({"frame": data} if path is None else {"path": Path(data)})
        )
        found = fit_columns(
            found,
            table,
            lambda profile: (
                Draft(draft_plan(profile, None, plan_folder, k=k, recipient=receiver), profile, plan_folder).plan
            ),
            engine=as_engine(engine),
            progress=show,
        )
        drafted = Draft(draft_plan(found, path, plan_folder, k=k, recipient=receiver), found, plan_folder)
        size = {"table_rows": found.rows, "nodes": lattice_nodes(found)}
        tried = try_methods(drafted.plan, table, SUPPRESSION, **size, engine=as_engine(engine), progress=show)
        if least_loss(tried) is None and (
            infeasible := find_infeasible_columns(drafted.plan, table, engine=as_engine(engine))
        ):
            found = found.leaving_out(infeasible, "no group of its rows can hold two different values of it")
            drafted = Draft(draft_plan(found, path, plan_folder, k=k, recipient=receiver), found, plan_folder)
            tried = try_methods(drafted.plan, table, SUPPRESSION, **size, engine=as_engine(engine), progress=show)
    return Draft(draft_plan(found, path, plan_folder, k=k, recipient=receiver, tried=tried), found, plan_folder, tried)


@contextmanager
def spark_session(engine: EngineLike = "spark") -> Iterator[Any]:
    """Share one Spark session among all calls within a ``with`` block.

    Without it, every call that needs Spark starts and ends Java, which takes most of the time for a small table. A
    running session is used as it is, and left running.

    Parameters
    ----------
    engine
        ``"spark"``, or engine settings such as those of a plan (``plan.engine``). A call within the block that requires
        another master, other memory or other options is rejected. Other engines have no session.

    Yields
    ------
    The ``SparkSession``, for the caller's tables; None with other engines.

    Examples
    --------
    ::

        with shoal.spark_session(plan.engine):
            shoal.release(plan)
            shoal.attack(plan.output.path, plan)
    """
    settings = as_engine(engine) or EngineSettings()
    with shared_spark_session(settings) as spark:
        yield spark
