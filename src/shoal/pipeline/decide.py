"""Decision of a release: the steps from the table to the applied recoding.

    read -> encode -> decide -> apply; then verify and describe

Nothing is written. If all combinations fit in memory, :class:`DecidedInMemory` has them and their recoding. If a method
works on blocks and the rows are distributed over machines, :class:`DecidedDistributed` is decided, recoded and verified
on these machines.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from typing import Any

from typing_extensions import override

from shoal.bounds import Bound
from shoal.errors import PlanError, VerificationError
from shoal.io.engines.base import (
    DistributedTable,
    Engine,
    Relation,
    Source,
    memory_bytes,
    require_columns,
    require_roles,
)
from shoal.methods import Method, Problem
from shoal.methods.compile_notice import notify_compiling, report_compiling
from shoal.methods.scenarios import bound_recoded_loss, decide_recoding
from shoal.models import partial_knowledge_models, scenario_models
from shoal.pipeline.population import read_population, read_population_again
from shoal.plan.plan import Plan
from shoal.plan.saved_recoding import saved_recoding
from shoal.results.report_facts import Description, describe, describe_columns
from shoal.results.usefulness import columns_with_no_signal, hidden_columns, released_entries
from shoal.risk.exposure import Exposure, measure_exposure
from shoal.runtime.lazy_dataclass import dataclass
from shoal.runtime.lean_imports import load_arrow
from shoal.runtime.progress import Progress
from shoal.runtime.search_allowance import allow_seconds
from shoal.runtime.threads import limit_threads
from shoal.schema import Ladder, Role, Schema
from shoal.schema.bound_hierarchy import MissingFromHierarchy
from shoal.schema.detect_identifiers import is_shared_attribute, is_staff_key
from shoal.table import (
    ByCell,
    ByLevel,
    ByPattern,
    Dictionary,
    FrequencySet,
    MethodFacts,
    Recoding,
    apply,
    read_frequency_set,
    released_combinations,
    released_ladders,
)
from shoal.table.canonical import canonical_text, canonical_text_distributed, normalize_negative_zero
from shoal.table.categories import add_categories, publish_categories, require_categories
from shoal.table.coarser_values import publish_coarser_values
from shoal.table.date_shift import move_dates
from shoal.table.people import number_people
from shoal.table.population import CountedPeople, join_population
from shoal.table.pseudonyms import name_people, read_key, replace_identifiers
from shoal.utility.loss import losses
from shoal.verification.check import CheckedPopulation, CheckResult, PeopleCounts
from shoal.verification.independent import ENGINE, IndependentPopulation, IndependentTable, WrittenTable
from shoal.verification.original import require_same_people
from shoal.verification.pattern_sets import verify_patterns
from shoal.verification.verify import looks_up_people, read_source_people, require_same_rows, verify, verify_distributed

logger = logging.getLogger(__name__)

MAX_VARYING_SHARE = 0.05
"""A column is constant within persons if at most this share of the people with several rows vary in it."""
MIN_UNIQUE_OWNER_SHARE = 0.1
"""Linking columns are reported if they identify at least this share of the people with several rows."""
MAX_ROWS_PER_VALUE = 1000
"""An identifier with more rows per value than this is not assumed to identify people."""

LINKED = (
    "The models count people, by numbers of which pseudonyms are published. What people have is taken from all of "
    "their rows in the original, also from those that were left out."
)
NOT_LINKED = (
    "The models count people, by numbers that are not published. Who has the release alone can verify rows only."
)
"""Notes on verification if models count people."""


@dataclass
class StepTimer:
    """Reports progress and logs the duration of each step."""

    progress: Progress
    seconds: dict[str, float] = field(default_factory=dict)
    step: str = ""

    def report_fraction(self, done: float) -> None:
        """Report the completed fraction of the current step."""
        self.progress(self.step, done)

    @contextmanager
    def __call__(self, step: str) -> Iterator[None]:
        """Report and time a step."""
        self.step = step
        self.progress(step, None)
        logger.debug("%s begins", step)
        start = time.perf_counter()
        try:
            yield
        finally:
            seconds = time.perf_counter() - start
            self.seconds[step] = self.seconds.get(step, 0.0) + seconds
            logger.debug("%s ends after %.3f seconds", step, seconds)


# -- decisions -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Decided:
    """Release that is decided and applied.

    Attributes
    ----------
    origin
        The table as read, before its values are converted to canonical form.
    numbered
        The released table, with the person numbers if models count people.
    rows_without_person
        Number of rows without a person, if the plan has a person column.
    pseudonyms
        Pseudonyms of people (v, label), if they are published.
    linking_columns
        PublishedRelease columns that are constant within persons and differ between people, with figures.
    repeating_identifiers
        Identifiers that may belong to people with several rows, if the plan has no person column.
    bound
        Lower bound of the loss of any release of this kind, if it is known and may be published.
    """

    plan: Plan
    origin: Relation
    source: Relation
    released: Relation
    numbered: Relation
    rows: int
    released_rows: int
    loss: Mapping[str, float]
    facts: MethodFacts
    rows_without_person: int = 0
    pseudonyms: Any = None
    linking_columns: Mapping[str, Any] = field(default_factory=dict)
    repeating_identifiers: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    bound: Bound | None = None

    def verify(
        self,
        engine: Engine,
        written: Relation,
        file: IndependentTable | None = None,
        original: WrittenTable | None = None,
    ) -> CheckResult:
        """Verify the written table, before it is published.

        ``file`` is the file of it, and ``original`` that of the source, if the independent verification can read these
        itself.
        """
        raise NotImplementedError

    @property
    def compared_with_original(self) -> tuple[str, ...]:
        """Columns of the original that the release is verified with."""
        return ()

    def require_same(self, engine: Engine, written: Relation, numbered: Relation) -> None:
        """Raise unless the written table equals the verified one.

        Person numbers are disregarded; pseudonyms in their place must correspond to them.
        """
        pseudonyms: dict[str, Mapping[str, str]] = {}
        if self.plan.schema.linked:
            table = self.pseudonyms.to_pydict()
            if len(set(table["label"])) < len(table["label"]):
                raise VerificationError("pseudonyms.shared-by-two-people")
            pseudonyms[self.plan.schema.person[0]] = dict(zip(map(str, table["v"]), table["label"], strict=True))
        require_same_rows(engine, written, numbered, pseudonyms)

    def describe(self, checked: CheckResult) -> Description:
        """Collect the facts of the report."""
        return describe_columns(self.plan.schema.published, self.plan.model, checked)

    def exposure(self, engine: Engine, seconds: float) -> Exposure | None:
        """Measure the exposure for the owner, within some seconds."""
        return None

    def further_figures(self, checked: CheckResult) -> dict[str, Any]:
        """Return figures that require all combinations."""
        return {}

    def recoding_text(self, release: Mapping[str, Any]) -> str:
        """Serialize the recoding for the next delivery; raise if it is local."""
        raise PlanError("saved-recoding.local")


@dataclass(frozen=True, kw_only=True)
class DecidedInMemory(Decided):
    """Release decided in memory, by the combinations of the source."""

    problem: Problem
    recoding: Recoding

    @override
    def verify(
        self,
        engine: Engine,
        written: Relation,
        file: IndependentTable | None = None,
        original: WrittenTable | None = None,
    ) -> CheckResult:
        problem, schema, model = self.problem, self.plan.schema.published, self.plan.model
        require_categories(engine, written, schema)
        if isinstance(self.recoding, ByPattern):
            return verify_patterns(
                engine, written, problem.frequencies, problem.ladders, self.recoding, schema, model, file, original
            )
        if schema.person and original is not None:
            require_same_people(original, problem.frequencies, self.plan.schema)
        people = read_source_people(engine, self.source, schema, model) if schema.person else None
        labels = self._labels_of_codes() if partial_knowledge_models(model) else ()
        wildcard = self.plan.method.wildcard
        with allow_seconds(_time_limit(self.plan.method)):
            checked = verify(
                engine, written, schema, model, self.released_rows, wildcard, problem.frequencies, people, labels, file,
                original, self._population(engine),
            )  # fmt: skip
        if schema.person:
            return replace(checked, original_reading=ENGINE if original is None else original.reader)
        return checked

    def _population(self, engine: Engine) -> tuple[CheckedPopulation, IndependentPopulation] | None:
        """Return the population for both verifications, if its people count."""
        frequencies, plan = self.problem.frequencies, self.plan
        population = frequencies.population
        if population is None or plan.population is None:
            return None
        left_out = frequencies.rows - self.released_rows
        classes, label_of = [], []
        if isinstance(self.recoding, ByLevel):
            for ladder, level in zip(self.problem.ladders, self.recoding.levels, strict=True):
                classes.append(ladder.codes[level])
                names = [f"{code}" for code in ladder.codes[level]]
                label_of.append(dict(zip(ladder.labels[0], names, strict=True)))
        people = CountedPeople(frequencies.quasi, population.codes, population.count)
        checked = CheckedPopulation(
            people, plan.schema.published, population.contains_release, left_out, tuple(classes)
        )
        again = read_population_again(engine, plan.population, plan.schema.quasi_identifiers)
        return checked, IndependentPopulation(
            again, plan.schema.published, population.contains_release, left_out, tuple(label_of)
        )

    @property
    @override
    def compared_with_original(self) -> tuple[str, ...]:
        schema = self.plan.schema
        if isinstance(self.recoding, ByPattern):
            return (*schema.quasi_identifiers, *schema.sensitive)
        if schema.person:
            return (*schema.quasi_identifiers, *schema.sensitive, *schema.person)
        looks_up = looks_up_people(self.plan.model, self.plan.method.wildcard)
        return schema.quasi_identifiers if looks_up else ()

    def _labels_of_codes(self) -> list[list[str | None]]:
        """Return the published label of each code, where no cell is suppressed.

        Empty if a code does not have a single label.
        """
        recoding = self.recoding
        if not isinstance(recoding, ByLevel | ByCell):
            return []
        ladders = recoding.ladders if isinstance(recoding, ByCell) else self.problem.ladders
        return [
            [ladder.labels[level][code] for code in ladder.codes[level]]
            for ladder, level in zip(ladders, recoding.levels, strict=True)
        ]

    @override
    def describe(self, checked: CheckResult) -> Description:
        return describe(self.problem, self.recoding, checked, reveals_source=self.plan.method.reveals_source)

    @override
    def exposure(self, engine: Engine, seconds: float) -> Exposure | None:
        names = self.plan.schema.quasi_identifiers
        if isinstance(self.recoding, ByPattern) or not self.plan.method.reveals_source:
            return None
        person = self.plan.schema.person[:1]
        table = self.numbered if person else self.released
        positions = table.positions((*names, *person))
        counted = engine.frequencies(table, positions)
        published = [_texts(counted.column(f"c{position}")) for position in positions[: len(names)]]
        count = counted.column("n").to_numpy().astype("int64")
        owner = counted.column(f"c{positions[-1]}").to_numpy().astype("int64") if person else None
        wildcard = self.plan.method.wildcard
        labels = self._labels_of_codes() if wildcard is not None else []
        if not labels:
            people = None if owner is None else (owner, owner)
            return measure_exposure(names, published, count, people=people, seconds=seconds)
        frequencies = self.problem.frequencies
        truths = [[label[code] for code in frequencies.codes[:, j]] for j, label in enumerate(labels)]
        people = None if owner is None else (owner, frequencies.secrets[:, -1].astype("int64"))
        return measure_exposure(
            names, published, count, truths, frequencies.count, hidden=wildcard, people=people, seconds=seconds
        )

    @override
    def further_figures(self, checked: CheckResult) -> dict[str, Any]:
        problem = self.problem
        found: dict[str, Any] = {} if checked.people is None else {"people": self._people(checked, checked.people)}
        if not self.plan.method.reveals_source:
            return found
        empty = {
            "hidden_columns": hidden_columns(problem.frequencies, problem.ladders, self.recoding),
            "nothing_learned": self._uninformative(),
        }
        return found | {key: names for key, names in empty.items() if names}

    def _uninformative(self) -> list[str]:
        """Return the sensitive columns with equal shares in all groups."""
        frequencies, recoding = self.problem.frequencies, self.recoding
        if isinstance(recoding, ByPattern):
            return []
        entries = released_entries(frequencies, recoding)
        return columns_with_no_signal(frequencies, *entries, self.plan.schema.published.sensitive)

    def _people(self, checked: CheckResult, checked_people: PeopleCounts) -> dict[str, Any]:
        everybody, schema = self.problem.frequencies.domains[-1].people, self.plan.schema
        assert everybody is not None
        linked = [part.linked_rows for part in self.plan.model_of_rows.parts if part.requires_people]
        return {
            "total": everybody.count,
            "released": checked_people.total,
            "rows": checked.rows,
            "smallest_group": checked_people.smallest_group,
            "rows_without_person": self.rows_without_person,
            "unit": "people" if schema.person == schema.named(Role.PERSON) else "households",
            "verification": LINKED if schema.linked else NOT_LINKED,
            **({"known_rows": "all" if linked[0] is None else linked[0]} if linked else {}),
            **({} if checked_people.smallest_crowd is None else {"smallest_crowd": checked_people.smallest_crowd}),
        }

    @override
    def recoding_text(self, release: Mapping[str, Any]) -> str:
        return saved_recoding(self.problem, self.recoding, release)


@dataclass(frozen=True, kw_only=True)
class DecidedDistributed(Decided):
    """Release decided on several machines; no machine has all rows."""

    @override
    def verify(
        self,
        engine: Engine,
        written: Relation,
        file: IndependentTable | None = None,
        original: WrittenTable | None = None,
    ) -> CheckResult:
        schema = self.plan.schema.published
        require_categories(engine, written, schema)
        counted = engine.distributed_frequencies(written, _counted_positions(written, schema))
        assert counted is not None
        return verify_distributed(counted, written, schema, self.plan.model, self.released_rows, file)


def _texts(column: Any) -> Any:
    """Return the cells of a column as text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    found = pc.cast(column, pa.string())
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


# -- the steps -----------------------------------------------------------------------------------------------------


_CountedTable = tuple[tuple[Dictionary, ...], FrequencySet]
"""Original values of the quasi-identifiers, and the frequency set in canonical form."""


class FrequencyCache:
    """Frequency set of the table read last, for dry runs of the same table.

    It is valid for plans that differ in models and methods only.

    Attributes
    ----------
    seconds_saved
        Duration of the counting that was avoided; 0 if it was not.
    """

    def __init__(self) -> None:
        self.seconds_saved = 0.0
        self._seconds = 0.0
        self._key: object = None
        self._found: Any = None

    def get(self, source: Source, plan: Plan, count: Callable[[], _CountedTable]) -> _CountedTable:
        """Return the cached counts for the same file and columns, or count.

        If there is a person column, people are numbered and counted each time.
        """
        key = (source, plan.schema, plan.engine)
        same = source.path is not None and not plan.schema.person and self._key == key
        if not same:
            start = time.perf_counter()
            self._found, self._key = count(), key
            self._seconds = time.perf_counter() - start
        self.seconds_saved = self._seconds if same else 0.0
        found: _CountedTable = self._found
        return found


def decide(
    engine: Engine,
    source: Source,
    plan: Plan,
    timer: StepTimer,
    *,
    bounded: bool = True,
    cache: FrequencyCache | None = None,
) -> Decided:
    """Read a table, decide its recoding and apply it.

    ``bounded`` adds a lower bound of the loss, if the method has one.
    """
    plan.method.preflight()
    with _warm_in_background(plan.method, timer.progress):
        prepared = _prepare_table(engine, source, plan, timer)
        table = prepared.table
        repeating_identifiers = _repeating_identifiers(engine, table, plan)
        if (distributed := _count_distributed(engine, table, plan, timer)) is not None:
            return replace(_decide_distributed(*distributed, plan, timer), repeating_identifiers=repeating_identifiers)
        canonical, problem = _encode_table(engine, source, table, plan, timer, cache or FrequencyCache())
    found = _decide_in_memory(engine, canonical, problem, plan, timer, prepared.pseudonyms)
    if bounded and plan.method.reveals_source:
        with timer("bounding"), notify_compiling(plan.method, timer.progress):
            found = replace(found, bound=bound_recoded_loss(plan.method, problem, found.recoding))
    return replace(
        found,
        origin=table,
        rows=found.rows + prepared.left_out,
        rows_without_person=prepared.rows_without_person,
        repeating_identifiers=repeating_identifiers,
    )


def encode(engine: Engine, source: Source, plan: Plan, timer: StepTimer) -> Problem:
    """Read a table and build the problem that a method decides."""
    with limit_threads(plan.engine.threads), _warm_in_background(plan.method, timer.progress):
        return _encode_table(
            engine, source, _prepare_table(engine, source, plan, timer).table, plan, timer, FrequencyCache()
        )[1]


@dataclass(frozen=True)
class _PreparedTable:
    """Table to be anonymized, with categories, pseudonyms and person numbers.

    With the number of rows without a person, if the plan has a person column, the pseudonyms of people, and the number
    of rows that were left out for values that no hierarchy covers.
    """

    table: Relation
    rows_without_person: int = 0
    pseudonyms: Any = None
    left_out: int = 0


def _prepare_table(engine: Engine, source: Source, plan: Plan, timer: StepTimer) -> _PreparedTable:
    key = b""
    if plan.schema.keyed:
        if not plan.method.reveals_source:
            raise PlanError("pseudonyms.not-with-method", method=plan.method.name)
        output = plan.output
        key = read_key(output.pseudonym_key, output.path) if output else read_key(None)
    with timer("reading"):
        read = engine.read(replace(source, with_nan=plan.schema.named(Role.OTHER)))
        require_columns(read, tuple(plan.schema.columns))
        require_roles(read, plan.schema.columns)
        table = normalize_negative_zero(engine, read, plan.schema)
        table, left_out = publish_coarser_values(engine, publish_categories(engine, table, plan.schema), plan.schema)
        table = add_categories(engine, table, plan.schema)
        _reject_linking_pseudonyms(engine, table, plan)
        table = replace_identifiers(engine, table, plan.schema.pseudonyms, key)
        if not plan.schema.person:
            return _PreparedTable(replace(table, labels=read.labels), left_out=left_out)
        found = number_people(engine, table, plan.schema.person)
        pseudonyms = name_people(found.names, plan.schema.person[0], key) if plan.schema.linked else None
        table = move_dates(engine, found, plan.schema, key)
        return _PreparedTable(replace(table, labels=read.labels), found.rows_without_person, pseudonyms, left_out)


def _reject_linking_pseudonyms(engine: Engine, table: Relation, plan: Plan) -> None:
    """Raise if an identifier to be published as a pseudonym repeats.

    Its pseudonym would link rows, as that of a person does.
    """
    names = plan.schema.pseudonyms
    for name, (rows, values) in zip(
        names, engine.count_distinct(table, table.positions(names)) if names else (), strict=True
    ):
        if values < rows:
            raise PlanError("pseudonyms.would-link-rows", column=name, values=values, rows=rows)


@contextmanager
def _warm_in_background(method: Method, progress: Progress) -> Iterator[None]:
    """Load and compile what a method needs while the table is read."""

    def warm() -> None:
        load_arrow()  # and pandas, if it is installed and the process is not dedicated to shoal
        method.warm()

    warming = threading.Thread(target=warm, daemon=True)
    warming.start()
    yield
    if warming.is_alive():
        report_compiling(method, progress)
    warming.join()


def _repeating_identifiers(engine: Engine, table: Relation, plan: Plan) -> dict[str, dict[str, int]]:
    """Find identifiers with repeated values, with their rows and values.

    People may have several rows then. Names and addresses repeat by chance, and keys of staff repeat in records about
    others: they count only if no other identifier is unique in all rows.
    """
    names = plan.schema.named(Role.IDENTIFIER)
    if plan.schema.person or not names or not plan.method.reveals_source:
        return {}
    found = list(zip(names, engine.count_distinct(table, table.positions(names)), strict=True))
    max_rows = max(rows for _, (rows, _) in found)
    has_row_key = any(values == rows == max_rows for _, (rows, values) in found)
    return {
        name: {"rows": rows, "values": values}
        for name, (rows, values) in found
        if values < rows <= MAX_ROWS_PER_VALUE * values and values > 1
        if not (has_row_key and (is_shared_attribute(name) or is_staff_key(name)))
    }


def _linking_columns(engine: Engine, numbered: Relation, plan: Plan) -> dict[str, Any]:
    """Find published columns that link the rows of a person like a pseudonym.

    Empty if a model accounts for linked rows.
    """
    person = plan.schema.person[:1]
    counts_linked_rows = any(part.requires_people for part in plan.model_of_rows.parts)
    if counts_linked_rows or not person or person[0] not in numbered.columns:
        return {}
    (owner,) = numbered.positions(person)
    positions = [position for position in range(len(numbered.columns)) if position != owner]
    people, varying = engine.linking_columns(numbered, owner, positions)
    constant = [
        position for position, vary in zip(positions, varying, strict=True) if vary <= MAX_VARYING_SHARE * people
    ]
    if not people or not constant:
        return {}
    identified = engine.count_unique_owners(numbered, owner, constant)
    if identified < MIN_UNIQUE_OWNER_SHARE * people:
        return {}
    return {
        "columns": [numbered.columns[position] for position in constant],
        "people": people,
        "told_apart": identified,
    }


def _counted_positions(table: Relation, schema: Schema) -> tuple[int, ...]:
    return table.positions((*schema.quasi_identifiers, *schema.sensitive))


def _published_columns(table: Relation, plan: Plan) -> tuple[str, ...]:
    return tuple(name for name in table.columns if name not in plan.schema.unpublished)


# -- in memory


def _encode_table(
    engine: Engine, source: Source, table: Relation, plan: Plan, timer: StepTimer, cache: FrequencyCache
) -> tuple[Relation, Problem]:
    """Convert the table to canonical form and build the problem."""
    schema = plan.schema.published
    canonical: Relation | None = None

    def count() -> _CountedTable:
        nonlocal canonical
        raw = read_frequency_set(engine, table, schema)
        canonical = canonical_text(engine, table, raw.quasi)
        return raw.quasi, raw if canonical is table else read_frequency_set(engine, canonical, schema)

    with timer("reading"):
        quasi, frequencies = cache.get(source, plan, count)
        if canonical is None:
            canonical = canonical_text(engine, table, quasi)
        plan.model.check(frequencies.domains)
        ladders = frequencies.ladders(schema, engine, table)  # row numbers are those of the user's table
        if plan.model.needs_population:
            frequencies, ladders = _with_population(engine, frequencies, plan, schema)
    return canonical, Problem(frequencies, ladders, plan.model, plan.seed, timer.progress, schema)


def _with_population(
    engine: Engine, frequencies: FrequencySet, plan: Plan, schema: Schema
) -> tuple[FrequencySet, tuple[Ladder, ...]]:
    """Add the people of the plan's population, with hierarchies of all values."""
    assert plan.population is not None
    frequencies = join_population(
        frequencies,
        read_population(engine, plan.population, schema.quasi_identifiers),
        contains_release=plan.population.contains_release,
    )
    try:
        return frequencies, frequencies.ladders(schema)
    except MissingFromHierarchy as error:
        raise PlanError("population.values-not-in-hierarchy", column=error.column, found=len(error.lacking)) from None


def _decide_in_memory(
    engine: Engine, table: Relation, problem: Problem, plan: Plan, timer: StepTimer, pseudonyms: Any
) -> DecidedInMemory:
    frequencies, ladders = problem.frequencies, problem.ladders
    with timer("deciding"):
        _require_memory(plan, problem)
        with notify_compiling(plan.method, timer.progress), allow_seconds(_time_limit(plan.method)):
            recoding = decide_recoding(plan.method, problem)
        loss = losses(frequencies, ladders, recoding) if plan.method.reveals_source else {}
        ladders = released_ladders(frequencies, ladders, released_combinations(recoding))
        problem = replace(problem, ladders=ladders)
    with timer("applying"):
        columns, person = _published_columns(table, plan), plan.schema.person[:1]
        extra_columns = () if plan.schema.linked else person
        numbered = released = apply(engine, table, columns, frequencies, ladders, recoding, extra_columns)
        if person and not numbered.ordered:  # used to write, to find links and to verify: materialize once
            numbered = engine.cache(numbered)
        if plan.schema.linked:
            released = engine.relabel(numbered, columns.index(person[0]), pseudonyms)
        elif person:
            released = engine.project(numbered, range(len(columns)))
        linking_columns = _linking_columns(engine, numbered, plan)
    if isinstance(recoding, ByLevel):
        released_rows = int(frequencies.count[recoding.group >= 0].sum())
    else:
        released_rows = int(recoding.count.sum())
    return DecidedInMemory(
        plan=plan, origin=table, source=table, released=released, numbered=numbered, rows=frequencies.rows,
        released_rows=released_rows, loss=loss, facts=recoding.facts, problem=problem, recoding=recoding,
        pseudonyms=pseudonyms, linking_columns=linking_columns,
    )  # fmt: skip


def _time_limit(method: Method) -> float | None:
    """Return the time limit of a method, if it has one."""
    return getattr(method, "time_limit", None)


def _require_memory(plan: Plan, problem: Problem) -> None:
    """Raise if the method needs more memory than the plan provides."""
    if plan.engine.memory is None:
        return
    needed, available = plan.method.min_memory_bytes(problem), memory_bytes(plan.engine.memory)
    if needed > available:
        raise PlanError(
            "engine.memory-too-small",
            method=plan.method.name,
            needed=needed / 1000000.0,
            available=available / 1000000.0,
        )


# -- distributed


def _count_distributed(
    engine: Engine, table: Relation, plan: Plan, timer: StepTimer
) -> tuple[Relation, DistributedTable] | None:
    """Count the combinations on the machines that have the rows.

    None if they are to be counted on this machine.
    """
    schema, max_rows = plan.schema.published, plan.method.max_local_rows
    # people, crowds and averages need all rows
    if max_rows is None or plan.schema.person or plan.model.of_table or scenario_models(plan.model):
        return None
    with timer("reading"):
        positions = _counted_positions(table, schema)
        counted = engine.distributed_frequencies(table, positions)
        if counted is None or counted.rows <= max_rows:
            return None
        canonical = canonical_text_distributed(engine, table, counted, schema)
        if canonical is not table:
            counted = engine.distributed_frequencies(canonical, positions)
            assert counted is not None
        return canonical, counted


def _decide_distributed(table: Relation, counted: DistributedTable, plan: Plan, timer: StepTimer) -> DecidedDistributed:
    schema = plan.schema.published
    with timer("deciding"):
        decision = plan.method.decide_distributed(counted, table, schema, plan.model, plan.seed, timer.progress)
    with timer("applying"):
        released = counted.recode(table.positions(_published_columns(table, plan)), decision.entries, decision.recoded)
    return DecidedDistributed(
        plan=plan, origin=table, source=table, released=released, numbered=released, rows=counted.rows,
        released_rows=decision.rows, loss=decision.loss, facts=decision.facts,
    )  # fmt: skip
