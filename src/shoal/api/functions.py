"""What shoal does, as functions: whatever a command of the command line does is one of these.

    draft     a first plan                anonymize a table in memory
    release   what a plan says, from file to file
    check     does a table meet models?   minimal_recodings
    session   one Spark for several of these

Those that have a module of their own are defined there: profile, explore, explain, attack, assess, compare. Commands
read options and print; :data:`COMMANDS` says which function each stands for.
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
from shoal.io.engines.spark_shared_session import keeping
from shoal.io.formats import STANDARD
from shoal.io.formats.compression import lay_out
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.io.publish import check_paper, write_paper
from shoal.pipeline import run as pipeline
from shoal.plan.coerce import AskedColumn, AskedEngine, AskedMethod, AskedModels, AskedNames, as_engine
from shoal.plan.plan import AskedPlan, Plan, as_plan
from shoal.runtime.progress import Progress, Watch, watching
from shoal.runtime.scratch import make_scratch

if TYPE_CHECKING:
    from shoal.advice.profile import Profile
    from shoal.advice.try_methods import Tried

__all__ = [
    "COMMANDS", "Draft", "anonymize", "check", "draft", "minimal_recodings", "release", "session",
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


check = _watched(pipeline.check)
minimal_recodings = _watched(pipeline.minimal_recodings)


@keeping()
def release(
    plan: AskedPlan,
    *,
    overwrite: bool | None = None,
    recoding: Path | None = None,
    previous: Path | None = None,
    save_recoding: bool = False,
    explain: float | None = None,
    progress: Watch = None,
) -> Release[None]:
    """Do what a plan says, from its source to its output: the table, and the certificate and report beside it.

    Parameters
    ----------
    overwrite
        Whether a release that exists is replaced; as the plan says by default.
    recoding
        A recoding that was kept with an earlier release, to be used in place of the plan's method.
    previous
        An earlier released table; the certificate tells what the intersection attack makes of both.
    save_recoding
        Whether the recoding is kept beside the release, for the next delivery.
    explain
        Seconds in which it is found out what the loss comes from, for a picture in the report; see
        :func:`shoal.explain`. None for no such picture.
    progress
        A function that is told of each step; True or False; by default shown where somebody looks.
    """
    with watching(progress) as show:
        result = pipeline.release(
            plan,
            overwrite=overwrite,
            recoding=recoding,
            previous=previous,
            save_recoding=save_recoding,
            loss_chart=None if explain is None else partial(_loss_chart, explain),
            progress=show,
        )
    return Release.of(result)


def _loss_chart(seconds: float, plan: Plan, progress: Progress) -> str:
    """Draw what the loss comes from, as a part of the report."""
    from shoal.advice import explain
    from shoal.advice.explain_chart import cost_bars

    return cost_bars(explain.explain(plan, time_limit=seconds, progress=progress))


@keeping()
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
    from shoal.api.keywords import Asked, plan_for

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
        return Release.of(replace(pipeline.anonymize(data, chosen, progress=show), notes=notes))


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


@contextmanager
def _at_hand(data: Any) -> Iterator[Any]:
    """What can be read several times: standard input as a file in a private folder, all else as it is."""
    if not isinstance(data, str | Path) or Path(data) != STANDARD:
        yield data
        return
    held = make_scratch(Path(tempfile.gettempdir()), "shoal-")
    try:
        laid = lay_out(STANDARD, held.path / "standard input")
        with laid.open("rb") as file:
            suffix = ".parquet" if file.read(4) == b"PAR1" else ".csv"
        yield laid.rename(laid.with_suffix(suffix))
    finally:
        held.remove()


@keeping()
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
    from shoal.advice.draft import SUPPRESSION, draft_plan
    from shoal.advice.profile import profile
    from shoal.advice.try_methods import least_loss, try_methods, unmet

    place = Path(folder) if folder is not None else Path()
    path = Path(data) if isinstance(data, str | Path) else None
    with watching(progress) as show, _at_hand(data) as data:
        show("looking at the columns", None)
        found = profile(data, source=source, engine=as_engine(engine), time_zone=time_zone)
        drafted = Draft(draft_plan(found, path, place, k=k), found, place)
        if not rehearse:
            return drafted
        form = replace(found.source, missing=(*found.source.missing, *found.missing))
        table = Source(csv=form, time_zone=time_zone, **({"frame": data} if path is None else {"path": Path(data)}))
        tried = try_methods(drafted.plan, table, SUPPRESSION, engine=as_engine(engine), progress=show)
        if least_loss(tried) is None and (hopeless := unmet(drafted.plan, table, engine=as_engine(engine))):
            found = found.leaving_out(hopeless, "no group of its rows can hold two different values of it")
            drafted = Draft(draft_plan(found, path, place, k=k), found, place)
            tried = try_methods(drafted.plan, table, SUPPRESSION, engine=as_engine(engine), progress=show)
    return Draft(draft_plan(found, path, place, k=k, tried=tried), found, place, tried)


@contextmanager
def session(engine: AskedEngine = "spark") -> Iterator[Any]:
    """Keep one Spark session for everything that shoal does within a ``with`` block.

    Without it every call that needs a session of its own starts Java and ends it, which takes most of the time of a
    small table. A session that is running already is used as it is, and left running.

    Parameters
    ----------
    engine
        ``"spark"``, or the settings of an engine such as those of a plan (``plan.engine``). Whatever asks within the
        block for another master, other memory or other options is refused. Other engines have nothing to keep.

    Yields
    ------
    The ``SparkSession``, for tables of one's own; None with other engines.

    Examples
    --------
    ::

        with shoal.session(plan.engine):
            shoal.release(plan)
            shoal.attack(plan.output.path, plan)
    """
    settings = as_engine(engine) or EngineSettings()
    with keeping(settings) as kept:
        yield kept
